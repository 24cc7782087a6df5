import { expect, test } from 'vitest'
import { createHooks } from '../../src/guards/create-hooks.ts'
import { type AnyHook, transforms } from '../../src/guards/hook.ts'
import { PHASE_NAMES, PHASES, type Phase } from '../../src/guards/phases.ts'
import { ask, block, inject, pass, retry, rewrite } from '../../src/guards/verdict.ts'
import fc from '../support/fast-check.ts'
import { about, askIn, EVENTS } from './asking.ts'

/** What one hook of a chain says, as data. */
interface Said {
  readonly priority: number | undefined
  readonly says: 'nothing' | 'pass' | 'rewrite' | 'inject' | 'block' | 'ask' | 'retry' | 'throws' | 'nonsense'
  readonly isClosed: boolean
  readonly isLate: boolean
}

const SAID: fc.Arbitrary<Said> = fc.record({
  priority: fc.constantFrom(undefined, 0, 50, 100, 200, 300),
  says: fc.constantFrom('nothing', 'pass', 'rewrite', 'inject', 'ask', 'retry', 'throws', 'nonsense', 'block'),
  isClosed: fc.boolean(),
  isLate: fc.boolean(),
})
const CHAINS = fc.array(SAID, { maxLength: 8 })
const PHASE = fc.constantFrom(...PHASE_NAMES)

/** Texts get longer by the hook's name; of what is no text a key does. */
function added(phase: Phase, event: any, name: string): unknown {
  switch (phase) {
    case 'beforeTool':
      return { ...event.tool.arguments, [name]: true }
    case 'beforeModel':
      return event.messages.map((each: object & { text: string }) => ({ ...each, text: `${each.text} ${name}` }))
    case 'afterTool':
      return { ...event.result, [name]: true }
    default:
      return `${event.prompt ?? event.answer ?? event.text} ${name}`
  }
}

/** A hook for each, which notes when it is asked and what it saw. */
function hooksOf(phase: Phase, said: readonly Said[], seen: { name: string; event: unknown }[] = []): AnyHook[] {
  return said.map(({ priority, says, isClosed, isLate }, at) => {
    const name = `h${at}`
    const can = PHASES[phase].decisions
    const answer = (event: unknown): unknown => {
      seen.push({ name, event })
      if (says === 'throws') throw new Error(`${name} is broken`)
      if (says === 'nonsense') return { decision: 'perhaps' }
      if (says === 'nothing' || says === 'pass' || !can.has(says)) return says === 'pass' ? pass() : undefined
      if (says === 'rewrite') return rewrite(added(phase, event, name))
      return { inject: inject(name), block: block(name), ask: ask(name), retry: retry({ feedback: name }) }[says]
    }
    const decisions = says === 'rewrite' || says === 'inject' ? [says] : (['block', 'ask', 'retry'] as const)
    const hook = isLate ? async (event: unknown) => answer(event) : answer
    return { name, priority, decisions, onFailure: isClosed ? 'block' : 'pass', [phase]: hook } as AnyHook
  })
}

async function run(phase: Phase, said: readonly Said[]) {
  const seen: { name: string; event: unknown }[] = []
  const { outcome, lines } = await askIn(phase, hooksOf(phase, said, seen))
  return { outcome, lines, seen, names: seen.map(({ name }) => name) }
}

/** The order, said another way than the chain makes it. */
function expectedOrder(phase: Phase, said: readonly Said[]): string[] {
  const ranked = hooksOf(phase, said).map((hook, at) => ({ hook, at, priority: hook.priority ?? 200 }))
  const sign = PHASES[phase].isAfter ? -1 : 1
  return ranked
    .sort(
      (a, b) =>
        Number(transforms(b.hook, phase)) - Number(transforms(a.hook, phase)) ||
        sign * (a.priority - b.priority || a.at - b.at),
    )
    .map(({ hook }) => hook.name)
}

const isBlock = ({ says, isClosed }: Said): boolean =>
  says === 'block' || (isClosed && (says === 'throws' || says === 'nonsense'))

test('runs transforming hooks before judging ones, each by priority, and in reverse afterwards', async () => {
  await fc.assert(
    fc.asyncProperty(PHASE, CHAINS, async (phase, said) => {
      const quiet = said.map(each => ({ ...each, says: isBlock(each) ? ('nothing' as const) : each.says }))
      expect((await run(phase, quiet)).names).toEqual(expectedOrder(phase, quiet))
    }),
  )
})

test('ends at the first block, which overrides an ask or a retry', async () => {
  await fc.assert(
    fc.asyncProperty(PHASE, CHAINS, async (phase, said) => {
      const { outcome, names } = await run(phase, said)
      const order = expectedOrder(phase, said)
      const at = order.findIndex(name => isBlock(said[Number(name.slice(1))]!))
      expect(names).toEqual(at < 0 ? order : order.slice(0, at + 1))
      if (at < 0) expect(outcome.decision).not.toBe('block')
      else expect([outcome.decision, outcome.by]).toEqual(['block', order[at]])
    }),
  )
})

