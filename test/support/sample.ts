/** `npm run test:deep` tries everything, `npm test` a sample of what is many: the same one each time. */
import { test } from 'vitest'
import { seeded } from './seeded.mjs'

export const IS_DEEP: boolean = process.env['HOOKSPAN_TEST_DEEP'] === '1'

export const SEED: number = Number(process.env['HOOKSPAN_TEST_SEED'] ?? 1)

/** A test that `npm test` leaves out. */
export const deepTest: typeof test = IS_DEEP ? test : ((() => undefined) as unknown as typeof test)

/** For the name of what tries a sample: a failure then says how the same one is tried again. */
export const SAMPLED: string = IS_DEEP ? 'all of them' : `sampled by HOOKSPAN_TEST_SEED=${SEED}`

/** So many of them, in their order: `usually` in `npm test`, `deeply` (default: all) in the deep suite. */
export function sample<One>(all: readonly One[], usually: number, deeply: number = all.length): readonly One[] {
  const count = times(usually, deeply)
  if (count >= all.length) return all
  const random = seeded(SEED + all.length)
  const left = [...all.keys()]
  const taken = Array.from({ length: count }, () => left.splice(Math.floor(random() * left.length), 1)[0])
  return all.filter((_, index) => taken.includes(index))
}

/** How often something is tried that is made by chance. */
export function times(usually: number, deeply: number): number {
  return IS_DEEP ? deeply : usually
}
