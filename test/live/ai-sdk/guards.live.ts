import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ABLE } from '../../../src/agents/ai-sdk/hooks.ts'
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
import { type Answer, asksFor, runProgram } from '../sdk-program.ts'

const PROGRAM = GUARD_HOOKS + readFileSync(new URL('guards.mjs', import.meta.url), 'utf8')
const KINDS = ['generate', 'stream', 'agent'] as const

interface Plan {
  readonly guard: string
  readonly kind?: (typeof KINDS)[number]
  readonly onFailure?: 'pass' | 'block'
  readonly choice?: 'once' | 'deny'
  /** What the person's own program says of its tool. */
  readonly ownApproval?: 'tool' | 'denied'
  readonly rewritesFirst?: boolean
}

interface Result {
  readonly text: string
  readonly runs: number
  readonly asked: readonly { readonly command: string; readonly reason?: string }[]
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
  const lived = await runProgram<Result>(PROGRAM, noted, { kind: 'generate', ...plan }, home)
  expect(unexpected(lived.ended.stderr)).toBe('')
  expect(lived.ended.code).toBe(0)
  const [result] = lived.results
  return { ...lived, result: result as Result, requests, isThere: (name: string) => isThere(home, name) }
}

describe.each(KINDS)('a guard in %s', kind => {
  test('blocks rm', async () => {
    const { result, requests, spans, tree, isThere } = await guarded({ guard: 'beforeTool block', kind })
    expect(isThere('victim.txt')).toBe(true)
    expect(result).toEqual({ text: 'Done.', runs: 0, asked: [] })
    expect(told(requests, 'result')).toContain(REFUSED)
    expect(hookSpans(spans)).toEqual(['hook.guard before_tool block blocked'])
    expect(spans.find(({ name }) => name === 'tool.bash')?.attributes['hermes.tool.blocked_by']).toBe('guard')
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
            tool.bash OK [hermes.tool.outcome=blocked]
              hook.guard OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
    `)
    covered.has('beforeTool', 'block')
  })

  test('rewrites an argument', async () => {
    const { result, requests, isThere, spans } = await guarded({ guard: 'beforeTool rewrite', kind })
    expect([isThere('victim.txt'), isThere('rewritten.txt')]).toEqual([true, true])
    expect(result.runs).toBe(1)
    expect(told(requests, 'result')).toContain('ran echo kept')
    expect(hookSpans(spans)).toEqual(['hook.guard before_tool rewrite rewritten'])
    expect(spans.find(({ name }) => name === 'tool.bash')?.attributes['input.value']).toContain('echo kept')
    covered.has('beforeTool', 'rewrite')
  })

  test('injects a line', async () => {
    const { requests } = await guarded({ guard: 'beforeTurn inject', kind }, answers)
    expect(told(requests, 'user')).toContain(LINE)
    covered.has('beforeTurn', 'inject')
  })

  test.each(['once', 'deny'] as const)('asks the user about the call as it would run: %s', async choice => {
    const plan = { guard: 'beforeTool ask', rewritesFirst: true, choice, kind }
    const { result, isThere, spans } = await guarded(plan)
    expect(result.asked).toEqual([{ command: 'rm other.txt', reason: 'May it delete?' }])
    expect(result.runs).toBe(choice === 'once' ? 1 : 0)
    expect([isThere('victim.txt'), isThere('other.txt')]).toEqual([true, choice === 'deny'])
    expect(hookSpans(spans)).toContain('hook.guard before_tool ask asked')
    covered.has('beforeTool', 'ask')
  })

  test('rewrites the answer', async () => {
    const { result } = await guarded({ guard: 'afterModel rewrite', kind }, answers)
    expect(result.text).toBe('Dry. (checked)')
    covered.has('afterModel', 'rewrite')
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

describe("a guard beside the program's own approval", () => {
  test('asks the user for a tool that requires it', async () => {
    const { result, isThere } = await guarded({ guard: 'beforeModel inject', ownApproval: 'tool' })
    expect(result).toMatchObject({ runs: 0, asked: [{ command: 'rm victim.txt' }] })
    const both = await guarded({ guard: 'hangs', onFailure: 'pass', ownApproval: 'tool' })
    expect(both.result).toMatchObject({ runs: 0, asked: [{ command: 'rm victim.txt' }] })
    expect([isThere('victim.txt'), both.isThere('victim.txt')]).toEqual([true, true])
  })

  test("keeps the program's denial although the guard asks", async () => {
    const { result, isThere } = await guarded({ guard: 'beforeTool ask', ownApproval: 'denied' })
    expect(result).toMatchObject({ runs: 0, asked: [] })
    expect(isThere('victim.txt')).toBe(true)
  })
})

describe('a guard of turns and requests', () => {
  test.each(['beforeTurn', 'beforeModel'] as const)('blocks in %s', async phase => {
    const { result, requests } = await guarded({ guard: `${phase} block` })
    expect(result.text).toBe(REFUSED)
    expect(requests).toEqual([])
    covered.has(phase, 'block')
  })

  test.each(['beforeTurn', 'beforeModel'] as const)('rewrites in %s', async phase => {
    const { requests } = await guarded({ guard: `${phase} rewrite` })
    expect(requests).toHaveLength(2)
    for (const request of requests) expect(told([request], 'user')).toBe('Is it raining?')
    covered.has(phase, 'rewrite')
  })

  test.each(['beforeTurn', 'beforeModel'] as const)('injects in %s', async phase => {
    const said = await guarded({ guard: `${phase} inject` })
    for (const request of said.requests) expect(told([request], 'user').split(LINE)).toHaveLength(2)
    const system = await guarded({ guard: `${phase} inject system` })
    for (const request of system.requests) expect(request.system).toBe(`You are main.\n\n${LINE}`)
    covered.has(phase, 'inject')
  })

  test.each(['afterModel', 'afterTurn'] as const)('blocks in %s', async phase => {
    const { result, isThere, requests } = await guarded({ guard: `${phase} block` })
    expect(result.text).toBe(REFUSED)
    expect(requests).toHaveLength(phase === 'afterModel' ? 1 : 2)
    expect(isThere('victim.txt')).toBe(phase === 'afterModel')
    covered.has(phase, 'block')
  })

  test.each(['generate', 'stream'] as const)('rewrites in afterTurn: %s', async kind => {
    expect((await guarded({ guard: 'afterTurn rewrite', kind })).result.text).toBe('Done. (checked)')
    covered.has('afterTurn', 'rewrite')
  })

  test.each(['afterModel', 'afterTurn'] as const)('retries in %s', async phase => {
    for (const kind of ['generate', 'stream'] as const) {
      const answer: Answer = ({ items }) => ({ text: items.at(-1)?.text === 'Look once more.' ? 'Wet.' : 'Dry.' })
      const { result, requests } = await guarded({ guard: `${phase} retry`, kind }, answer)
      expect([result.text, requests.length]).toEqual(['Wet.', 2])
    }
    covered.has(phase, 'retry')
  })
})

describe('a guard of results', () => {
  test('blocks', async () => {
    const { requests, isThere } = await guarded({ guard: 'afterTool block' })
    expect(told(requests, 'result')).toContain(REFUSED)
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
