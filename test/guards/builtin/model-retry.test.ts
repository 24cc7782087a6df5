import { expect, test } from 'vitest'
import { type ModelRetryOptions, modelRetry } from '../../../src/guards/builtin/index.ts'
import type { AfterModel } from '../../../src/guards/phases.ts'
import { toolCallOf } from '../../../src/guards/tool-call.ts'
import { askIn } from '../asking.ts'

const ANSWER: AfterModel = { model: 'm', text: '', toolCalls: [], attempt: 0 }

async function delayOf(event: Partial<AfterModel>, options?: ModelRetryOptions): Promise<number | undefined> {
  const { outcome } = await askIn('afterModel', [modelRetry(options)], { event: { ...ANSWER, ...event } })
  return outcome.decision === 'retry' ? outcome.delayMillis : undefined
}

const call = toolCallOf({ name: 'ls', arguments: {} })

const AGAIN: readonly Partial<AfterModel>[] = [
  {},
  { text: ' \n' },
  { error: { status: 429 } },
  { error: { status: 429, type: 'rate_limit_error' } },
  { error: { status: 529 } },
  { error: { status: 408 } },
  { error: { status: 500 } },
  { error: { status: 503, message: 'no healthy upstream' } },
  { error: { type: 'overloaded_error' } },
  { error: { type: 'RateLimitError' } },
  { error: { type: 'APIConnectionError' } },
  { error: { type: 'ECONNRESET' } },
  { error: { message: 'read ECONNRESET' } },
  { error: { message: 'fetch failed' } },
  { error: { type: 'TypeError', message: 'fetch failed' } },
  { error: { message: 'Request timed out.' } },
]

const NOT_AGAIN: readonly Partial<AfterModel>[] = [
  { text: 'Done.' },
  { toolCalls: [call] },
  { error: { status: 400, type: 'invalid_request_error' } },
  { error: { status: 401 } },
  { error: { status: 403, message: 'timeout' } },
  { error: { status: 404 } },
  { error: { status: 429, type: 'insufficient_quota' } },
  { error: { status: 429, message: 'Your credit balance is too low' } },
  { error: { type: 'AbortError', message: 'The request was aborted by a timeout' } },
  { error: { message: 'Request was cancelled' } },
  { error: { type: 'ContextWindowExceeded' } },
  { error: {} },
]

test.each(AGAIN)('retries after %j', async event => {
  expect(await delayOf(event)).toBe(500)
})

test.each(NOT_AGAIN)('does not retry after %j', async event => {
  expect(await delayOf(event)).toBeUndefined()
})

test('grows the delay up to a limit, and ends after the last retry', async () => {
  const waits = (options?: ModelRetryOptions) =>
    Promise.all([0, 1, 2, 3, 4].map(attempt => delayOf({ attempt }, options)))
  expect(await waits()).toEqual([500, 1000, 2000, undefined, undefined])
  expect(await waits({ retries: 4, delayMillis: 100, factor: 3, maxDelayMillis: 800 })).toEqual([
    100,
    300,
    800,
    800,
    undefined,
  ])
  expect(await waits({ retries: 1, delayMillis: 0 })).toEqual([0, undefined, undefined, undefined, undefined])
})
