import type { ControlHooks } from './create-hooks.ts'
import { type HookLogger, toStandardError } from './hook.ts'
import { type HookIds, HookTrace, type TracedPlugin } from './hook-trace.ts'
import type { HookRun, Outcome } from './outcome.ts'
import { type DecisionOf, type EventOf, PHASE_NAMES, PHASES, type Phase } from './phases.ts'
import { quietly } from './quietly.ts'
import { canIn, impossible } from './start-lines.ts'
import type { ToolArguments } from './tool-call.ts'
import type { Decision } from './verdict.ts'

/** The decisions that a host supports in each phase. A missing phase does not exist in the host. */
export type Capabilities = { readonly [P in Phase]?: readonly DecisionOf<P>[] }

/** All decisions, for a custom agent. */
export const ALL_CAPABILITIES: Capabilities = {
  beforeTurn: ['block', 'rewrite', 'inject'],
  afterTurn: ['block', 'rewrite', 'retry'],
  beforeModel: ['block', 'rewrite', 'inject'],
  afterModel: ['block', 'rewrite', 'retry'],
  beforeTool: ['block', 'rewrite', 'inject', 'ask'],
  afterTool: ['block', 'rewrite', 'inject', 'retry'],
}

/** Options of `HostHooks`. */
export interface HostHooksOptions {
  /** The agent. */
  readonly host: string
  /** The result of `createHooks`. */
  readonly hooks: ControlHooks
  /** The decisions that the host supports. */
  readonly capabilities: Capabilities
  /**
   * The time limit in milliseconds. Must be shorter than the host's own limit, after which the host decides without the hooks.
   */
  readonly limitMillis?: number | undefined
  /** Returns the plugin that traces decisions, if there is one by then. */
  readonly plugin?: (() => TracedPlugin | undefined) | undefined
  /** Receives lines for the user. Default: standard error. */
  readonly report?: ((line: string) => void) | undefined
}

/** The number of retries after the first attempt. Prevents an endless loop if a hook always asks for a retry. */
const RETRIES_LIMIT = 3
const TURNS_LIMIT = 1000

interface TurnOfHooks {
  readonly key: string
  readonly ids: HookIds
  readonly state: Record<string, unknown>
  /** Fast passes that are only counted. Each is the same object every time. */
  readonly passes: Map<HookRun, { readonly phase: Phase; count: number }>
}

/** Runs hooks in a host, restricts their decisions to those that the host supports, and traces them. */
export class HostHooks {
  /** The agent. */
  readonly host: string
  readonly #hooks: ControlHooks
  readonly #able: Capabilities
  readonly #limitMillis: number | undefined
  readonly #trace: HookTrace
  readonly #logger: HookLogger
  /** Least recently used first. */
  readonly #turns = new Map<string, TurnOfHooks>()
  #newest: TurnOfHooks | undefined

  constructor({ host, hooks, capabilities: able, limitMillis, plugin, report = toStandardError }: HostHooksOptions) {
    this.host = host
    this.#hooks = hooks
    this.#able = able
    this.#limitMillis = limitMillis
    this.#trace = new HookTrace(plugin)
    const told = (line: string): void => void quietly(() => report(`hookspan: ${line}`))
    const say = (line: string): void => told(`${host}: ${line}`)
    this.#logger = { info: say, warn: say }
    for (const line of impossible(hooks.hooks, host, able)) told(line)
  }

  /** Returns true if any hook needs this phase. If not, the caller can skip building the event. */
  handles(phase: Phase): boolean {
    return this.#hooks.handles(phase) && this.#able[phase] !== undefined
  }

