import type { CommandIo } from './command.ts';
/** How far a long command is, on one line of a terminal; silent where nobody watches. */
export declare class Progress {
    #private;
    /** @param spans how many have come of the records so far */
    constructor(spans: () => number, io: CommandIo);
    /** One more record. */
    step(): void;
    /** What it is at, until the next step or the end. */
    say(text: string): void;
    /** Takes the line away, so that a message has it. */
    end(): void;
}
