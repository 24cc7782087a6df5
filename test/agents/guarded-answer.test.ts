import { expect, test } from 'vitest'
import { type AnswerFormat, guardedAnswer } from '../../src/agents/base/guarded-answer.ts'
import type { HostHooks } from '../../src/guards/index.ts'

test('does not read an answer that no hook checks', async () => {
  const hooks = { handles: () => false } as unknown as HostHooks
  const format = {
    contentOf: () => {
      throw new Error('read')
    },
  } as unknown as AnswerFormat<object, object>
  const result = {}
  const guarded = { hooks, ids: {} as never, model: undefined, signal: undefined, checksTurn: true }
  expect(await guardedAnswer(guarded, format, {}, () => Promise.resolve(result))).toBe(result)
  const failure = new Error('the provider fails')
  await expect(guardedAnswer(guarded, format, {}, () => Promise.reject(failure))).rejects.toBe(failure)
})
