/**
 * A reading of a record that several rows want (attributes, metrics, the turn summary) and that costs something,
 * such as parsing a tool's result: computed once per record, forgotten with it.
 */
export function perRecord<Record extends object, Reading>(
  read: (fired: Record) => Reading,
): (fired: Record) => Reading {
  const known = new WeakMap<Record, { reading: Reading }>()
  return fired => {
    let entry = known.get(fired)
    if (entry === undefined) {
      entry = { reading: read(fired) }
      known.set(fired, entry)
    }
    return entry.reading
  }
}
