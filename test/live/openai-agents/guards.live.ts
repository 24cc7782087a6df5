import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ABLE } from '../../../src/agents/openai-agents/hooks.ts'
import type { ModelRequest } from '../../support/model-server.mjs'
import { scratchHome } from '../live-host.ts'
import {
  Covered,
  FAILURES,
  GUARD_HOOKS,
  hookSpans,
  isThere,
  LINE,
  pairsOf,
  REFUSED,
  RM,
  told,
  unexpected,
} from '../sdk-guards.ts'
import { type Answer, asksFor, delegates, runProgram } from '../sdk-program.ts'

const PROGRAM = GUARD_HOOKS + readFileSync(new URL('guards.mjs', import.meta.url), 'utf8')
const WAYS = [
  ['responses', false],
  ['responses', true],
  ['chat', false],
] as const

interface Plan {
  readonly guard: string
  readonly api?: 'responses' | 'chat'
  readonly streams?: boolean
  readonly onFailure?: 'pass' | 'block'
  readonly choice?: 'once' | 'deny'
  /** The program's own tool wants a person asked. */
  readonly ownApproval?: boolean
  readonly rewritesFirst?: boolean
  /** Who has the tool: the agent itself, one that it hands over to, or one that is a tool of it. */
  readonly who?: 'alone' | 'handoff' | 'tool'
}

interface Result {
  readonly text?: string
  readonly thrown?: string
  readonly message?: string
  readonly runs: number
  readonly asked: readonly string[]
}

const covered = new Covered()
const deletes = asksFor([RM], 'Done.')
const answers: Answer = () => ({ text: 'Dry.' })

async function guarded(plan: Plan, answer: Answer = deletes) {
  const home = scratchHome()
  const requests: ModelRequest[] = []
  const noted: Answer = request => {
    requests.push(request)
    return answer(request)
  }
  const lived = await runProgram<Result>(PROGRAM, noted, { api: 'responses', streams: false, ...plan }, home)
  expect(unexpected(lived.ended.stderr)).toBe('')
  expect(lived.ended.code).toBe(0)
  const [result] = lived.results
  return { ...lived, result: result as Result, requests, isThere: (name: string) => isThere(home, name) }
}

describe.each(WAYS)('a guard: %s, streamed: %s', (api, streams) => {
  const how = { api, streams }

  test('blocks rm', async () => {
    const { result, requests, spans, tree, isThere } = await guarded({ guard: 'beforeTool block', ...how })
    expect(isThere('victim.txt')).toBe(true)
    expect(result).toMatchObject({ text: 'Done.', runs: 0, asked: [] })
    expect(told(requests, 'result')).toContain(REFUSED)
    expect(hookSpans(spans)).toEqual(['hook.guard before_tool block blocked'])
    expect(spans.find(({ name }) => name === 'tool.bash')?.attributes['hermes.tool.blocked_by']).toBe('guard')
    expect(tree).toMatchSnapshot()
    covered.has('beforeTool', 'block')
  })

  test('rewrites an argument', async () => {
    const { result, requests, isThere, spans } = await guarded({ guard: 'beforeTool rewrite', ...how })
    expect([isThere('victim.txt'), isThere('rewritten.txt'), result.runs]).toEqual([true, true, 1])
    expect(told(requests, 'result')).toContain('ran echo kept')
    expect(hookSpans(spans)).toEqual(['hook.guard before_tool rewrite rewritten'])
    covered.has('beforeTool', 'rewrite')
  })

  test('injects a line', async () => {
    const { requests } = await guarded({ guard: 'beforeModel inject', ...how })
    for (const request of requests) expect(told([request], 'user').split(LINE)).toHaveLength(2)
    const system = await guarded({ guard: 'beforeModel inject system', ...how })
    for (const request of system.requests) expect(request.system).toBe(`You are main.\n\n${LINE}`)
    covered.has('beforeModel', 'inject')
  })

  test.each(['once', 'deny'] as const)('asks the user about the call as it would run: %s', async choice => {
    const plan = { guard: 'beforeTool ask', rewritesFirst: true, choice, ...how }
    const { result, isThere, spans } = await guarded(plan)
    expect(result).toMatchObject({ text: 'Done.', runs: choice === 'once' ? 1 : 0, asked: ['rm other.txt'] })
    expect([isThere('victim.txt'), isThere('other.txt')]).toEqual([true, choice === 'deny'])
    expect(hookSpans(spans)).toContain('hook.guard before_tool ask asked')
    covered.has('beforeTool', 'ask')
  })

  test('rewrites the answer', async () => {
    const { result } = await guarded({ guard: 'afterModel rewrite', ...how }, answers)
    expect(result).toMatchObject({ text: 'Dry. (checked)', ...(streams ? { streamed: 'Dry. (checked)' } : {}) })
    covered.has('afterModel', 'rewrite')
  })

  test('repeats an answer', async () => {
    const answer: Answer = ({ items }) => ({ text: items.at(-1)?.text === 'Look once more.' ? 'Wet.' : 'Dry.' })
    const { result, requests } = await guarded({ guard: 'afterModel retry', ...how }, answer)
    expect([result.text, requests.length]).toEqual(['Wet.', 2])
    covered.has('afterModel', 'retry')
  })
})

