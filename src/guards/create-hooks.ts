import { ignoreErrors } from '../contract/foreign.ts'
import type { Chain, Outcome } from './chain.ts'
import { ChainRun, chainOf, DEFAULT_PRIORITY, failClosedReason, NO_DECISION } from './chain.ts'
import type { About } from './context.ts'
import { frozenCopy, isPlain } from './frozen-copy.ts'
import { type AnyHook, decisionsIn } from './hook.ts'
import { type EventOf, PHASE_NAMES, PHASES, type Phase, type ValueOf } from './phases.ts'
import type { Decision } from './verdict.ts'

/** Below 15 s, the shortest time after which a host decides without the hooks. */
const TIME_LIMIT_MILLIS = 10_000

/** Options for all hooks together. */
export interface CreateHooksOptions {
  /** The time limit for all hooks of a phase together, in milliseconds. A shorter limit of the host wins. Default 10 000. */
  readonly timeLimitMillis?: number | undefined
}

/** The static description of a hook. */
export interface HookInfo {
  /** The hook's name. */
  readonly name: string
  /** Hooks with a lower priority run first in `before…` phases. */
  readonly priority: number
  /** The phases that the hook implements. */
  readonly phases: readonly Phase[]
  /** All decisions of the hook in any phase, beside `pass`. */
  readonly decisions: readonly Decision[]
  /** The decisions of the hook by phase. */
  readonly decisionsByPhase: { readonly [P in Phase]?: readonly Decision[] }
  /** The decision if the hook fails. */
  readonly onFailure: 'pass' | 'block'
  /** The hook does not set `onFailure`. */
  readonly isFailurePolicyDefault: boolean
}

/** Validated hooks, independent of any host. */
export interface ControlHooks {
  /** Sorted by priority. */
  readonly hooks: readonly HookInfo[]
  /** Returns true if any hook has this phase. */
  handles(phase: Phase): boolean
  /**
   * Runs the hooks of a phase: synchronously if all of them answer synchronously. Never throws, never rejects.
   *
   * @param limitMillis the host's own time limit
   */
  run<P extends Phase>(
    phase: P,
    event: EventOf<P>,
    about: About,
    limitMillis?: number,
  ): Outcome<P> | Promise<Outcome<P>>
}

function isLimit(millis: number | undefined): millis is number {
  return millis !== undefined && millis > 0
}

/**
 * Validates hooks at setup, so that a mistake is found before a tool runs.
 *
 * @throws {TypeError} one line, if a hook is invalid
 */
export function createHooks(hooks: readonly AnyHook[], options: CreateHooksOptions = {}): ControlHooks {
  const names = new Set<string>()
  for (const hook of hooks) {
    const trouble = problemOf(hook, names)
    if (trouble !== undefined) throw new TypeError(`createHooks: ${trouble}`)
    names.add(hook.name)
  }
  const { timeLimitMillis = TIME_LIMIT_MILLIS } = options
  if (!isLimit(timeLimitMillis)) throw new TypeError('createHooks: timeLimitMillis is a number of milliseconds above 0')
  const infos = hooks.map(describeHook).sort((a, b) => a.priority - b.priority)
  const chains = Object.fromEntries(PHASE_NAMES.map(phase => [phase, chainOf(phase, hooks)])) as Record<Phase, Chain>
  return {
    hooks: infos,
    handles: phase => chains[phase].length > 0,
    run(phase, event, about, limitMillis) {
      const limit = isLimit(limitMillis) ? Math.min(limitMillis, timeLimitMillis) : timeLimitMillis
      const frozen = ignoreErrors(() => {
        const copy = frozenCopy(event)
        PHASES[phase].valueOf(copy)
        return copy
      })
      if (frozen === undefined) return unreadableOutcome(infos, phase, event, about)
      return new ChainRun(phase, chains[phase], frozen, about, limit).run()
    },
  }
}