test('names the first hook that asks or wants a retry', async () => {
  await fc.assert(
    fc.asyncProperty(PHASE, CHAINS, async (phase, said) => {
      const open = said.map(each => ({ ...each, says: isBlock(each) ? ('pass' as const) : each.says }))
      const { outcome } = await run(phase, open)
      const wants = (name: string) =>
        ['ask', 'retry'].includes(open[Number(name.slice(1))]!.says) &&
        PHASES[phase].decisions.has(open[Number(name.slice(1))]!.says as 'ask')
      const first = expectedOrder(phase, open).find(wants)
      expect(outcome.by).toBe(first)
    }),
  )
})

test('continues with the other hooks if one fails open', async () => {
  await fc.assert(
    fc.asyncProperty(PHASE, CHAINS, fc.nat(), async (phase, said, where) => {
      const rest = said.map(each => ({ ...each, says: each.says === 'nonsense' ? ('throws' as const) : each.says }))
      const at = where % (rest.length + 1)
      const broken: Said = { priority: said[at]?.priority, says: 'throws', isClosed: false, isLate: false }
      const hooks = hooksOf(phase, rest)
      const seen: { name: string; event: unknown }[] = []
      const also: { name: string; event: unknown }[] = []
      const without = await askIn(phase, hooksOf(phase, rest, seen))
      const failing = { ...hooksOf(phase, [broken])[0]!, name: 'broken' }
      const all = hooksOf(phase, rest, also)
      all.splice(at, 0, failing)
      const withIt = await askIn(phase, all)
      expect(also).toEqual(seen)
      const { runs: _, ...one } = without.outcome
      const { runs, ...other } = withIt.outcome
      expect(other).toEqual(one)
      expect(hooks.length).toBe(rest.length)
      expect(runs.filter(({ hook }) => hook === 'broken').every(({ verdict }) => verdict === 'failed')).toBe(true)
    }),
  )
})

test('passes rewrites to later hooks, and the final value to judges', async () => {
  await fc.assert(
    fc.asyncProperty(PHASE, CHAINS, async (phase, said) => {
      const { outcome, seen } = await run(phase, said)
      let event: any = EVENTS[phase]
      for (const { name, event: saw } of seen) {
        expect(PHASES[phase].valueOf(saw as never)).toEqual(PHASES[phase].valueOf(event as never))
        const { says } = said[Number(name.slice(1))]!
        if (says === 'rewrite') event = PHASES[phase].rewritten(event as never, added(phase, event, name))
      }
      expect(outcome.value).toEqual(PHASES[phase].valueOf(event as never))
      expect(outcome.isRewritten).toBe(seen.some(({ name }) => said[Number(name.slice(1))]!.says === 'rewrite'))
    }),
  )
})

test('freezes every event and value deeply, also after a rewrite', async () => {
  await fc.assert(
    fc.asyncProperty(PHASE, CHAINS, async (phase, said) => {
      const { outcome, seen } = await run(phase, said)
      for (const each of [outcome.value, ...seen.map(({ event }) => event)]) expect(unfrozen(each)).toEqual([])
    }),
  )
})

test('passes changes to later hooks, and ignores changes after the answer', async () => {
  const handed = { level: 1, deep: { level: 1 } }
  const seen: unknown[] = []
  const hooks: AnyHook[] = [
    { name: 'a', priority: 1, beforeTool: () => pass({ metadata: handed }) },
    {
      name: 'b',
      priority: 2,
      beforeTool: (_, ctx) => {
        handed.level = 2
        handed.deep.level = 2
        seen.push(ctx.metadata)
        return pass({ metadata: { more: 'b' } })
      },
    },
    { name: 'c', priority: 3, beforeTool: async (_, ctx) => void seen.push(ctx.metadata) },
  ]
  await askIn('beforeTool', hooks)
  expect(seen).toEqual([
    { level: 1, deep: { level: 1 } },
    { level: 1, deep: { level: 1 }, more: 'b' },
  ])
})

test('has the fields of an outcome and no others, also if a hook that decides has metadata', async () => {
  const blocking: AnyHook = { name: 'a', beforeTool: () => block('No.', { metadata: { secret: 'x' } }) }
  const [passed, blocked] = [await askIn('beforeTool', []), await askIn('beforeTool', [blocking])]
  expect(Object.keys(blocked.outcome).sort()).toEqual(Object.keys(passed.outcome).sort())
})

