/** Agents that fire six hooks alone: a turn begins with a prompt and its last hook is its answer. */
import { describe, expect, test, vi } from 'vitest'
import { START_AT, type Step, told } from '../support/feed.ts'
import { createLivePlugin } from './live-plugin.ts'
import { attributes, only, seriesText, TURN, text } from './scenes.ts'

const SHOWN = { attributes: ['hermes.turn.final_status', 'hermes.turn.number'], durations: true }

/** One turn from its prompt to its answer, 300 ms later. */
function sixHooks(at: number, ids: object, prompt = 'hello'): Step[] {
  const request = { ...ids, api_request_id: `r${at}`, model: 'qwen3' }
  const call = { ...ids, api_request_id: `r${at}`, tool_name: 'terminal', tool_call_id: `c${at}` }
  return [
    [at, 'pre_llm_call', { ...ids, model: 'qwen3', user_message: prompt }],
    [at + 10, 'pre_api_request', request],
    [at + 110, 'post_api_request', { ...request, usage: { prompt_tokens: 7 } }],
    [at + 120, 'pre_tool_call', call],
    [at + 200, 'post_tool_call', { ...call, result: 'done' }],
    [at + 300, 'post_llm_call', { ...ids, assistant_response: 'hi', model: 'qwen3' }],
  ]
}

const TREE = text`
  agent OK 300 ms [hermes.turn.final_status=completed, hermes.turn.number=1]
    llm.qwen3 OK 300 ms
      api.qwen3 OK 100 ms
        tool.terminal OK 80 ms
`

describe('a turn that has its answer', () => {
  test.each<[string, Step]>([
    ['the next prompt', [5000, 'pre_llm_call', { session_id: 's1', turn_id: 't2' }]],
    ['a prompt without a turn id', [5000, 'pre_llm_call', { session_id: 's1' }]],
    ['the next start of its session', [5000, 'on_session_start', { session_id: 's1' }]],
    ['its silence', [700_000, 'on_session_start', { session_id: 'other' }]],
    ['the end of its session', [5000, 'on_session_finalize', { session_id: 's1' }]],
    ['a reset', [5000, 'on_session_reset', { old_session_id: 's1', new_session_id: 's2' }]],
  ])('is completed at the answer when %s ends it', async (_what, end) => {
    const plugin = told([...sixHooks(0, TURN), end])
    expect(plugin.tree(SHOWN).split('\n\n')[0]).toBe(TREE)
    expect(await seriesText(plugin, 'hermes.sessions')).toContain('kind=session final_status=completed → 1')
  })

  test('is completed when the plugin is shut down', async () => {
    const plugin = told(sixHooks(0, TURN))
    await plugin.shutdown()
    expect(plugin.tree(SHOWN)).toBe(TREE)
    expect(attributes(plugin, 'agent')).not.toHaveProperty('hermes.span.incomplete')
  })

  test('is completed although a child agent of it is still running', async () => {
    const child: Step = [
      250,
      'subagent_start',
      { parent_session_id: 's1', parent_turn_id: 't1', child_session_id: 'C' },
    ]
    const plugin = told([...sixHooks(0, TURN).slice(0, 5), child, ...sixHooks(0, TURN).slice(5)])
    await plugin.shutdown()
    expect(only(plugin, 'agent')).toMatchObject({ status: 'ok', endAt: START_AT + 300 })
    expect(attributes(plugin, 'agent')['hermes.turn.final_status']).toBe('completed')
  })

  test("has its host's word", () => {
    const plugin = told([...sixHooks(0, TURN), [400, 'on_session_end', { ...TURN, interrupted: true }]])
    expect(attributes(plugin, 'agent')['hermes.turn.final_status']).toBe('interrupted')
  })

  test.each<[string, string]>([
    ['another request', 'pre_api_request'],
    ['another tool', 'pre_tool_call'],
  ])('is open again when %s follows', (_what, hook) => {
    const more: Step = [350, hook, { ...TURN, api_request_id: 'r2', tool_call_id: 'c2' }]
    const plugin = told([...sixHooks(0, TURN), more, [5000, 'pre_llm_call', { session_id: 's1', turn_id: 't2' }]])
    expect(attributes(plugin, 'agent')['hermes.turn.final_status']).toBe('interrupted')
  })

  test('stays completed when a start from before the answer arrives late', () => {
    const [prompt, ...rest] = sixHooks(0, TURN) as [Step, ...Step[]]
    const late: Step = [210, 'pre_tool_call', { ...TURN, tool_name: 'memory', tool_call_id: 'c2' }]
    const done: Step = [220, 'post_tool_call', { ...TURN, tool_name: 'memory', tool_call_id: 'c2' }]
    const plugin = told([prompt, ...rest, late, done, [5000, 'pre_llm_call', { session_id: 's1', turn_id: 't2' }]])
    expect(attributes(plugin, 'agent')['hermes.turn.final_status']).toBe('completed')
  })
})