function unreadableOutcome<P extends Phase>(
  hooks: readonly HookInfo[],
  phase: P,
  event: EventOf<P>,
  { host, logger }: About,
): Outcome<P> {
  const closed = hooks.find(hook => hook.phases.includes(phase) && hook.onFailure === 'block')
  const detail = `the event of ${host} in ${phase} cannot be read`
  const counted = closed === undefined ? 'pass' : 'block'
  ignoreErrors(() => logger.warn(`${detail}: the hooks did not run, which counts as ${counted}`))
  return {
    ...NO_DECISION,
    ...(closed && { decision: 'block', by: closed.name, reason: failClosedReason(closed.name), detail }),
    value: ignoreErrors(() => PHASES[phase].valueOf(event)) as ValueOf<P>,
    isRewritten: false,
    injected: [],
    runs: [],
  }
}

const DECISIONS: ReadonlySet<unknown> = new Set<Decision>(['pass', 'block', 'rewrite', 'inject', 'retry', 'ask'])

function problemOf(hook: AnyHook, names: ReadonlySet<string>): string | undefined {
  if (typeof hook !== 'object' || hook === null || typeof hook.name !== 'string' || hook.name === '')
    return 'a hook is an object with a name'
  if (names.has(hook.name)) return `two hooks are called "${hook.name}": give one of them another name`
  if (!PHASE_NAMES.some(phase => hook[phase] !== undefined))
    return `the hook "${hook.name}" has no phase: ${PHASE_NAMES.join(', ')}`
  for (const phase of PHASE_NAMES) {
    if (hook[phase] !== undefined && typeof hook[phase] !== 'function')
      return `${phase} of the hook "${hook.name}" is no function`
  }
  if (hook.priority !== undefined && !Number.isFinite(hook.priority))
    return `the priority of the hook "${hook.name}" is no number`
  // Rejected, because a misspelt `onFailure` would let everything pass.
  if (hook.onFailure !== undefined && hook.onFailure !== 'pass' && hook.onFailure !== 'block')
    return `onFailure of the hook "${hook.name}" is "pass" or "block"`
  if (hook.timeLimitMillis !== undefined && !isLimit(hook.timeLimitMillis))
    return `timeLimitMillis of the hook "${hook.name}" is a number of milliseconds above 0`
  const { decisions, observeOnly } = hook
  const phases: readonly unknown[] = PHASE_NAMES
  if (observeOnly !== undefined && !(Array.isArray(observeOnly) && observeOnly.every(each => phases.includes(each))))
    return `observeOnly of the hook "${hook.name}" is a list of ${PHASE_NAMES.join(', ')}`
  if (decisions !== undefined && !areDecisions(decisions))
    return `decisions of the hook "${hook.name}" is a list of ${[...DECISIONS].join(', ')}, or such a list for each phase`
  return undefined
}

function areDecisions(decisions: unknown): boolean {
  const isList = (list: unknown): boolean => Array.isArray(list) && list.every(each => DECISIONS.has(each))
  const phases: readonly string[] = PHASE_NAMES
  const isOfPhase = ([phase, list]: readonly [string, unknown]): boolean =>
    phases.includes(phase) && (list === undefined || isList(list))
  return isList(decisions) || (isPlain(decisions) && Object.entries(decisions).every(isOfPhase))
}

function describeHook(hook: AnyHook): HookInfo {
  const phases = PHASE_NAMES.filter(phase => hook[phase] !== undefined)
  const decisionsByPhase = Object.fromEntries(phases.map(phase => [phase, decisionsIn(hook, phase)]))
  return {
    name: hook.name,
    priority: hook.priority ?? DEFAULT_PRIORITY,
    phases,
    decisions: [...new Set(Object.values(decisionsByPhase).flat())],
    decisionsByPhase,
    onFailure: hook.onFailure ?? 'pass',
    isFailurePolicyDefault: hook.onFailure === undefined,
  }
}
