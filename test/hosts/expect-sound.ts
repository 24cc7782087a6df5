import { expect } from 'vitest'
import type { TestPlugin } from '../../src/testing.ts'
import { expectSoundTree } from '../support/trace-invariants.ts'

/** Nothing is left open, nothing broke, and what was drawn holds together. */
export function expectSound(plugin: TestPlugin): void {
  const { hooks, spansOpen, turnsOpen } = plugin.stats()
  expect({ error: hooks.error, spansOpen, turnsOpen, reported: plugin.reported }).toEqual({
    error: 0,
    spansOpen: 0,
    turnsOpen: 0,
    reported: [],
  })
  expectSoundTree(plugin.spans())
}
