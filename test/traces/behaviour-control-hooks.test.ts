/** Control hooks of the person's: who decided what, about which tool, request or turn, and why. */
import { describe, expect, test } from 'vitest'
import type { ControlHookEnd, ToolStart } from '../../src/index.ts'
import type { TestPlugin } from '../../src/testing.ts'
import { START_AT, type Step, told } from '../support/feed.ts'
import { all, answered, asked, attributes, began, only, seriesText, TURN, text, used } from './scenes.ts'

const SHOWN = {
  attributes: ['hermes.hook.verdict', 'hermes.hook.action', 'hermes.tool.outcome', 'hermes.tool.blocked_by'],
  durations: true,
}
const GUARD = {
  ...TURN,
  tool_call_id: 'c1',
  hook_run_id: 'h1',
  hook_name: 'no-rm',
  hook_phase: 'before_tool',
  hook_priority: 10,
  hook_judges: true,
} as const
const BLOCK = { verdict: 'block', action: 'blocked', reason: 'Do not delete.' } as const
const RULES = {
  ...TURN,
  api_request_id: 'r1',
  hook_run_id: 'h2',
  hook_name: 'rules',
  hook_phase: 'before_model',
} as const

/** A run of 10 ms. */
function looked(at: number, end: Omit<ControlHookEnd, 'hook_run_id'>, start: object = GUARD): Step[] {
  return [
    [at, 'pre_control_hook', start],
    [at + 10, 'post_control_hook', { ...start, ...end }],
  ]
}

const [TOOL, TOOL_END] = used(100, {}, { status: 'blocked', result: 'Do not delete.' }) as [Step, Step]

function toldAround(steps: readonly Step[], options: Parameters<typeof told>[1] = {}): TestPlugin {
  return told([...began(), ...steps, ...answered(900)], options)
}

describe("the place of a guard's span", () => {
  test('is below the tool that it blocked, which names the guard', () => {
    expect(toldAround([...asked(30), TOOL, ...looked(110, BLOCK), TOOL_END]).tree(SHOWN)).toBe(text`
      agent OK 910 ms
        llm.qwen3 OK 880 ms
          api.qwen3 OK 100 ms
          tool.terminal OK 50 ms [hermes.tool.outcome=blocked, hermes.tool.blocked_by=no-rm]
            hook.no-rm OK 10 ms [hermes.hook.verdict=block, hermes.hook.action=blocked]
    `)
  })

  test('is below a tool that has ended', () => {
    const start = { ...GUARD, hook_phase: 'after_tool', hook_judges: false }
    const after = looked(160, { verdict: 'rewrite', action: 'rewritten', rewritten_fields: ['result'] }, start)
    const plugin = toldAround([...used(100), ...after])
    expect(plugin.tree(SHOWN)).toBe(text`
      agent OK 910 ms
        llm.qwen3 OK 880 ms
          tool.terminal OK 50 ms [hermes.tool.outcome=completed]
            hook.no-rm OK 10 ms [hermes.hook.verdict=rewrite, hermes.hook.action=rewritten]
    `)
    expect(attributes(plugin, 'hook.no-rm')['hermes.hook.rewritten_fields']).toEqual(['result'])
  })

  test('is below the request that it checks, and not below another open one', () => {
    const other = asked(35, { api_request_id: 'r2', model: 'small' })
    const inject = looked(40, { verdict: 'inject', action: 'injected' }, RULES)
    const late = looked(
      140,
      { verdict: 'retry', action: 'none' },
      { ...RULES, hook_phase: 'after_model', hook_run_id: 'h3' },
    )
    expect(
      toldAround([...asked(30), ...other, ...inject, ...late].toSorted(([a], [b]) => a - b)).tree(SHOWN),
    ).toBe(text`
      agent OK 910 ms
        llm.qwen3 OK 880 ms
          api.qwen3 OK 100 ms
            hook.rules OK 10 ms [hermes.hook.verdict=inject, hermes.hook.action=injected]
            hook.rules OK 10 ms [hermes.hook.verdict=retry, hermes.hook.action=none]
          api.small OK 100 ms
    `)
  })

  test('is below the request that asked for a tool that was not reported', () => {
    const plugin = toldAround([...asked(30), ...looked(200, BLOCK, { ...GUARD, api_request_id: 'r1' })])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          api.qwen3 OK
            hook.no-rm OK
    `)
  })

  test.each(['before_turn', 'after_turn'])('is below the turn if it checks the turn: %s', hook_phase => {
    const start = { ...TURN, hook_run_id: 'h4', hook_name: 'steering', hook_phase }
    expect(toldAround(looked(200, { verdict: 'retry', action: 'retried' }, start)).tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          hook.steering OK
    `)
  })

  test.each([
    ['reported by its start', [0, 10]],
    ['reported by its end alone', [10]],
  ])('is in a turn of its own if it blocked the turn, %s', (_, times) => {
    const payload = {
      session_id: 's1',
      hook_run_id: 'h5',
      hook_name: 'curfew',
      hook_phase: 'before_turn',
      hook_judges: true,
    }
    const steps: Step[] = [
      [0, 'pre_control_hook', payload],
      [10, 'post_control_hook', { ...payload, verdict: 'block', action: 'blocked', duration_ms: 10 }],
    ]
    const end: Step = [12, 'on_session_end', { session_id: 's1', interrupted: true }]
    const plugin = told([...steps.filter(([at]) => times.includes(at)), end])
    expect(plugin.tree({ durations: true }).replace(' (retroactive)', '')).toBe(text`
      agent OK 12 ms
        hook.curfew OK 10 ms
    `)
  })

  test.each(['after_turn', 'before_tool'])('opens no turn if there is none: %s', hook_phase => {
    const payload = { session_id: 's1', hook_run_id: 'h6', hook_name: 'summary', hook_phase }
    const plugin = told([...began(), ...answered(100), ...looked(200, { verdict: 'pass', action: 'ran' }, payload)])
    expect(all(plugin, 'agent')).toHaveLength(1)
  })
})

