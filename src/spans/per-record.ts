import type { Draw, RecordFacts } from './span-definition.ts'

/** Undefined is a reading, too: it must not be made anew each time. */
const NOTHING = Symbol('nothing')

/**
 * A reading that attributes, metrics and the turn summary share and that costs something, such as parsing a tool's
 * result. Kept on the record itself: a WeakMap would cost more than most readings.
 */
export function perRecord<Fired extends { readonly facts: RecordFacts }, Reading>(
  name: string,
  read: (fired: Fired, draw: Draw) => Reading,
): (fired: Fired, draw: Draw) => Reading {
  return (fired, draw) => {
    const known = fired.facts[name]
    if (known !== undefined) return (known === NOTHING ? undefined : known) as Reading
    const reading = read(fired, draw)
    fired.facts[name] = reading === undefined ? NOTHING : reading
    return reading
  }
}
