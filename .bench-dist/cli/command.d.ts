import type { Readable } from 'node:stream';
/** Where a command writes. Writing to a pipe that was closed does nothing. */
export interface Output {
    write(text: string): void;
    readonly isTTY: boolean;
    /** Cells of a line; undefined when it is no terminal. */
    readonly columns: number | undefined;
}
/** All that a command knows of its process, so that a test can be one. */
export interface CommandIo {
    readonly stdout: Output;
    readonly stderr: Output;
    readonly stdin: Readable;
    readonly env: Readonly<Record<string, string | undefined>>;
    /** The user's home directory, absolute. */
    readonly home: string;
    /** Epoch milliseconds. */
    now(): number;
    /**
     * For commands that run until somebody ends them: resolves at the first SIGINT or SIGTERM, or when nobody reads the
     * output any more. From the first call on these signals no longer end the process by themselves.
     */
    interrupted(): Promise<void>;
}
export interface Command {
    readonly name: string;
    /** What it does, in a few words, for the list of commands. */
    readonly summary: string;
    /** What `--help` prints; its first line starts with `Usage: hookspan`. */
    readonly usage: string;
    /** Resolves to the exit code: 0 ok, 1 failed, 2 wrong use. Writes its own messages. */
    run(args: string[], io: CommandIo): Promise<number>;
}
export declare const EXIT: {
    readonly ok: 0;
    readonly failed: 1;
    readonly wrongUse: 2;
};
/** The command was called in a way that it does not know; the message says what was wrong. */
export declare class WrongUse extends Error {
    readonly name = "WrongUse";
}
/**
 * Runs a command's body with the manners that all commands share: `--help` prints the usage, wrong use (a `WrongUse`,
 * or what `parseArgs` of node:util throws) is one line and a hint, and any other error one line.
 */
export declare function runCommand(command: Command, args: string[], io: CommandIo, body: () => Promise<number>): Promise<number>;
/** One line; the stack only for those who debug us. */
export declare function reportFailure(command: {
    readonly name: string;
}, error: unknown, io: CommandIo): number;
