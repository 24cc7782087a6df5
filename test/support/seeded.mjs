/** A repeatable source of chance: the same seed gives the same numbers, from 0 up to 1. */
export function seeded(seed) {
  let state = (seed * 2_654_435_761) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** From `least` to `most`, both included. */
export function wholeNumber(random, least, most) {
  return least + Math.floor(random() * (most - least + 1))
}

export function pick(random, list) {
  return list[Math.floor(random() * list.length)]
}
