const NONE = [];
/**
 * Finds what has been silent for too long. Kept in order of the last touch, so a look costs nothing when nothing is due.
 * Records are judged by their own time, so a replay sweeps exactly as the live run did; the timer, which has no record,
 * by how long ago we saw the last one.
 *
 * A linked list, because every hook moves an item to its end: a Set would be rebuilt all the time.
 */
export class OrphanSweep {
    #links = new Map();
    #limitMillis;
    #first;
    #last;
    /** Nothing can be due before: most looks end here. */
    #quietUntil = Number.POSITIVE_INFINITY;
    constructor(limitMillis) {
        this.#limitMillis = limitMillis;
    }
    get size() {
        return this.#links.size;
    }
    touch(item, at, seenAt) {
        if (at > item.activityAt)
            item.activityAt = at;
        item.seenAt = seenAt;
        const dueAt = item.activityAt + this.#limitMillis;
        if (dueAt < this.#quietUntil)
            this.#quietUntil = dueAt;
        if (this.#last?.item === item)
            return;
        let link = this.#links.get(item);
        if (link === undefined) {
            link = { item, before: undefined, after: undefined };
            this.#links.set(item, link);
        }
        else
            this.#unlink(link);
        this.#append(link);
    }
    forget(item) {
        const link = this.#links.get(item);
        if (link === undefined)
            return;
        this.#links.delete(item);
        this.#unlink(link);
    }
    /** The one that was touched longest ago. */
    oldest() {
        return this.#first?.item;
    }
    dueAt(at) {
        if (at <= this.#quietUntil)
            return NONE;
        const due = this.#take(item => at - item.activityAt > this.#limitMillis);
        this.#quietUntil =
            this.#first === undefined ? Number.POSITIVE_INFINITY : this.#first.item.activityAt + this.#limitMillis;
        return due;
    }
    dueSeen(now) {
        return this.#take(item => now - item.seenAt > this.#limitMillis);
    }
    #take(isDue) {
        const due = [];
        for (let link = this.#first; link !== undefined && isDue(link.item); link = link.after)
            due.push(link.item);
        for (const item of due)
            this.forget(item);
        return due;
    }
    #append(link) {
        link.before = this.#last;
        link.after = undefined;
        if (this.#last === undefined)
            this.#first = link;
        else
            this.#last.after = link;
        this.#last = link;
    }
    #unlink(link) {
        if (link.before === undefined)
            this.#first = link.after;
        else
            link.before.after = link.after;
        if (link.after === undefined)
            this.#last = link.before;
        else
            link.after.before = link.before;
    }
}
