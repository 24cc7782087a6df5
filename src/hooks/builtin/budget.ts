import { defineHook, type Hook, type HookContext, PRIORITY } from '../hook.ts'
import type { AfterModel, ModelUsage } from '../phases.ts'
import { type Block, block } from '../verdict.ts'
import { SessionMemory, TurnMemory } from './memory.ts'
import { type Allowed, AMOUNT, type BuiltinOptions, COUNT, checkKeys, checkOptions, FUNCTION } from './options.ts'

/** What may be used up. What is not named has no limit. */
export interface Limits {
  /** Read and written together. */
  readonly tokens?: number | undefined
  /** US dollars. */
  readonly cost?: number | undefined
  /** Calls of tools, counted before they run. */
  readonly toolCalls?: number | undefined
  /** By the clock, from when the hook first sees something of it. */
  readonly minutes?: number | undefined
}

/** What may be spent. */
export interface BudgetOptions extends BuiltinOptions {
  /** Of each turn. */
  readonly turn?: Limits | undefined
  /** Of each session. */
  readonly session?: Limits | undefined
  /** Milliseconds. Default: `Date.now`. */
  readonly now?: (() => number) | undefined
}

interface Spent {
  readonly since: number
  tokens: number
  cost: number
  toolCalls: number
}

const MINUTE = 60_000
const LIMITS = { tokens: COUNT, cost: AMOUNT, toolCalls: COUNT, minutes: AMOUNT }
const HOLDER: Allowed = { means: 'an object', is: value => typeof value === 'object' && value !== null }

/**
 * An end to what a turn and a session may take. Calls of tools are counted before they run, so that of many at once no more pass
 * than may; a call about which the hooks are asked again counts once. Tokens and cost are what the agent tells of its requests:
 * the request that goes over the limit is made, the next thing is not.
 *
 * @throws {TypeError} one line, for an option that is unknown or wrong
 */
export function budget(options: BudgetOptions): Hook<'block'> {
  checkOptions('budget', options, { turn: HOLDER, session: HOLDER, now: FUNCTION })
  const { turn, session, now = Date.now } = options
  for (const [key, limits] of Object.entries({ turn, session }))
    if (limits !== undefined) checkKeys(`budget: ${key}`, limits, LIMITS)
  if (turn === undefined && session === undefined) throw new TypeError('budget: say what a turn or a session may take')
  const make = (): Spent => ({ since: now(), tokens: 0, cost: 0, toolCalls: 0 })
  const turns = new TurnMemory(make)
  const sessions = new SessionMemory(make)
  const counted = new TurnMemory(() => new Set<string>())

  function spentOf(ctx: HookContext): readonly (readonly [string, Spent, Limits])[] {
    return [
      ...(turn === undefined ? [] : [['turn', turns.of(ctx), turn] as const]),
      ...(session === undefined ? [] : [['session', sessions.of(ctx), session] as const]),
    ]
  }
  function over(ctx: HookContext): Block | undefined {
    for (const [what, spent, limits] of spentOf(ctx)) {
      const used = usedUp(spent, limits, now())
      if (used !== undefined) return usedUpBlock(what, used)
    }
    return undefined
  }
  const limits = [turn, session]
  const uncounted = new Uncounted(limits)
  const countsUsage = limits.some(each => each?.tokens !== undefined || each?.cost !== undefined)
  const stopsRequests = countsUsage || limits.some(each => each?.minutes !== undefined)
  return defineHook({
    name: options.name ?? 'budget',
    priority: options.priority ?? PRIORITY.business,
    onFailure: options.onFailure ?? 'block',
    looksIn: ['afterModel'],
    beforeTool({ tool }, ctx) {
      const calls = counted.of(ctx)
      if (tool.id !== undefined && calls.has(tool.id)) return undefined
      const spent = spentOf(ctx)
      const used = over(ctx)
      if (used !== undefined) return used
      for (const [what, { toolCalls }, { toolCalls: most }] of spent)
        if (most !== undefined && toolCalls >= most) return usedUpBlock(what, `${most} of ${most} calls of tools`)
      for (const [, each] of spent) each.toolCalls++
      if (tool.id !== undefined) calls.add(tool.id)
      return undefined
    },
    ...(stopsRequests && { beforeModel: (_: unknown, ctx: HookContext) => over(ctx) }),
    ...(session !== undefined && { beforeTurn: (_: unknown, ctx: HookContext) => over(ctx) }),
    ...(countsUsage && {
      afterModel({ usage, error }: Pick<AfterModel, 'usage' | 'error'>, ctx: HookContext): undefined {
        if (error === undefined) uncounted.say(usage, ctx)
        for (const [, spent] of spentOf(ctx)) {
          spent.tokens += (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)
          spent.cost += usage?.costUsd ?? 0
        }
      },
    }),
  })
}

/** A limit that is never reached guards nothing: what an agent does not tell is said, once. */
class Uncounted {
  readonly #limited: readonly ('tokens' | 'cost')[]
  readonly #said = new Set<string>()

  constructor(limits: readonly (Limits | undefined)[]) {
    const all = ['tokens', 'cost'] as const
    this.#limited = all.filter(what => limits.some(each => each?.[what] !== undefined))
  }

  say(usage: ModelUsage | undefined, { host, logger }: HookContext): void {
    const { inputTokens, outputTokens, costUsd } = usage ?? {}
    const told = { tokens: inputTokens ?? outputTokens, cost: costUsd }
    for (const what of this.#limited) {
      if (told[what] !== undefined || this.#said.has(what)) continue
      this.#said.add(what)
      logger.warn(`budget: ${host} has not told the ${what} of a request: it does not count towards the limit`)
    }
  }
}

function usedUp(spent: Spent, limits: Limits, now: number): string | undefined {
  const minutes = (now - spent.since) / MINUTE
  if (limits.tokens !== undefined && spent.tokens >= limits.tokens) return `${spent.tokens} of ${limits.tokens} tokens`
  if (limits.cost !== undefined && spent.cost >= limits.cost)
    return `${spent.cost.toFixed(2)} of ${limits.cost.toFixed(2)} US dollars`
  if (limits.minutes !== undefined && minutes >= limits.minutes)
    return `${Math.floor(minutes)} of ${limits.minutes} minutes`
  return undefined
}

function usedUpBlock(what: string, used: string): Block {
  const reason = `The budget of this ${what} is used up (${used}). Stop here, and say what is done and what is left.`
  return block(reason, { detail: `${what}: ${used}` })
}
