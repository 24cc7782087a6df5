import { expect, test } from 'vitest'
import type { StoredSpan } from '../../../src/reading/stored-span.ts'
import { gatewayScenes } from './gateway-scene.ts'

const lived = gatewayScenes()

test('traces attempts that fail, then an answer', async () => {
  const { tree } = await lived({
    scenario: 'retry',
    description: 'a 500, a 429, then an answer',
    answer: ({ attempt }) => {
      if (attempt === 1) return { status: 500, error: 'the model is on fire' }
      return attempt === 2 ? { status: 429, error: 'too much' } : { text: 'Better now.' }
    },
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=1042]
      llm.fake-1 OK
        api.fake-1 ERROR InternalServerError [http.response.status_code=500]
        api.fake-1 ERROR RateLimitError [http.response.status_code=429]
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
})

test('traces a turn that fails, and the next prompt', async () => {
  const { tree, spans } = await lived({
    scenario: 'fatal',
    description: 'a 401, which is not tried again; then another prompt in the session, which is answered',
    answer: ({ prompt }) => (prompt.includes('Fail') ? { status: 401, error: 'no such key' } : { text: 'There I am.' }),
    act: async ({ say }) => {
      expect(await say({ text: 'Fail' })).toMatchObject({ status: 'failed' })
      await say()
    },
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent ERROR AuthenticationError [hermes.turn.number=1, hermes.turn.final_status=failed]
      llm.fake-1 UNSET (incomplete: turn_ended)
        api.fake-1 ERROR AuthenticationError [http.response.status_code=401]
    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=1042]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
  expectToEndWithItsRequests(spans)
})

test('traces a turn whose attempts are used up', async () => {
  const { tree, spans } = await lived({
    scenario: 'used-up',
    description: 'a 500 at every attempt',
    answer: () => ({ status: 500, error: 'the model is on fire' }),
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent ERROR InternalServerError [hermes.turn.number=1, hermes.turn.final_status=failed]
      llm.fake-1 UNSET (incomplete: turn_ended)
        api.fake-1 ERROR InternalServerError [http.response.status_code=500]
        api.fake-1 ERROR InternalServerError [http.response.status_code=500]
        api.fake-1 ERROR InternalServerError [http.response.status_code=500]
    "
  `)
  expectToEndWithItsRequests(spans)
})

test('traces an answer that is cut off and continued', async () => {
  const { tree, spans } = await lived({
    scenario: 'cut-off',
    description: 'an answer that has as many tokens as it may have, then the rest of it',
    answer: ({ items }) =>
      items.some(({ kind }) => kind === 'answer') ? { text: 'the rest.' } : { text: 'This is ', isCutOff: true },
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=1064]
      llm.fake-1 OK
        api.fake-1 UNSET (incomplete: superseded)
        api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
  const [first, second] = requestsOf(spans)
  expect(first?.endAt).toBe(second?.startAt)
})

test('traces a tool call that is cut off', async () => {
  const { tree, spans } = await lived({
    scenario: 'tool-call-cut-off',
    description: 'a tool call whose arguments are cut off, at every attempt',
    answer: () => ({ toolCalls: [{ name: 'terminal', arguments: '{"command": "echo' }], isCutOff: true }),
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent ERROR failed [hermes.turn.number=1, hermes.turn.final_status=failed]
      llm.fake-1 UNSET (incomplete: turn_ended)
        api.fake-1 UNSET (incomplete: superseded)
        api.fake-1 UNSET (incomplete: superseded)
        api.fake-1 UNSET (incomplete: superseded)
        api.fake-1 UNSET (incomplete: superseded)
        api.fake-1 UNSET (incomplete: turn_ended)
    "
  `)
  const requests = requestsOf(spans)
  expect(requests.slice(0, -1).map(({ endAt }) => endAt)).toEqual(requests.slice(1).map(({ startAt }) => startAt))
})

/** In the order of their starts. */
function requestsOf(spans: readonly StoredSpan[]): StoredSpan[] {
  return spans.filter(({ name }) => name.startsWith('api.')).toSorted((one, other) => one.startAt - other.startAt)
}

/**
 * The turn that has failed ends when its last error is told, which is some milliseconds after the end that Hermes gives the
 * request, and before the next turn begins.
 */
function expectToEndWithItsRequests(spans: readonly StoredSpan[]): void {
  const roots = spans.filter(({ attributes }) => attributes['hermes.turn.number'] !== undefined)
  const failed = roots.find(({ attributes }) => attributes['hermes.turn.final_status'] === 'failed')
  const last = requestsOf(spans.filter(({ traceId }) => traceId === failed?.traceId)).at(-1)
  expect(failed?.endAt).toBeGreaterThanOrEqual(last?.endAt ?? Number.NaN)
  for (const next of roots.filter(root => root !== failed)) expect(failed?.endAt).toBeLessThan(next.startAt)
}
