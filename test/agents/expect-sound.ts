import { expect } from 'vitest'
import type { TestPlugin } from '../../src/testing.ts'
import { expectSoundTree } from '../support/trace-invariants.ts'

/** What was reported of events whose values have been spoilt, but for the lines about values that nothing can be read out of. */
export function reportedOfSpoilt({ reported }: TestPlugin): readonly string[] {
  return reported.filter(line => !line.endsWith('; it counts as missing'))
}

/** Nothing is left open, nothing broke, and what was drawn holds together. */
export function expectSound(plugin: TestPlugin, isSpoilt: boolean = false): void {
  const { hooks, spansOpen, turnsOpen } = plugin.stats()
  const reported = isSpoilt ? reportedOfSpoilt(plugin) : plugin.reported
  expect({ error: hooks.error, spansOpen, turnsOpen, reported }).toEqual({
    error: 0,
    spansOpen: 0,
    turnsOpen: 0,
    reported: [],
  })
  expectSoundTree(plugin.spans())
}
