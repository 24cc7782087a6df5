import type { CommandIo } from './command.ts';
import type { Progress } from './progress.ts';
import type { Replayer } from './replayer.ts';
/** Feeds files of hook records to a replayer, and says what of them it could not use. */
export declare class RecordFeed {
    #private;
    constructor(replayer: Replayer, progress: Progress, io: CommandIo);
    /** Resolves to false when a line was malformed or the file could not be read; the rest is replayed all the same. */
    feedFile(file: string, host: string | undefined): Promise<boolean>;
}
