/** A turn whose last request failed for good is a failed turn, whoever tells its end. */
import { describe, expect, test } from 'vitest'
import { START_AT, type Step, told } from '../support/feed.ts'
import { attributes, began, only, seriesText, TURN, text } from './scenes.ts'

const REQUEST = { ...TURN, api_request_id: 'r1', model: 'qwen3' }
const FATAL = { ...REQUEST, retryable: false, status_code: 401, error: { type: 'AuthenticationError', message: 'no' } }
const failed = (error: object = FATAL): Step[] => [
  ...began(),
  [100, 'pre_api_request', REQUEST],
  [200, 'api_request_error', error],
]
const SHOWN = { attributes: ['hermes.turn.final_status'], durations: true }

const ENDS: [string, Step][] = [
  ['the end of its session', [5000, 'on_session_finalize', { session_id: 's1', reason: 'shutdown' }]],
  ['a reset', [5000, 'on_session_reset', { old_session_id: 's1', new_session_id: 's2' }]],
  ['the next prompt', [5000, 'pre_llm_call', { session_id: 's1', turn_id: 't2' }]],
  ['the next start of its session', [5000, 'on_session_start', { session_id: 's1' }]],
  ['its silence', [700_000, 'on_session_start', { session_id: 'other' }]],
]

describe('a turn whose last request failed for good', () => {
  test.each(ENDS)('is failed when %s ends it, at its last sign of life', async (_what, end) => {
    const plugin = told([...failed(), end])
    expect(plugin.tree(SHOWN).split('\n\n')[0]).toBe(text`
      agent ERROR AuthenticationError 200 ms [hermes.turn.final_status=failed]
        llm.qwen3 UNSET 180 ms (incomplete: turn_ended)
          api.qwen3 ERROR AuthenticationError 100 ms
    `)
    expect(await seriesText(plugin, 'hermes.sessions')).toContain('kind=session final_status=failed → 1')
  })

  test('is failed when the plugin is shut down', async () => {
    const plugin = told(failed())
    await plugin.shutdown()
    expect(attributes(plugin, 'agent')).toMatchObject({ 'hermes.turn.final_status': 'failed' })
    expect(only(plugin, 'agent')).toMatchObject({ status: 'error', endAt: START_AT + 200 })
    expect(attributes(plugin, 'agent')).not.toHaveProperty('hermes.span.incomplete')
  })

  test.each([
    [{ completed: false }, 'failed'],
    [{ completed: true }, 'failed'],
    [{ failed: true }, 'failed'],
    [{ interrupted: true }, 'interrupted'],
  ])('ends by %o as %s', (end, status) => {
    const plugin = told([...failed(), [300, 'on_session_end', { ...TURN, ...end }]])
    expect(attributes(plugin, 'agent')['hermes.turn.final_status']).toBe(status)
    expect(only(plugin, 'agent').endAt).toBe(START_AT + 300)
  })
})

test('is followed by another turn at a start of its session', () => {
  const plugin = told([...failed(), [5000, 'on_session_start', { session_id: 's1' }], ...turn2(5010)])
  expect(plugin.tree(SHOWN).split('\n\n')[1]).toBe(text`
    agent OK 80 ms [hermes.turn.final_status=completed]
      llm UNSET 70 ms (incomplete: turn_ended)
  `)
})

function turn2(at: number): Step[] {
  const ids = { session_id: 's1', turn_id: 't2' }
  return [
    [at, 'pre_llm_call', ids],
    [at + 70, 'on_session_end', { ...ids, completed: true }],
  ]
}

describe('a failed request', () => {
  const TRANSIENT = { ...FATAL, retryable: true, retry_count: 0, max_retries: 3 }
  const nextPrompt: Step = [5000, 'pre_llm_call', { session_id: 's1', turn_id: 't2' }]
  const statusOf = (...steps: Step[]): unknown =>
    told([...steps, nextPrompt])
      .spans()
      .find(span => span.name === 'agent')?.attributes['hermes.turn.final_status']

  test('does not end the turn while a retry may follow', () => {
    expect(statusOf(...failed(TRANSIENT))).toBe('interrupted')
  })

  test('ends the turn when the retries are used up', () => {
    expect(statusOf(...failed({ ...TRANSIENT, retry_count: 2 }))).toBe('failed')
  })

  test('does not end the turn if the host does not announce a retry and one follows', () => {
    const { retryable: _unsaid, ...error } = FATAL
    expect(statusOf(...failed(error))).toBe('failed')
    expect(statusOf(...failed(error), [300, 'pre_api_request', { ...REQUEST, retry_count: 1 }])).toBe('interrupted')
  })

  test.each<[string, Step[]]>([
    ['another request', [[300, 'pre_api_request', { ...REQUEST, api_request_id: 'r2' }]]],
    ['a tool', [[300, 'pre_tool_call', { ...TURN, tool_name: 'terminal', tool_call_id: 'c1' }]]],
  ])('does not end the turn when %s follows', (_what, steps) => {
    expect(statusOf(...failed(), ...steps)).toBe('interrupted')
  })

  test('leaves the turn completed when an answer follows', () => {
    const answer: Step = [300, 'post_llm_call', { ...TURN, assistant_response: 'from the cache' }]
    expect(statusOf(...failed(), answer)).toBe('completed')
  })

  test('ends the turn in spite of a side call', () => {
    const title = { ...TURN, api_request_id: 'a1', aux_task: 'title' }
    expect(statusOf(...failed(), [300, 'pre_auxiliary_call', title], [310, 'post_auxiliary_call', title])).toBe(
      'failed',
    )
  })

  test('does not decide the end if it is a late error of an earlier attempt', () => {
    const plugin = told([
      ...began(),
      [100, 'pre_api_request', { ...REQUEST, retry_count: 0 }],
      [300, 'pre_api_request', { ...REQUEST, api_request_id: 'r2' }],
      [400, 'post_api_request', { ...REQUEST, api_request_id: 'r2' }],
      [200, 'api_request_error', FATAL],
      [500, 'on_session_end', { ...TURN, completed: true }],
    ])
    expect(attributes(plugin, 'agent')['hermes.turn.final_status']).toBe('completed')
  })
})

