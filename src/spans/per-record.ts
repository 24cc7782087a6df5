/** Readings of a record that several rows want; each is made once and forgotten with the record. */
export type RecordFacts = Record<string, unknown>

/**
 * A reading that attributes, metrics and the turn summary share and that costs something, such as parsing a tool's
 * result. Kept on the record itself: a WeakMap would cost more than most readings.
 */
export function perRecord<Record extends { readonly facts: RecordFacts }, Rest extends readonly unknown[], Reading>(
  name: string,
  read: (fired: Record, ...rest: Rest) => Reading,
): (fired: Record, ...rest: Rest) => Reading {
  return (fired, ...rest) => {
    const known = fired.facts[name] as { readonly reading: Reading } | undefined
    if (known !== undefined) return known.reading
    const reading = read(fired, ...rest)
    fired.facts[name] = { reading }
    return reading
  }
}
