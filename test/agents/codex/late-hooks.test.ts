/** Codex: `PostToolUse` does not hold up the agent, so it may be late, or never arrive. */
import { expect, test } from 'vitest'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import { fixturesOf, replayEvents } from '../replay-fixture.ts'

const fixtures = fixturesOf('codex')

function isLate({ event }: HostEvent): boolean {
  return event === 'PostToolUse'
}

test.each(fixtures)('builds the same tree without PostToolUse: $scenario', async ({ events }) => {
  const { tree } = await replayEvents('codex', events)
  expect(
    (
      await replayEvents(
        'codex',
        events.filter(event => !isLate(event)),
      )
    ).tree,
  ).toBe(tree)
})

test.each(fixtures)('builds the same tree if PostToolUse comes last: $scenario', async ({ events }) => {
  const { tree } = await replayEvents('codex', events)
  const late = [...events.filter(event => !isLate(event)), ...events.filter(isLate)]
  expect((await replayEvents('codex', late)).tree).toBe(tree)
})
