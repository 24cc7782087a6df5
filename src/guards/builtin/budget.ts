import { RecentValues, TurnState } from '../context.ts'
import { defineHook, type Hook, type HookContext, PRIORITY } from '../hook.ts'
import type { AfterModel, ModelUsage } from '../phases.ts'
import { type Block, block } from '../verdict.ts'
import type { BuiltinOptions } from './options.ts'
import { AMOUNT, COUNT, checkKeys, checkOptions, FUNCTION, OBJECT, propertiesOf } from './options.ts'

/** The limits of a turn or a session. A missing field means no limit. */
export interface Limits {
  /** Input and output tokens together. */
  readonly tokens?: number | undefined
  /** US dollars. */
  readonly cost?: number | undefined
  /** Tool calls, counted before they run. */
  readonly toolCalls?: number | undefined
  /** Wall-clock time since the hook's first event of the turn or session. */
  readonly minutes?: number | undefined
}

/** Options of `budget`. */
export interface BudgetOptions extends BuiltinOptions {
  /** Limits of each turn. */
  readonly turn?: Limits | undefined
  /** Limits of each session. */
  readonly session?: Limits | undefined
  /** The current time in milliseconds. Default: `Date.now`. */
  readonly now?: (() => number) | undefined
}

interface Usage {
  readonly since: number
  tokens: number
  cost: number
  toolCalls: number
}

const MINUTE = 60_000
const LIMITS = { tokens: COUNT, cost: AMOUNT, toolCalls: COUNT, minutes: AMOUNT }

/**
 * Limits the usage of a turn and a session. Tool calls are counted before they run, so that parallel calls cannot exceed the
 * limit. A repeated check of the same call counts once. Tokens and cost are those the agent reports: the request that exceeds
 * the limit is completed, the next operation is blocked.
 *
 * @throws {TypeError} one line, for an option that is unknown or wrong
 */
export function budget(options: BudgetOptions): Hook<'block'> {
  checkOptions('budget', options, { turn: OBJECT, session: OBJECT, now: FUNCTION })
  const { turn, session, now = Date.now } = options
  for (const [key, limits] of Object.entries({ turn, session }))
    if (limits !== undefined) checkKeys(`budget: ${key}`, limits, LIMITS)
  if (turn === undefined && session === undefined) throw new TypeError('budget: set limits of a turn or a session')
  const make = (): Usage => ({ since: now(), tokens: 0, cost: 0, toolCalls: 0 })
  const turns = new TurnState(make)
  const sessions = new RecentValues<string, Usage>()
  const knownCalls = new TurnState(() => new Set<string>())

  function spentOf(ctx: HookContext): readonly (readonly [string, Usage, Limits])[] {
    const ofTurn = turn && (['turn', turns.of(ctx), turn] as const)
    const ofSession = session && (['session', sessions.of(ctx.sessionId ?? '', make), session] as const)
    return [ofTurn, ofSession].filter(spent => spent !== undefined)
  }
  function over(ctx: HookContext): Block | undefined {
    for (const [what, spent, limits] of spentOf(ctx)) {
      const used = usedUp(spent, limits, now())
      if (used !== undefined) return usedUpBlock(what, used)
    }
    return undefined
  }
  const limits = [turn, session]
  const counted = (['tokens', 'cost'] as const).filter(what => limits.some(each => each?.[what] !== undefined))
  const warned = new Set<string>()
  /** Warns once if the agent reports no tokens or cost: such a limit would never be reached. */
  function warnIfUnreported({ inputTokens, outputTokens, costUsd }: ModelUsage, { host, logger }: HookContext): void {
    const reported = { tokens: inputTokens ?? outputTokens, cost: costUsd }
    for (const what of counted) {
      if (reported[what] !== undefined || warned.has(what)) continue
      warned.add(what)
      logger.warn(`budget: ${host} does not report the ${what} of a request: it does not count towards the limit`)
    }
  }
  const countsUsage = counted.length > 0
  const stopsRequests = countsUsage || limits.some(each => each?.minutes !== undefined)
  return defineHook({
    ...propertiesOf(options, 'budget', PRIORITY.business, 'block'),
    observeOnly: ['afterModel'],
    beforeTool({ tool }, ctx) {
      const calls = knownCalls.of(ctx)
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
        if (error === undefined) warnIfUnreported(usage ?? {}, ctx)
        for (const [, spent] of spentOf(ctx)) {
          spent.tokens += (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)
          spent.cost += usage?.costUsd ?? 0
        }
      },
    }),
  })
}

function usedUp(spent: Usage, limits: Limits, now: number): string | undefined {
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
