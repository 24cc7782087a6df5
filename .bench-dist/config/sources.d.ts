import { type KeyName } from './keys.ts';
import type { ConfigFile } from './load.ts';
import { type Environment } from './paths.ts';
import { type Plain, type PlainMap } from './plain.ts';
import { type Problems } from './problems.ts';
import type { ConfigSource } from './types.ts';
/** `ConfigInput`, checked and copied: nothing that follows can throw over it. */
export interface GivenInput {
    readonly code: Plain;
    readonly env: Environment;
    readonly home: string;
    readonly hostName: string | undefined;
}
/** One source of values. */
export interface Source {
    readonly from: ConfigSource['from'];
    value(key: KeyName): Plain;
    place(path: string): string;
}
export declare function readInput(input: unknown): GivenInput;
export declare function fileSource(file: ConfigFile): Source;
export declare function environmentSource(env: Environment): Source;
export declare function codeSource(code: PlainMap): Source;
/** The options given in code as a mapping, or a complaint. */
export declare function codeOptions(code: Plain, problems: Problems): PlainMap;
/** Names that no key has, and that would otherwise be passed over in silence. */
export declare function warnAboutUnknownKeys(values: PlainMap, source: Source, problems: Problems): void;
/** Only those that look like a slip: other parts of the program, and other programs, have variables of their own. */
export declare function warnAboutVariables(env: Environment, problems: Problems): void;
