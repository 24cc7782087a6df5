/** Attempts of which the host does not tell the start, or not the number. */
import { describe, expect, test } from 'vitest'
import { createTestPlugin } from '../../src/testing.ts'
import { feedSteps, type Step, told } from '../support/feed.ts'
import { answered, attributes, began, only, seriesText, TURN, text, used } from './scenes.ts'

const REQUEST = { ...TURN, api_request_id: 'r1', model: 'qwen3', provider: 'openai' }
const USAGE = { usage: { prompt_tokens: 100, completion_tokens: 10 } }
const pre = (at: number, extra: object = {}): Step => [at, 'pre_api_request', { ...REQUEST, ...extra }]
const post = (at: number, extra: object = {}): Step => [at, 'post_api_request', { ...REQUEST, ...USAGE, ...extra }]
const error = (at: number, extra: object = {}): Step => [
  at,
  'api_request_error',
  { ...REQUEST, error: { type: 'Timeout' }, retryable: true, ...extra },
]
const usedFor = (at: number): Step[] => used(at, { api_request_id: 'r1' })
const SHOWN = { attributes: ['hermes.api.attempt'], durations: true }

/** What the turn and the counter say of the tokens that came in. */
async function tokens(steps: readonly Step[]): Promise<unknown[]> {
  const plugin = told(steps)
  const counted = (await seriesText(plugin, 'hermes.tokens.input')).map(line => line.replace(/.* → /, ''))
  return [attributes(plugin, 'agent')['hermes.turn.tokens.total'], ...counted]
}

test('puts a tool of a request that only counts below the loop, like the request', () => {
  const failed = [pre(100, { retry_count: 0 }), error(200, { retry_count: 0 })]
  const plugin = told([...began(), ...failed, post(400, { retry_count: 1 }), ...usedFor(500), ...answered(900)])
  expect(plugin.tree()).toBe(text`
    agent OK
      llm.qwen3 OK
        api.qwen3 ERROR Timeout
        tool.terminal OK
  `)
})

describe('an answer with a higher number than the attempt that is open', () => {
  const first = pre(100, { retry_count: 0 })
  const answer = post(500, { retry_count: 2, api_duration: 0.1 })

  test('is a span of its own, before which the first was over', () => {
    const plugin = told([...began(), first, answer, ...usedFor(600), ...answered(900)])
    expect(plugin.tree(SHOWN)).toBe(text`
      agent OK 910 ms
        llm.qwen3 OK 880 ms
          api.qwen3 UNSET 300 ms (incomplete: superseded) [hermes.api.attempt=0]
          api.qwen3 OK 100 ms (retroactive) [hermes.api.attempt=2]
            tool.terminal OK 50 ms
    `)
  })

  test('leaves nothing below the first, also without a duration', () => {
    const approval = { ...TURN, pattern_key: 'p' }
    const plugin = told([
      ...began(),
      first,
      post(500, { retry_count: 2 }),
      ...usedFor(600),
      [800, 'pre_approval_request', approval],
      [810, 'post_approval_response', { ...approval, choice: 'once' }],
      ...answered(900),
    ])
    expect(plugin.tree({ durations: true })).toBe(text`
      agent OK 910 ms
        llm.qwen3 OK 880 ms
          api.qwen3 UNSET 400 ms (incomplete: superseded)
          tool.terminal OK 50 ms
          approval.p OK 10 ms
    `)
  })

  test('leaves the first to its own end', () => {
    const plugin = told([...began(), first, answer, error(200, { retry_count: 0 }), ...answered(900)])
    expect(plugin.tree(SHOWN)).toBe(text`
      agent OK 910 ms
        llm.qwen3 OK 880 ms
          api.qwen3 ERROR Timeout 100 ms [hermes.api.attempt=0]
          api.qwen3 OK 100 ms (retroactive) [hermes.api.attempt=2]
    `)
  })

  test.each([
    ['while the first is open', [answer, ...answered(900)]],
    ['after the end of the first', [error(600, { retry_count: 0 }), answer, ...answered(900)]],
    ['after the turn', [...answered(900), answer]],
  ])('counts once, when it is repeated %s', async (_when, rest) => {
    expect(await tokens([...began(), first, answer, ...rest])).toEqual([110, '100'])
  })

  test('does not leave the turn waiting for the first', () => {
    const finalized: Step = [900, 'on_session_finalize', { session_id: 's1' }]
    expect(only(told([...began(), first, answer, finalized]), 'agent').status).toBe('ok')
  })
})

describe('a host that numbers every attempt 0', () => {
  const zero = { retry_count: 0 }
  const failedTwice = [pre(100, zero), error(200, zero), pre(300, zero), error(400, zero)]

  test('has the success of a third attempt counted without its start', async () => {
    expect(await tokens([...began(), ...failedTwice, post(600, zero), ...answered(900)])).toEqual([110, '100'])
  })

  test('has a success counted that arrives after its turn', async () => {
    const late = [...began(), ...failedTwice.slice(0, 3), ...answered(500), post(400, zero)]
    expect((await tokens(late))[1]).toBe('100')
  })
})

test('gives an attempt numbered by hookspan the end with that number if there are no times', () => {
  const plugin = createTestPlugin()
  feedSteps(plugin, began())
  const steps = [error(0, { retry_count: 0 }), pre(0, { retry_count: 0 }), post(0, { retry_count: 1 })]
  for (const [, hook, payload] of steps) plugin.emitUntyped(hook, payload)
  feedSteps(plugin, answered(900))
  expect(plugin.tree(SHOWN)).toBe(text`
    agent OK 910 ms
      llm.qwen3 OK 880 ms
        api.qwen3 ERROR Timeout 0 ms
        api.qwen3 OK 0 ms [hermes.api.attempt=1]
  `)
})