describe('30 seconds after a request failed for good', () => {
  const stranger: Step = [30_201, 'on_session_start', { session_id: 'other' }]
  const USED_UP = { ...FATAL, retryable: true, retry_count: 2, max_retries: 3 }
  const { retryable: _unsaid, ...UNSAID } = FATAL
  const FAILED = text`
    agent ERROR AuthenticationError 200 ms [hermes.turn.final_status=failed]
      llm.qwen3 UNSET 180 ms (incomplete: turn_ended)
        api.qwen3 ERROR AuthenticationError 100 ms
  `

  test.each([
    ['no attempt follows', FATAL],
    ['the attempts are used up', USED_UP],
  ])('ends a turn as failed if the host reports that %s', async (_what, error) => {
    const plugin = told([...failed(error), stranger])
    expect(plugin.tree(SHOWN)).toBe(FAILED)
    expect(await seriesText(plugin, 'hermes.sessions')).toEqual(['kind=session final_status=failed → 1'])
  })

  test('ends a turn as failed although a skill that it loaded is still in use', () => {
    const skill = { ...TURN, tool_name: 'skill_view', tool_call_id: 'c1', args: { name: 'pdf' } }
    const loaded: Step[] = [
      [30, 'pre_tool_call', skill],
      [40, 'post_tool_call', { ...skill, result: 'text' }],
    ]
    const [start, prompt, ...rest] = failed() as [Step, Step, ...Step[]]
    const plugin = told([start, prompt, ...loaded, ...rest, stranger])
    expect(attributes(plugin, 'agent')['hermes.turn.final_status']).toBe('failed')
  })

  test.each<[string, Step[]]>([
    ['the host reports nothing of another attempt', failed(UNSAID)],
    ['another request is running', [...failed(), [300, 'pre_api_request', { ...REQUEST, api_request_id: 'r2' }]]],
    ['a tool is running', [...failed(), [150, 'pre_tool_call', { ...TURN, tool_name: 'ls', tool_call_id: 'c1' }]]],
    ['a side call comes later', [...failed(), [20_000, 'pre_auxiliary_call', { ...TURN, aux_task: 'title' }]]],
  ])('keeps a turn open if %s', (_what, steps) => {
    expect(told([...steps, stranger]).tree()).not.toContain('agent')
  })

  test('treats a turn as not running before that, too', () => {
    expect(told(failed()).stats().turnsOpen).toBe(0)
  })
})

describe('a contradictory end', () => {
  const asking: Step = [100, 'pre_api_request', REQUEST]

  test('is interrupted if completed and interrupted are set', () => {
    const plugin = told([...began(), asking, [200, 'on_session_end', { ...TURN, completed: true, interrupted: true }]])
    expect(attributes(plugin, 'agent')['hermes.turn.final_status']).toBe('interrupted')
  })

  test('does not complete a child that waits for its answer', () => {
    const child = { session_id: 'C', turn_id: 'c1', model: 'small' }
    const plugin = told([
      ...began(),
      [100, 'subagent_start', { parent_session_id: 's1', parent_turn_id: 't1', child_session_id: 'C' }],
      [110, 'pre_llm_call', child],
      [120, 'pre_api_request', { ...child, api_request_id: 'cr' }],
      [900, 'on_session_end', { ...child, completed: true }],
    ])
    expect(attributes(plugin, 'agent')['hermes.turn.final_status']).toBe('interrupted')
  })

  test('leaves no success on a session that is torn down while a request waits for its answer', () => {
    const plugin = told([...began(), asking, [200, 'on_session_finalize', { session_id: 's1' }]])
    expect(only(plugin, 'agent').status).toBe('unset')
    expect(attributes(plugin, 'agent')['hermes.turn.final_status']).toBe('finalized')
  })
})

describe('a turn whose request is repeated without an answer', () => {
  const unanswered = [...began(), ...[100, 200, 300].map((at): Step => [at, 'pre_api_request', REQUEST])]

  test.each(ENDS)('is failed when %s ends it', (_what, end) => {
    const root = told([...unanswered, end])
      .spans()
      .find(span => span.name === 'agent')
    expect(root).toMatchObject({
      status: 'error',
      endAt: START_AT + 300,
      attributes: { 'hermes.turn.final_status': 'failed' },
    })
  })

  test('is not failed if the last attempt got its answer, or the user stopped it', () => {
    const statusOf = (...steps: Step[]): unknown =>
      attributes(told([...unanswered, ...steps]), 'agent')['hermes.turn.final_status']
    const over: Step = [500, 'on_session_end', { ...TURN, completed: true }]
    expect(statusOf([400, 'post_api_request', REQUEST], over)).toBe('completed')
    expect(statusOf([500, 'on_session_end', { ...TURN, interrupted: true }])).toBe('interrupted')
  })
})
