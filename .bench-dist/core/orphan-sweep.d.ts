/** What the sweep watches: turns, and spans with a limit of their own. */
export interface Watched {
    /** The last sign of life by the records' own time, epoch ms. */
    activityAt: number;
    /** When we saw it by the clock of this process, epoch ms. */
    seenAt: number;
}
/**
 * Finds what has been silent for too long. Kept in order of the last touch, so a look costs nothing when nothing is due.
 * Records are judged by their own time, so a replay sweeps exactly as the live run did; the timer, which has no record,
 * by how long ago we saw the last one.
 *
 * A linked list, because every hook moves an item to its end: a Set would be rebuilt all the time.
 */
export declare class OrphanSweep<Item extends Watched> {
    #private;
    constructor(limitMillis: number);
    get size(): number;
    touch(item: Item, at: number, seenAt: number): void;
    forget(item: Item): void;
    /** The one that was touched longest ago. */
    oldest(): Item | undefined;
    dueAt(at: number): readonly Item[];
    dueSeen(now: number): readonly Item[];
}
