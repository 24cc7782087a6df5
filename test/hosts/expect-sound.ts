import { expect } from 'vitest'
import type { TestPlugin } from '../../src/testing.ts'
import { expectSoundTree } from '../support/trace-invariants.ts'

/**
 * Nothing is left open, nothing broke, and what was drawn holds together. What is `spoilt` may be told of: of a value that
 * nothing can be read out of there is a line.
 */
export function expectSound(plugin: TestPlugin, isSpoilt: boolean = false): void {
  const { hooks, spansOpen, turnsOpen } = plugin.stats()
  const reported = isSpoilt ? plugin.reported.filter(line => !line.endsWith('; it counts as missing')) : plugin.reported
  expect({ error: hooks.error, spansOpen, turnsOpen, reported }).toEqual({
    error: 0,
    spansOpen: 0,
    turnsOpen: 0,
    reported: [],
  })
  expectSoundTree(plugin.spans())
}