describe("the attributes of a guard's span", () => {
  test("has the hook's name, its decision and what the host did with it", () => {
    const detail = 'rm -rf build is outside the list'
    const plugin = toldAround([TOOL, ...looked(110, { ...BLOCK, detail, duration_ms: 9.25 }), TOOL_END])
    const span = only(plugin, 'hook.no-rm')
    expect([span.kind, span.status]).toEqual(['internal', 'ok'])
    expect(span.attributes).toMatchObject({
      'hermes.span.kind': 'hook',
      'openinference.span.kind': 'GUARDRAIL',
      'hermes.hook.name': 'no-rm',
      'hermes.hook.phase': 'before_tool',
      'hermes.hook.priority': 10,
      'hermes.hook.verdict': 'block',
      'hermes.hook.action': 'blocked',
      'hermes.hook.reason': 'Do not delete.',
      'hermes.hook.detail': detail,
      'hermes.hook.duration_ms': 9.25,
    })
  })

  test.each([
    [true, 'GUARDRAIL'],
    [false, 'CHAIN'],
    [undefined, 'CHAIN'],
    ['yes', 'CHAIN'],
  ])('is marked as a guardrail only if it decides: %j', (hook_judges, kind) => {
    const plugin = toldAround([TOOL, ...looked(110, BLOCK, { ...GUARD, hook_judges })])
    expect(attributes(plugin, 'hook.no-rm')['openinference.span.kind']).toBe(kind)
  })

  test.each(['threw', 'timed_out', 'nonsense'] as const)('is an error if it failed: %s', failure => {
    const failed = { verdict: 'failed', action: 'ran', failure, failure_message: 'of no use' } as const
    const plugin = toldAround([TOOL, ...looked(110, failed)])
    const { status, statusMessage, attributes: written } = only(plugin, 'hook.no-rm')
    expect([status, statusMessage]).toEqual(['error', 'of no use'])
    expect(written).toMatchObject({ 'error.type': failure, 'hermes.hook.failure': failure })
  })

  test('has no secret, and only our words for closed vocabularies', () => {
    const token = `ghp_${'a1B2'.repeat(9)}`
    const end = { verdict: token, action: token, failure: token, reason: `it reads ${token}`, detail: `token=${token}` }
    const odd = { ...GUARD, hook_phase: token }
    const failed = { verdict: 'failed', failure: 'threw', failure_message: `cannot post ${token}` } as const
    const plugin = toldAround([
      TOOL,
      ...looked(110, end as object, odd),
      ...looked(120, failed, { ...GUARD, hook_run_id: 'h9', hook_name: `for ${token}` }),
    ])
    const spans = plugin.spans().filter(span => span.attributes['hermes.span.kind'] === 'hook')
    expect(spans).toHaveLength(2)
    expect(JSON.stringify(spans)).not.toContain('a1B2a1B2')
    expect(Object.keys(spans[0]?.attributes ?? {})).not.toContain('hermes.hook.verdict')
  })

  test('has the guard and its decision without content, and no reason', () => {
    const end = { ...BLOCK, detail: 'rm', rewritten_fields: ['command', 'all that was said'] }
    const plugin = toldAround([TOOL, ...looked(110, end)], { content_capture: 'off' })
    const written = attributes(plugin, 'hook.no-rm')
    expect(written).toMatchObject({ 'hermes.hook.verdict': 'block', 'hermes.hook.rewritten_fields': ['command'] })
    expect(Object.keys(written)).not.toContain('hermes.hook.reason')
    expect(Object.keys(written)).not.toContain('hermes.hook.detail')
    expect(attributes(plugin, 'tool.terminal')['hermes.tool.blocked_by']).toBe('no-rm')
  })
})

