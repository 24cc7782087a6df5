import type { Environment } from './paths.ts';
import { type Plain } from './plain.ts';
import { type ProblemLevel, type Problems } from './problems.ts';
/** A value that can be used, or why not: `expected a number ≥ 0, got "soon"`. */
export type Reading<Value = unknown> = {
    readonly value: Value;
} | {
    readonly reason: string;
};
/** Where the value that is being read stands, and who hears about those parts of it that are left out. */
export interface Site {
    /** `backends[0].endpoint` */
    readonly path: string;
    /** The same, as it may be shown. */
    readonly name: string;
    readonly level: ProblemLevel;
    readonly problems: Problems;
    readonly env: Environment;
    readonly home: string;
    /** `config.yaml line 7`, a variable's name. */
    place(path: string): string;
}
export declare function within(site: Site, key: string | number): Site;
export declare function report(site: Site, text: string, outcome?: string, level?: ProblemLevel): void;
/** `hidden`: it may be a secret, so only its kind is told. */
export declare function refuse(value: Plain, expected: string, hidden?: boolean): {
    readonly reason: string;
};
