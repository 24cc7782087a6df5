import { expect, test } from 'vitest'
import { type BudgetOptions, budget } from '../../../src/guards/builtin/index.ts'
import { createHooks } from '../../../src/guards/create-hooks.ts'
import { HostHooks } from '../../../src/guards/host-hooks.ts'
import { inWords } from '../asking.ts'
import { Agent } from './steps.ts'

function told(what: string, used: string): string {
  return `block by budget: The budget of this ${what} is used up (${used}). Stop here, and say what is done and what is left.`
}

function agentWith(options: BudgetOptions): Agent {
  return new Agent(budget(options))
}

test('allows that many calls in a turn, and no more; the next turn has its own', async () => {
  const agent = agentWith({ turn: { toolCalls: 2 } })
  const made = [await agent.call('ls'), await agent.call('ls'), await agent.call('ls')]
  expect(made).toEqual(['pass', 'pass', told('turn', '2 of 2 calls of tools')])
  agent.turn('t2')
  expect(await agent.call('ls')).toBe('pass')
})

test('limits parallel calls', async () => {
  const agent = agentWith({ turn: { toolCalls: 3 } })
  const made = await Promise.all(Array.from({ length: 10 }, (_, at) => agent.call('ls', {}, `c${at}`)))
  expect(made.filter(each => each === 'pass')).toHaveLength(3)
})

test('counts a call once if the hooks run again for it', async () => {
  const agent = agentWith({ turn: { toolCalls: 2 } })
  const ids = ['c1', 'c1', 'c1', 'c2', 'c3', 'c1']
  const made: string[] = []
  for (const id of ids) made.push(inWordsShort(await agent.call('ls', {}, id)))
  expect(made).toEqual(['pass', 'pass', 'pass', 'pass', 'block', 'pass'])
})

test('sums all turns of a session', async () => {
  const agent = agentWith({ session: { toolCalls: 2 } })
  await agent.call('ls')
  agent.turn('t2')
  await agent.call('ls')
  agent.turn('t3')
  expect(await agent.call('ls')).toBe(told('session', '2 of 2 calls of tools'))
  agent.turn('t1', 's2')
  expect(await agent.call('ls')).toBe('pass')
})

test('reports once that a limit is never reached because the agent does not report its figure', async () => {
  const agent = agentWith({ turn: { tokens: 100, toolCalls: 5 }, session: { cost: 1 } })
  await agent.ask('afterModel', { error: { status: 500 } })
  expect(agent.lines).toEqual([])
  await agent.ask('afterModel', { usage: { outputTokens: 5 } })
  await agent.ask('afterModel')
  await agent.ask('afterModel')
  const line = (what: string): string =>
    `hookspan: my-agent: budget: my-agent does not report the ${what} of a request: it does not count towards the limit`
  expect(agent.lines).toEqual([line('cost'), line('tokens')])
  const other = agentWith({ turn: { toolCalls: 5, minutes: 5 } })
  await other.ask('afterModel')
  expect(other.lines).toEqual([])
})

test("blocks the next step once the agent's tokens reach the limit", async () => {
  const agent = agentWith({ turn: { tokens: 100 }, session: { tokens: 150 } })
  await agent.ask('afterModel', { usage: { inputTokens: 60, outputTokens: 39 } })
  expect(inWords(await agent.ask('beforeModel'))).toBe('pass')
  await agent.ask('afterModel', { usage: { outputTokens: 1 } })
  const over = told('turn', '100 of 100 tokens')
  expect([inWords(await agent.ask('beforeModel')), await agent.call('ls')]).toEqual([over, over])
  agent.turn('t2')
  expect(inWords(await agent.ask('beforeTurn'))).toBe('pass')
  await agent.ask('afterModel', { usage: { inputTokens: 55 } })
  expect(inWords(await agent.ask('beforeTurn'))).toBe(told('session', '155 of 150 tokens'))
  await agent.ask('afterModel', {})
})

test('counts cost in US dollars', async () => {
  const agent = agentWith({ turn: { cost: 0.5 } })
  await agent.ask('afterModel', { usage: { costUsd: 0.25 } })
  expect(await agent.call('ls')).toBe('pass')
  await agent.ask('afterModel', { usage: { costUsd: 0.3 } })
  expect(await agent.call('ls')).toBe(told('turn', '0.55 of 0.50 US dollars'))
})

test('counts minutes from the first event', async () => {
  let now = 1_800_000_000_000
  const agent = agentWith({ turn: { minutes: 5 }, now: () => now })
  expect(await agent.call('ls')).toBe('pass')
  now += 5 * 60_000 - 1
  expect(await agent.call('ls')).toBe('pass')
  now += 1
  expect(await agent.call('ls')).toBe(told('turn', '5 of 5 minutes'))
  expect(inWords(await agent.ask('beforeModel'))).toBe(told('turn', '5 of 5 minutes'))
})

test('inspects only what it counts', () => {
  const phases = (options: BudgetOptions) => Object.keys(budget(options)).filter(key => /^(before|after)/.test(key))
  expect(phases({ turn: { toolCalls: 1 } })).toEqual(['beforeTool'])
  expect(phases({ turn: { minutes: 1 } })).toEqual(['beforeTool', 'beforeModel'])
  expect(phases({ session: { cost: 1 } })).toEqual(['beforeTool', 'beforeModel', 'beforeTurn', 'afterModel'])
})

test('reports a block that the agent does not support once', () => {
  const lines: string[] = []
  const able = { beforeTool: ['block'], beforeModel: ['block'], afterModel: ['rewrite'] } as const
  const hooks = createHooks([budget({ turn: { tokens: 5 } })])
  new HostHooks({ host: 'mine', hooks, capabilities: able, report: line => void lines.push(line) })
  expect(lines).toEqual([])
})

test('evicts the least recently used session', async () => {
  const agent = agentWith({ session: { toolCalls: 1 } })
  for (let at = 0; at <= 1000; at++) {
    agent.turn('t1', `session ${at}`)
    await agent.call('ls')
  }
  agent.turn('t2', 'session 1')
  expect(await agent.call('ls')).toMatch(/^block/)
  agent.turn('t2', 'session 0')
  expect(await agent.call('ls')).toBe('pass')
})

function inWordsShort(words: string): string {
  return words.split(' ')[0] ?? ''
}
