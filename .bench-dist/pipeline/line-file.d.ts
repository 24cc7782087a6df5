import type { Carrier, Delivery } from './delivery.ts';
/**
 * An append-only file of lines, opened when the first one comes. Whoever writes waits for one line before the next.
 * After a failure it tries again with each line, so a disk that has room again is used again.
 */
export declare class LineFile implements Carrier {
    #private;
    readonly path: string;
    /** `onOpen` runs once the directory is there, before the file is opened. */
    constructor(path: string, onOpen?: () => Promise<void>);
    deliver(line: Uint8Array): Promise<Delivery>;
    close(): Promise<void>;
}
