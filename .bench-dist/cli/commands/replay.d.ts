import { type Command, type CommandIo } from '../command.ts';
export declare const replay: Command;
/** Resolves to the exit code: 1 when a line was malformed, a file unreadable, or something was dropped. */
export declare function run(args: string[], io: CommandIo): Promise<number>;
