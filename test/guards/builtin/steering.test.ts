import { expect, test } from 'vitest'
import { type Judgement, steering } from '../../../src/guards/builtin/index.ts'
import { Agent } from './steps.ts'

const CLOSED = 'block by steering: The hook steering failed to check this, and is set to block on failure.'

const SAID: readonly (readonly [judgement: unknown, words: string])[] = [
  [{ verdict: 'proceed' }, 'pass'],
  [{ verdict: 'proceed', reason: 'Fine.' }, 'pass'],
  [{ verdict: 'guide', reason: 'Use git mv.' }, 'block by steering: Use git mv.'],
  [{ verdict: 'guide' }, 'block by steering: Not like this: take another way.'],
  [{ verdict: 'stop', reason: 'This is production.' }, 'block by steering: This is production. Do not try it again.'],
  [{ verdict: 'stop' }, 'block by steering: This is not done. Do not try it again.'],
  [{ verdict: 'approve' }, CLOSED],
  [{}, CLOSED],
  [undefined, CLOSED],
  ['proceed', CLOSED],
]

test.each(SAID)("converts a judge's answer %j: %s", async (judgement, words) => {
  const judges = [() => judgement as Judgement, async () => judgement as Judgement]
  for (const judge of judges) expect(await new Agent(steering({ judge })).call('bash')).toBe(words)
})

test('blocks or passes by onFailure if the judge fails', async () => {
  const judge = async (): Promise<Judgement> => {
    throw new Error('no connection')
  }
  expect(await new Agent(steering({ judge })).call('bash')).toBe(CLOSED)
  expect(await new Agent(steering({ judge, onFailure: 'pass' })).call('bash')).toBe('pass')
})

test('judges only the named kinds, as they would run', async () => {
  const judged: unknown[] = []
  const agent = new Agent(
    steering({
      for: ['shell'],
      judge: (call, signal) => {
        judged.push(call.command, signal.aborted)
        return { verdict: 'stop' }
      },
    }),
  )
  expect(await agent.call('read', { path: 'a' })).toBe('pass')
  expect(await agent.call('bash', { command: 'ls' })).toMatch(/^block/)
  expect(judged).toEqual(['ls', false])
})

test("shows the user the judge's text for the user", async () => {
  const agent = new Agent(steering({ judge: () => ({ verdict: 'guide', reason: 'No.', detail: 'rule 7' }) }))
  expect((await agent.ask('beforeTool')).detail).toBe('rule 7')
})
