import { type CommandIo } from './command.ts';
import { type CommandRow } from './commands.ts';
/** Runs the command that the arguments name; resolves to the exit code and never rejects. */
export declare function dispatch(args: readonly string[], io: CommandIo, rows?: readonly CommandRow[]): Promise<number>;
