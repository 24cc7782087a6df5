import { pick, seeded, wholeNumber } from '../../support/seeded.mjs'

/** The same words, the same number: what belongs together is chosen alike, whatever else the workload holds. */
function seedOf(words: string): number {
  let seed = 17
  for (const character of words) seed = (Math.imul(seed, 31) + (character.codePointAt(0) ?? 0)) >>> 0
  return seed
}

export function pickFor<Item>(words: string, list: readonly Item[]): Item {
  return pick(seeded(seedOf(words)), list)
}

export function numberFor(words: string, least: number, most: number): number {
  return wholeNumber(seeded(seedOf(words)), least, most)
}
