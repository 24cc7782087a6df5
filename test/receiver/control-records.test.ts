import { expect, test } from 'vitest'
import type { HostEvent } from '../../src/agents/host-event.ts'
import { CONTROL_PREFIX } from '../../src/receiver/agent-plugins.ts'
import { once, treesOf, World } from './world.ts'

const BEGAN_AT = Date.now() - 60_000
const IDS = { session_id: 's', prompt_id: 'p' }
const TOOL = { ...IDS, tool_name: 'Bash', tool_use_id: 't', tool_input: { command: 'rm x' } }
const HOOK = {
  session_id: 's',
  turn_id: 'p',
  tool_call_id: 't',
  hook_run_id: 'hook 1 1',
  hook_name: 'no-rm',
  hook_phase: 'before_tool',
  hook_priority: 10,
  hook_judges: true,
}

/** What Claude Code tells of a tool that a hook keeps from running, and what we say of that. */
const EVENTS: readonly HostEvent[] = [
  { event: 'UserPromptSubmit', data: { ...IDS, prompt: 'Go' } },
  { event: 'transcript:read', data: IDS },
  { event: 'PreToolUse', data: TOOL },
  { event: 'transcript:read', data: IDS },
  { event: `${CONTROL_PREFIX}pre_control_hook`, data: HOOK },
  {
    event: `${CONTROL_PREFIX}post_control_hook`,
    data: { ...HOOK, verdict: 'block', action: 'blocked', reason: 'No.' },
  },
  { event: 'PostToolBatch', data: { ...IDS, tool_calls: [{ ...TOOL, tool_response: 'No.' }] } },
  { event: 'transcript:read', data: IDS },
  { event: 'Stop', data: IDS },
  { event: 'transcript:read', data: IDS },
].map((event, index) => ({ ...event, at: BEGAN_AT + 10 * index }))

test.each([EVENTS.length, 3, 4, 5, 6])(
  "puts a hook's decision below its tool, also with another receiver after the first %i events",
  async count => {
    const world = await World.create()
    for (const part of [EVENTS.slice(0, count), EVENTS.slice(count)]) {
      const recorder = await world.open()
      for (const event of part) recorder.recordEvent({ host: 'claude-code', event })
      await recorder.flush()
      await recorder.close('handover')
    }
    const spans = once(world.logged)
    expect(treesOf(spans, false)).toBe(`agent OK [hermes.turn.number=1, hermes.turn.final_status=completed]
  llm OK
    tool.Bash OK
      hook.no-rm OK`)
    const tool = spans.find(({ name }) => name === 'tool.Bash')
    expect(tool?.attributes).toMatchObject({ 'hermes.tool.blocked_by': 'no-rm', 'hermes.tool.outcome': 'blocked' })
  },
)

test('returns a traceparent for an open tool only', async () => {
  const world = await World.create()
  const recorder = await world.open()
  const ids = { session_id: 's', turn_id: 'p' }
  expect(recorder.traceparent('claude-code', ids)).toBeUndefined()
  for (const event of EVENTS.slice(0, 4)) recorder.recordEvent({ host: 'claude-code', event })
  await recorder.flush()
  expect(recorder.traceparent('claude-code', { ...ids, tool_call_id: 't' })).toMatch(
    /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/,
  )
  expect(recorder.traceparent('claude-code', { ...ids, tool_call_id: 'other' })).toBeUndefined()
})