describe('a guard that fails', () => {
  test.each(FAILURES)('has the effect of its mode: %s, set to %s', async (guard, onFailure) => {
    const { result, isThere, ended, spans } = await guarded({ guard, onFailure })
    expect(isThere('victim.txt')).toBe(onFailure === 'block')
    expect(result).toMatchObject({ text: 'Done.', runs: onFailure === 'block' ? 0 : 1 })
    expect(ended.stderr).toContain(`hook guard failed in beforeTool, which counts as ${onFailure}`)
    expect(hookSpans(spans)).toEqual([`hook.guard before_tool failed ${onFailure === 'block' ? 'blocked' : 'ran'}`])
  })
})

describe('a guard of agents that work for another', () => {
  test('applies to a handoff', async () => {
    const answer: Answer = request =>
      request.system.includes('worker') ? deletes(request) : { toolCalls: [{ name: 'transfer_to_worker' }] }
    const { result, isThere, spans } = await guarded({ guard: 'beforeTool block', who: 'handoff' }, ({ ...request }) =>
      answer({ ...request, toolResults: request.system.includes('worker') ? request.toolResults - 1 : 0 }),
    )
    expect(result).toMatchObject({ text: 'Done.', runs: 0 })
    expect(isThere('victim.txt')).toBe(true)
    expect(hookSpans(spans)).toEqual(['hook.guard before_tool block blocked'])
  })

  test('applies to an agent as a tool', async () => {
    const answer = delegates({ name: 'work', arguments: { input: 'Work.' } }, deletes)
    const { result, isThere, spans } = await guarded({ guard: 'beforeTool block', who: 'tool' }, request =>
      answer({ ...request, system: request.system.replace('worker', 'researcher') }),
    )
    expect(result).toMatchObject({ text: 'It is 42.', runs: 0 })
    expect(isThere('victim.txt')).toBe(true)
    expect(hookSpans(spans)).toEqual(['hook.guard before_tool block blocked'])
  })
})

test("keeps the tool's own question if it passes", async () => {
  const { result, isThere } = await guarded({ guard: 'hangs', onFailure: 'pass', ownApproval: true })
  expect(result).toMatchObject({ runs: 0, asked: ['rm victim.txt'] })
  expect(isThere('victim.txt')).toBe(true)
})

describe('a guard of turns and requests', () => {
  test('blocks in beforeTurn', async () => {
    const { result, requests, spans } = await guarded({ guard: 'beforeTurn block' })
    expect(result.thrown).toBe('InputGuardrailTripwireTriggered')
    expect(result.message).toContain(REFUSED)
    expect(requests).toEqual([])
    expect(hookSpans(spans)).toEqual(['hook.guard before_turn block blocked'])
    covered.has('beforeTurn', 'block')
  })

  test('blocks in afterTurn', async () => {
    const { result, spans } = await guarded({ guard: 'afterTurn block' }, answers)
    expect(result.thrown).toBe('OutputGuardrailTripwireTriggered')
    expect(hookSpans(spans)).toEqual(['hook.guard after_turn block blocked'])
    covered.has('afterTurn', 'block')
  })

  test.each([false, true])('blocks in beforeModel, streamed: %s', async streams => {
    const { result, requests } = await guarded({ guard: 'beforeModel block', streams })
    expect(result.text).toBe(REFUSED)
    expect(requests).toEqual([])
    covered.has('beforeModel', 'block')
  })

  test('rewrites in beforeModel', async () => {
    const { requests } = await guarded({ guard: 'beforeModel rewrite' })
    expect(requests).toHaveLength(2)
    for (const request of requests) expect(told([request], 'user')).toBe('Is it raining?')
    covered.has('beforeModel', 'rewrite')
  })

  test.each([false, true])('blocks in afterModel, streamed: %s', async streams => {
    const { result, isThere, requests } = await guarded({ guard: 'afterModel block', streams })
    expect([result.text, requests.length, isThere('victim.txt')]).toEqual([REFUSED, 1, true])
    covered.has('afterModel', 'block')
  })
})

describe('a guard of results', () => {
  test('blocks', async () => {
    const { requests, isThere } = await guarded({ guard: 'afterTool block' })
    expect(told(requests, 'result')).toBe(REFUSED)
    expect(isThere('victim.txt')).toBe(false)
    covered.has('afterTool', 'block')
  })

  test('rewrites', async () => {
    const { requests } = await guarded({ guard: 'afterTool rewrite' })
    expect(told(requests, 'result')).toBe('The rewritten result.')
    covered.has('afterTool', 'rewrite')
  })

  test('has it tried again', async () => {
    const echo = { name: 'bash', arguments: { command: 'echo hello' } }
    const { result } = await guarded({ guard: 'afterTool retry' }, asksFor([echo], 'Done.'))
    expect(result).toMatchObject({ text: 'Done.', runs: 2 })
    covered.has('afterTool', 'retry')
  })
})

test('covers each decision in the table', () => {
  expect(covered.pairs).toEqual(pairsOf(ABLE))
})
