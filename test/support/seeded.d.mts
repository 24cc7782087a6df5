export type Random = () => number

/** A repeatable source of chance: the same seed gives the same numbers, from 0 up to 1. */
export function seeded(seed: number): Random

/** From `least` to `most`, both included. */
export function wholeNumber(random: Random, least: number, most: number): number

export function pick<Item>(random: Random, list: readonly Item[]): Item
