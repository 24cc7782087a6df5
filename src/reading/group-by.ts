/** `Map.groupBy`, which Node 20 lacks: the values of each key, in their order. */
export function groupBy<Key, Value>(values: Iterable<Value>, keyOf: (value: Value) => Key): Map<Key, Value[]> {
  const groups = new Map<Key, Value[]>()
  for (const value of values) {
    const group = groups.get(keyOf(value))
    if (group === undefined) groups.set(keyOf(value), [value])
    else group.push(value)
  }
  return groups
}

/** Splits values into runs of the same key. A value without a key is a run of its own. */
export function runsOf<Value>(values: readonly Value[], keyOf: (value: Value) => string | undefined): Value[][] {
  const runs: Value[][] = []
  let last: string | undefined
  for (const value of values) {
    const key = keyOf(value)
    if (key !== undefined && key === last) runs.at(-1)?.push(value)
    else runs.push([value])
    last = key
  }
  return runs
}
