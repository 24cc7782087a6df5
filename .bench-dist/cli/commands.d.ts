import type { Command } from './command.ts';
/** A row of the table of commands. A command's code is loaded only when it runs. */
export interface CommandRow {
    readonly name: string;
    readonly summary: string;
    load(): Promise<Command>;
}
export declare const COMMANDS: readonly CommandRow[];
