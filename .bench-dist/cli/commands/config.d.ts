import { type Command, type CommandIo } from '../command.ts';
export declare const config: Command;
/** Resolves to the exit code: 1 only with `--check`, when there is a problem. */
export declare function run(args: string[], io: CommandIo): Promise<number>;
