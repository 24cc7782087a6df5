/** A Map that forgets its oldest entry rather than grow without end; `onEvict` is told, so that nothing goes silently. */
export declare class BoundedMap<Key, Value> {
    #private;
    constructor(limit: number, onEvict?: (value: Value, key: Key) => void);
    get size(): number;
    get(key: Key): Value | undefined;
    has(key: Key): boolean;
    /** Sets and makes it the youngest. */
    set(key: Key, value: Value): void;
    delete(key: Key): boolean;
    clear(): void;
    values(): IterableIterator<Value>;
    /** Oldest first, as long as `isDue` says so. */
    takeWhile(isDue: (value: Value) => boolean): Generator<Value>;
}