  /**
   * Runs the hooks and traces them. The host supports every returned decision and only has to apply it. Never throws, never
   * rejects; synchronous if all hooks answer synchronously.
   *
   * @param signal the host's signal, aborted if it stops the operation
   * @param canAsk whether a user can be asked now, in a host that supports `ask`
   */
  run<P extends Phase>(
    phase: P,
    ids: HookIds,
    event: EventOf<P>,
    signal?: AbortSignal,
    canAsk = true,
  ): Outcome<P> | Promise<Outcome<P>> {
    const turn = this.#turnOf(ids)
    const about = {
      host: this.host,
      sessionId: ids.sessionId,
      turnId: ids.turnId,
      state: turn.state,
      logger: this.#logger,
      traceparent: () => quietly(() => this.#trace.traceparent(ids)),
      signal,
    }
    const outcome = this.#hooks.run(phase, event, about, this.#limitMillis)
    if (outcome instanceof Promise) return outcome.then(each => this.#done(phase, ids, event, each, turn, canAsk))
    return this.#done(phase, ids, event, outcome, turn, canAsk)
  }

  /**
   * Wraps the code of an adapter around `run`. If it throws or rejects, the host's data could not be read, which counts as a
   * failure of the hooks of this phase.
   *
   * @param blocked makes the host skip the operation
   */
  async guard<Answer>(
    phase: Phase,
    act: () => Answer | Promise<Answer>,
    blocked: (reason: string) => Answer | Promise<Answer>,
  ): Promise<Answer | undefined> {
    try {
      return await act()
    } catch {
      const nothing = undefined as unknown as EventOf<Phase>
      const { decision, reason = '' } = await this.run(phase, {}, nothing)
      return decision === 'block' ? blocked(reason) : undefined
    }
  }

  /** Ends the turn: discards its state and emits the counts. */
  endTurn(ids: HookIds): void {
    const key = keyOf(ids)
    const turn = this.#turns.get(key)
    if (turn === undefined) return
    this.#turns.delete(key)
    if (this.#newest === turn) this.#newest = undefined
    for (const [run, { phase, count }] of turn.passes) quietly(() => this.#trace.count(phase, ids, run, count))
  }

  #turnOf(ids: HookIds): TurnOfHooks {
    const key = keyOf(ids)
    // Fast path: consecutive calls usually belong to the same turn.
    if (this.#newest?.key === key) return this.#newest
    const { sessionId, turnId } = ids
    const turn = this.#turns.get(key) ?? { key, ids: { sessionId, turnId }, state: {}, passes: new Map() }
    this.#newest = turn
    this.#turns.delete(key)
    this.#turns.set(key, turn)
    if (this.#turns.size > TURNS_LIMIT) this.#forgetOldest()
    return turn
  }

  /** Evicts a turn that was never ended. Its counts are still emitted. */
  #forgetOldest(): void {
    for (const { ids } of this.#turns.values()) {
      this.endTurn(ids)
      return
    }
  }

  #done<P extends Phase>(
    phase: P,
    ids: HookIds,
    event: EventOf<P>,
    asked: Outcome<P>,
    turn: TurnOfHooks,
    canAsk: boolean,
  ): Outcome<P> {
    const outcome = this.#fitting(phase, event, asked, canAsk)
    for (const run of asked.runs) {
      if (run.startAt === 0) {
        const counted = turn.passes.get(run)
        if (counted === undefined) turn.passes.set(run, { phase, count: 1 })
        else counted.count++
      } else {
        const action = this.#actionOf(phase, run, outcome)
        const runsWith = phase === 'beforeTool' && action === 'rewritten' ? outcome.value : undefined
        quietly(() => this.#trace.tell(phase, ids, run, action, runsWith as ToolArguments | undefined))
      }
    }
    return outcome
  }

  /** Restricts an outcome to the decisions of the host. Unsupported ones were reported when the hooks were attached. */
  #fitting<P extends Phase>(phase: P, event: EventOf<P>, asked: Outcome<P>, canAsk: boolean): Outcome<P> {
    let outcome = asked
    if (asked.decision === 'ask' && !(canAsk && this.#can(phase, 'ask')))
      outcome = { ...outcome, ...this.#unasked(asked) }
    if (outcome.decision === 'retry' && !this.#mayRetry(phase, event, outcome)) outcome = { ...outcome, ...DO_NOTHING }
    if (outcome.decision === 'block' && !this.#can(phase, 'block')) outcome = { ...outcome, ...DO_NOTHING }
    if (outcome.isRewritten && !this.#can(phase, 'rewrite'))
      outcome = { ...outcome, isRewritten: false, value: PHASES[phase].valueOf(event) }
    if (outcome.injected.length > 0 && !this.#can(phase, 'inject')) outcome = { ...outcome, injected: [] }
    return outcome
  }

  /** If no user can be asked, an ask becomes a block. */
  #unasked({ by, reason }: Outcome<Phase>): Partial<Outcome<Phase>> {
    return {
      decision: 'block',
      reason: `The hook ${by} wants a person to be asked, which is not possible here: ${reason}`,
      detail: `${this.host} cannot ask a person for a hook`,
    }
  }

  #mayRetry(phase: Phase, event: unknown, { by }: Outcome<Phase>): boolean {
    if (!this.#can(phase, 'retry')) return false
    const { attempt = 0 } = event as { readonly attempt?: number }
    if (attempt < RETRIES_LIMIT) return true
    this.#logger.warn(
      `hook ${by} wanted a retry in ${phase} for the ${attempt + 1}th time; ${RETRIES_LIMIT} are made at most`,
    )
    return false
  }

  #can(phase: Phase, decision: Decision): boolean {
    return canIn(this.#able, phase, decision)
  }

  #actionOf(phase: Phase, run: HookRun, outcome: Outcome<Phase>): string {
    const isDecider = outcome.by === run.hook
    switch (run.verdict) {
      case 'rewrite':
        return outcome.decision !== 'block' && this.#can(phase, 'rewrite') ? 'rewritten' : 'none'
      case 'inject':
        return outcome.decision !== 'block' && this.#can(phase, 'inject') ? 'injected' : 'none'
      case 'pass':
        return 'ran'
      default:
        return isDecider ? ACTIONS[outcome.decision] : run.verdict === 'failed' ? 'ran' : 'none'
    }
  }
}

const DO_NOTHING = {
  decision: 'pass',
  by: undefined,
  reason: undefined,
  detail: undefined,
  delayMillis: undefined,
} as const

const ACTIONS = { pass: 'none', block: 'blocked', ask: 'asked', retry: 'retried' } as const

function keyOf({ sessionId = '', turnId = '' }: HookIds): string {
  return `${sessionId}\n${turnId}`
}

/** Lists every phase, also those without decisions. */
export function tableOf(
  able: Capabilities,
): readonly { readonly phase: Phase; readonly decisions: readonly Decision[] }[] {
  return PHASE_NAMES.map(phase => ({ phase, decisions: able[phase] ?? [] }))
}
