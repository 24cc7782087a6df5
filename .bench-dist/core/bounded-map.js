/** A Map that forgets its oldest entry rather than grow without end; `onEvict` is told, so that nothing goes silently. */
export class BoundedMap {
    #entries = new Map();
    #limit;
    #onEvict;
    constructor(limit, onEvict) {
        this.#limit = limit;
        this.#onEvict = onEvict;
    }
    get size() {
        return this.#entries.size;
    }
    get(key) {
        return this.#entries.get(key);
    }
    has(key) {
        return this.#entries.has(key);
    }
    /** Sets and makes it the youngest. */
    set(key, value) {
        this.#entries.delete(key);
        this.#entries.set(key, value);
        if (this.#entries.size <= this.#limit)
            return;
        for (const [oldestKey, oldest] of this.#entries) {
            this.#entries.delete(oldestKey);
            this.#onEvict?.(oldest, oldestKey);
            return;
        }
    }
    delete(key) {
        return this.#entries.delete(key);
    }
    clear() {
        this.#entries.clear();
    }
    values() {
        return this.#entries.values();
    }
    /** Oldest first, as long as `isDue` says so. */
    *takeWhile(isDue) {
        for (const [key, value] of this.#entries) {
            if (!isDue(value))
                return;
            this.#entries.delete(key);
            yield value;
        }
    }
}