describe('a tool that was kept from running', () => {
  const WAYS: readonly [string, readonly Step[]][] = [
    ['is reported before its guard', [TOOL, ...looked(110, BLOCK), TOOL_END]],
    ['is reported after its guard', [...looked(80, BLOCK), TOOL, TOOL_END]],
    [
      'is reported by its end alone',
      [...looked(80, BLOCK), [150, 'post_tool_call', { ...TOOL_END[2], duration_ms: 5 }]],
    ],
    ['is never ended', [TOOL, ...looked(110, BLOCK)]],
  ]
  test.each(WAYS)('names the guard when it %s', (_, steps) => {
    expect(attributes(toldAround(steps), 'tool.terminal')['hermes.tool.blocked_by']).toBe('no-rm')
  })

  test('is blocked, and no failure, even if its host reports an error', async () => {
    const failed: Step = [150, 'post_tool_call', { ...TOOL[2], status: 'error', error_message: 'Do not delete.' }]
    const plugin = toldAround([TOOL, ...looked(110, BLOCK), failed])
    const { status, attributes: written } = only(plugin, 'tool.terminal')
    expect([status, written['hermes.tool.outcome']]).toEqual(['ok', 'blocked'])
    expect(attributes(plugin, 'agent')['hermes.turn.tool_outcomes']).toBe('blocked')
    expect(await seriesText(plugin, 'hermes.tool.calls')).toEqual(['tool_name=terminal outcome=blocked → 1'])
  })

  const OTHERS: readonly [string, object][] = [
    ['another call', { tool_call_id: 'c2' }],
    ['no call', { tool_call_id: undefined }],
    ['the phase after a call', { hook_phase: 'after_tool' }],
    ['a call that its host let run', { action: 'ran' }],
  ]
  test.each(OTHERS)('is another call than one of a hook that has blocked %s', (_, extra) => {
    const start = { ...GUARD, ...extra }
    const plugin = toldAround([TOOL, ...looked(110, { ...BLOCK, ...extra }, start), TOOL_END])
    expect(Object.keys(attributes(plugin, 'tool.terminal'))).not.toContain('hermes.tool.blocked_by')
  })

  test('is marked once: a call that reuses its id is another', () => {
    const again = used(300, {}, { status: 'error' })
    const plugin = toldAround([TOOL, ...looked(110, BLOCK), TOOL_END, ...again])
    const outcomes = all(plugin, 'tool.terminal').map(span => [
      span.attributes['hermes.tool.blocked_by'],
      span.attributes['hermes.tool.outcome'],
    ])
    expect(outcomes).toEqual([
      ['no-rm', 'blocked'],
      [undefined, 'error'],
    ])
  })
})

describe('a tool that runs with other arguments', () => {
  const rewritten_args = { command: 'ls -la', path: '/srv' }
  const REWRITE = { verdict: 'rewrite', action: 'rewritten', rewritten_fields: ['command'], rewritten_args } as const
  const told = looked(110, REWRITE)
  const before = looked(80, REWRITE)
  const alone = told.slice(1).map(([at, name, payload]): Step => [at, name, { ...payload, duration_ms: 5 }])

  test.each([
    ['reported after its start', [TOOL, ...told, TOOL_END]],
    ['reported before its start', [...before, TOOL, TOOL_END]],
    ['reported by the end of the hook alone', [TOOL, ...alone, TOOL_END]],
    ['with an end of the tool alone', [...before, [150, 'post_tool_call', { ...TOOL_END[2], duration_ms: 50 }]]],
  ] as [string, Step[]][])('has these in the trace, %s', (_, steps) => {
    expect(attributes(toldAround(steps, { content_capture: 'full' }), 'tool.terminal')).toMatchObject({
      'input.value': JSON.stringify(rewritten_args),
      'gen_ai.tool.call.arguments': JSON.stringify(rewritten_args),
      'hermes.tool.command': 'ls -la',
      'hermes.tool.target': '/srv',
    })
  })

  test('has these only if the host used them: not after a block, nor for another tool', () => {
    const undone = looked(110, { ...REWRITE, action: 'none' })
    const other = looked(111, REWRITE, { ...GUARD, tool_call_id: 'c2', hook_run_id: 'h9' })
    const plugin = toldAround(
      [TOOL, ...undone, ...other, TOOL_END].toSorted(([a], [b]) => a - b),
      {
        content_capture: 'full',
      },
    )
    expect(attributes(plugin, 'tool.terminal')['input.value']).toBe(JSON.stringify((TOOL[2] as ToolStart).args))
  })

  test('has none of them without content', () => {
    const plugin = toldAround([TOOL, ...told, TOOL_END], { content_capture: 'off' })
    expect(JSON.stringify(attributes(plugin, 'tool.terminal'))).not.toContain('ls -la')
  })
})