describe('two turns without turn ids', () => {
  test.each([
    ['of one session', { session_id: 's1' }],
    ['without any id', {}],
    ['of one task', { task_id: 'k1' }],
  ])('is two traces for %s', async (_what, ids) => {
    const plugin = told([...sixHooks(0, ids), ...sixHooks(1000, ids, 'again')])
    await plugin.shutdown()
    expect(plugin.tree(SHOWN).replaceAll(' (ambiguous)', '')).toBe(`${TREE}\n\n${TREE.replace('number=1', 'number=2')}`)
  })

  test('is two traces if the second one names its turn', async () => {
    const plugin = told([...sixHooks(0, { session_id: 's1' }), ...sixHooks(1000, TURN)])
    await plugin.shutdown()
    const turnIds = plugin.spans().flatMap(span => (span.name === 'agent' ? [span.attributes['hermes.turn.id']] : []))
    expect(turnIds).toEqual([undefined, 't1'])
  })

  test('is one trace if the prompt is repeated', async () => {
    const steps = sixHooks(0, { session_id: 's1' })
    const plugin = told([...steps, steps[0] as Step])
    await plugin.shutdown()
    expect(plugin.tree(SHOWN)).toBe(TREE)
    expect(plugin.stats().hooks.duplicate).toBe(1)
  })
})

describe('30 seconds after the answer', () => {
  const stranger: Step = [30_301, 'pre_llm_call', { session_id: 'other', turn_id: 'o1' }]

  test('ends a turn if the host reports no sessions', () => {
    expect(told([...sixHooks(0, TURN), stranger]).tree(SHOWN)).toBe(TREE)
  })

  test('keeps a turn open if the host reports sessions', () => {
    const plugin = told([[0, 'on_session_start', { session_id: 's1' }], ...sixHooks(0, TURN), stranger])
    expect(plugin.tree(SHOWN)).not.toContain('agent')
  })

  test('keeps a turn open while a tool of it is running', () => {
    const call = { ...TURN, tool_name: 'memory', tool_call_id: 'c2' }
    const plugin = told([...sixHooks(0, TURN), [210, 'pre_tool_call', call], stranger])
    expect(plugin.tree(SHOWN)).not.toContain('agent')
  })

  test('treats a turn as not running before that either', () => {
    const plugin = told(sixHooks(0, TURN))
    expect(plugin.stats()).toMatchObject({ turnsOpen: 0, spansOpen: 1 })
  })
})

describe('the answer', () => {
  const flushesOf = async (...steps: Step[]): Promise<number> => {
    const flush = vi.fn(() => Promise.resolve())
    const plugin = createLivePlugin({ host: 'agent' }, { flush })
    for (const [at, hook, payload] of steps) plugin.emitUntyped(hook, payload, { at: START_AT + at })
    plugin.stats()
    const count = flush.mock.calls.length
    await plugin.shutdown()
    return count
  }

  test('is flushed if the host has reported no session', async () => {
    expect(await flushesOf(...sixHooks(0, TURN))).toBe(1)
  })

  test('is not flushed if the host reports sessions, because it will report the end', async () => {
    expect(await flushesOf([0, 'on_session_start', { session_id: 's1' }], ...sixHooks(0, TURN))).toBe(0)
  })
})
