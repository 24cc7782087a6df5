import type { Readable } from 'node:stream';
import type { HookMeta } from '../contract/index.ts';
/** A record as it stands in a file: what the contract says, or anything else that the core will judge. */
export interface ReadRecord {
    readonly hook: string;
    readonly payload: unknown;
    readonly meta: HookMeta;
}
export type RecordEntry = {
    readonly record: ReadRecord;
}
/** A line that is no record; line numbers start at 1. */
 | {
    readonly line: number;
    readonly problem: string;
};
/**
 * Reads hook records, one a line. A line `{"fixture": {…}}` describes what follows, and its host is the host of those
 * records that name none; usually it is the first one, but files that were put together have several.
 */
export declare class RecordReader {
    #private;
    /** @param host of records that name none, whatever a head line says */
    constructor(host: string | undefined);
    read(input: Readable): AsyncGenerator<RecordEntry, void>;
}
/** A file, or standard input for `-`. */
export declare function openInput(name: string, stdin: Readable): Readable;
