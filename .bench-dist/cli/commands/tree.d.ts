import { type Command, type CommandIo } from '../command.ts';
export declare const tree: Command;
/** Resolves to the exit code: 0 also when there is nothing to show, 1 when FILE cannot be read, 2 for wrong use. */
export declare function run(args: string[], io: CommandIo): Promise<number>;
