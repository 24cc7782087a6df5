import type { ConfigProblem } from './types.ts';
export type ProblemLevel = ConfigProblem['level'];
/** Collects what is to be said, in the one form that all of it has. */
export declare class Problems {
    #private;
    get found(): readonly ConfigProblem[];
    /** `place`: file and line, or variable. `outcome`: what is done about it. */
    add(level: ProblemLevel, key: string, text: string, place?: string, outcome?: string): void;
}
/** Somebody else's text inside a message: quoted, short, on one line. What holds an @ may hold credentials. */
export declare function quote(text: string): string;
/**
 * A name out of somebody's configuration, as it may be shown. A missing space (`{api_key:sk-12}`) makes a secret part of
 * a name; secrets hold digits and other characters, or long runs of letters.
 */
export declare function showName(name: string): string;
/** `a, b or c` */
export declare function alternatives(words: readonly string[]): string;