test('keeps what else an event has when the arguments of its tool are rewritten', async () => {
  const seen: unknown[] = []
  const hooks: AnyHook[] = [
    { name: 'a', decisions: ['rewrite'], beforeTool: () => rewrite({ command: 'ls' }) },
    { name: 'b', beforeTool: event => void seen.push(event) },
  ]
  await askIn('beforeTool', hooks, { event: { ...EVENTS.beforeTool, mode: 'plan' } as never })
  expect(seen).toEqual([expect.objectContaining({ mode: 'plan' })])
})

test('drops the metadata of an invalid rewrite', async () => {
  const seen: unknown[] = []
  const hooks: AnyHook[] = [
    {
      name: 'a',
      priority: 1,
      decisions: ['rewrite'],
      beforeTurn: () => rewrite(5 as never, { metadata: { from: 'a' } }),
    },
    { name: 'b', priority: 2, beforeTurn: (_, ctx) => void seen.push(ctx.metadata) },
  ]
  await askIn('beforeTurn', hooks)
  expect(seen).toEqual([{}])
})

test('ignores later changes of a rewrite that a hook keeps a reference to', async () => {
  const args = { command: 'ls', options: { long: true } }
  const judged: unknown[] = []
  const hooks: AnyHook[] = [
    { name: 'rewriter', decisions: ['rewrite'], beforeTool: () => rewrite(args) },
    {
      name: 'judge',
      beforeTool: async ({ tool }) => {
        args.command = 'rm -rf /'
        args.options.long = false
        judged.push(tool.command, tool.arguments)
      },
    },
  ]
  const { outcome } = await askIn('beforeTool', hooks)
  expect(judged).toEqual(['ls', { command: 'ls', options: { long: true } }])
  expect(outcome.value).toEqual({ command: 'ls', options: { long: true } })
})

test('ignores later changes of the event by the host', async () => {
  const args: Record<string, unknown> = { command: 'ls' }
  const seen: unknown[] = []
  const hooks = createHooks([
    {
      name: 'late',
      beforeTool: async ({ tool }) => {
        await Promise.resolve()
        seen.push(tool.arguments)
      },
    },
  ])
  const event = { tool: { ...EVENTS.beforeTool.tool, arguments: args } }
  const asked = hooks.run('beforeTool', event, about())
  args['command'] = 'rm'
  expect((await asked).value).toEqual({ command: 'ls' })
  expect(seen).toEqual([{ command: 'ls' }])
  expect(Object.isFrozen(args)).toBe(false)
})

test('returns synchronously if all hooks do', () => {
  const hooks = createHooks([
    { name: 'a', beforeTool: () => undefined },
    { name: 'b', beforeTool: () => pass() },
  ])
  expect(hooks.run('beforeTool', EVENTS.beforeTool, about())).toMatchObject({ decision: 'pass', isRewritten: false })
})

test('accepts an object with methods as a hook, and keeps its this', async () => {
  class Counting {
    readonly name = 'counting'
    calls = 0
    beforeTool(): void {
      this.calls++
    }
  }
  const counting = new Counting()
  await askIn('beforeTool', [counting])
  expect(counting.calls).toBe(1)
})

test('lets an observing hook see the result, and decide nothing', async () => {
  const seen: unknown[] = []
  const hooks: AnyHook[] = [
    {
      name: 'looks',
      priority: 1,
      decisions: ['rewrite'],
      observeOnly: ['beforeTurn'],
      beforeTurn: ({ prompt }) => {
        seen.push(prompt)
        return rewrite('looked')
      },
    },
    { name: 'rewrites', priority: 2, decisions: ['rewrite'], beforeTurn: () => rewrite('rewritten') },
  ]
  const { outcome, lines } = await askIn('beforeTurn', hooks)
  expect([outcome.value, seen]).toEqual(['rewritten', ['rewritten']])
  expect(lines).toEqual([
    'hook looks failed in beforeTurn, which counts as pass: it decided "rewrite", which its "decisions" does not name',
  ])
})

test('freezes the data beside the event', async () => {
  const seen: unknown[] = []
  const hooks: AnyHook[] = [
    {
      name: 'a',
      priority: 1,
      onFailure: 'pass',
      beforeTool: (_, ctx) => {
        Object.assign(ctx, { state: null, metadata: { from: 'a' }, phase: 'afterTool' })
      },
    },
    { name: 'b', priority: 2, beforeTool: (_, ctx) => void seen.push(ctx.state, ctx.metadata, ctx.phase) },
  ]
  await askIn('beforeTool', hooks)
  expect(seen).toEqual([{}, {}, 'beforeTool'])
})

/** The ways to what could be changed. */
function unfrozen(value: unknown, way = 'value'): string[] {
  if (typeof value !== 'object' || value === null) return []
  const own = Object.isFrozen(value) ? [] : [way]
  return [...own, ...Object.entries(value).flatMap(([key, each]) => unfrozen(each, `${way}.${key}`))]
}