describe('records that are repeated, late, or alone', () => {
  const tree = (steps: readonly Step[]): string => toldAround([TOOL, ...steps, TOOL_END]).tree({ durations: true })
  const [START, END] = looked(110, { ...BLOCK, duration_ms: 10 }) as [Step, Step]
  const [, BARE] = looked(110, BLOCK) as [Step, Step]
  const DRAWN = text`
    agent OK 910 ms
      llm.qwen3 OK 880 ms
        tool.terminal OK 50 ms
          hook.no-rm OK 10 ms
  `
  const ORDERS: readonly [string, readonly Step[]][] = [
    ['twice', [START, START, END, END]],
    ['the end alone', [END]],
    ['the end alone, twice', [END, END]],
    ['the end first', [END, START]],
    ['the end first, without a duration', [BARE, START]],
  ]
  test.each(ORDERS)('creates one span and one run: %s', async (_, steps) => {
    expect(tree(steps).replace(' (retroactive)', '')).toBe(DRAWN)
    const plugin = toldAround([TOOL, ...steps, TOOL_END])
    expect(await seriesText(plugin, 'hermes.hook.runs')).toEqual([
      'hook_name=no-rm phase=before_tool verdict=block → 1',
    ])
    expect(attributes(plugin, 'tool.terminal')['hermes.tool.blocked_by']).toBe('no-rm')
  })

  test('counts an end without a start or a duration', async () => {
    const plugin = toldAround([TOOL, BARE, TOOL_END])
    expect(all(plugin, 'hook.no-rm')).toEqual([])
    expect(await seriesText(plugin, 'hermes.hook.runs')).toHaveLength(1)
  })

  test('ends a guard without an answer with its turn', () => {
    expect(toldAround([TOOL, START, TOOL_END]).tree()).toContain('hook.no-rm UNSET (incomplete: turn_ended)')
  })
})

describe('metrics', () => {
  test('counts runs without a span, and times those reported one by one', async () => {
    const passes = { ...TURN, hook_name: 'logging', hook_phase: 'before_tool', verdict: 'pass' }
    const failed = { verdict: 'failed', action: 'ran', failure: 'timed_out', duration_ms: 10 } as const
    const plugin = toldAround([
      [50, 'post_control_hook', { ...passes, count: 3, duration_ms: 0.2 }],
      [60, 'post_control_hook', { ...passes, hook_run_id: 'sum', count: 2 }],
      [70, 'post_control_hook', { ...passes, duration_ms: 0.4 }],
      TOOL,
      ...looked(110, failed),
    ])
    expect(all(plugin, 'hook.logging')).toEqual([])
    expect(await seriesText(plugin, 'hermes.hook.runs')).toEqual([
      'hook_name=logging phase=before_tool verdict=pass → 6',
      'hook_name=no-rm phase=before_tool verdict=failed failure=timed_out → 1',
    ])
    expect(await seriesText(plugin, 'hermes.hook.duration')).toEqual([
      'hook_name=logging phase=before_tool → 0.4',
      'hook_name=no-rm phase=before_tool → 10',
    ])
  })

  test('has the name of the guard from the start if the end lacks it', async () => {
    const start: Step = [110, 'pre_control_hook', GUARD]
    const end: Step = [120, 'post_control_hook', { ...TURN, hook_run_id: 'h1', verdict: 'block', action: 'blocked' }]
    const plugin = toldAround([TOOL, start, end, TOOL_END])
    expect(await seriesText(plugin, 'hermes.hook.runs')).toEqual([
      'hook_name=no-rm phase=before_tool verdict=block → 1',
    ])
    expect(attributes(plugin, 'tool.terminal')['hermes.tool.blocked_by']).toBe('no-rm')
  })

  test('has no labels but ours, whatever a host reports', async () => {
    const end = { ...TURN, hook_run_id: 'h1', hook_phase: 'sometime', verdict: 'perhaps', failure: 'maybe' }
    const plugin = toldAround([[50, 'post_control_hook', end]])
    expect(await seriesText(plugin, 'hermes.hook.runs')).toEqual([
      'hook_name=unknown phase=unknown verdict=unknown → 1',
    ])
  })
})

test("has the conventions' name for a hook of that name", () => {
  const plugin = toldAround([TOOL, ...looked(110, BLOCK), TOOL_END], { span_names: 'semconv' })
  expect(only(plugin, 'hook no-rm').startAt).toBe(START_AT + 110)
})
