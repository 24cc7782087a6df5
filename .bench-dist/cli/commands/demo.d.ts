import { type Command, type CommandIo } from '../command.ts';
export declare const demo: Command;
/** Resolves to the exit code: 1 when a backend did not get everything. */
export declare function run(args: string[], io: CommandIo): Promise<number>;
