import type { ControlHooks } from './create-hooks.ts'
import { type HookLogger, toStandardError } from './hook.ts'
import { type HookIds, HookTrace, type Traced } from './hook-trace.ts'
import type { HookRun, Outcome } from './outcome.ts'
import { type DecisionOf, type EventOf, PHASE_NAMES, PHASES, type Phase } from './phases.ts'
import { quietly } from './quietly.ts'
import { canIn, impossible } from './start-lines.ts'
import type { ToolArguments } from './tool-call.ts'
import type { Decision } from './verdict.ts'

/** What a host can do in each phase. A phase that is absent has no place in it. */
export type Able = { readonly [P in Phase]?: readonly DecisionOf<P>[] }

/** Everything that there is to decide, for an agent of one's own. */
export const ABLE_OF_ALL: Able = {
  beforeTurn: ['block', 'rewrite', 'inject'],
  afterTurn: ['block', 'rewrite', 'retry'],
  beforeModel: ['block', 'rewrite', 'inject'],
  afterModel: ['block', 'rewrite', 'retry'],
  beforeTool: ['block', 'rewrite', 'inject', 'ask'],
  afterTool: ['block', 'rewrite', 'inject', 'retry'],
}

/** Hooks, and where they are asked. */
export interface HostHooksOptions {
  /** The agent. */
  readonly host: string
  /** Of `createHooks`. */
  readonly hooks: ControlHooks
  /** What can be done there. */
  readonly able: Able
  /** Shorter than what the host itself waits for, behind which it decides alone. Milliseconds. */
  readonly limitMillis?: number | undefined
  /** The plugin whose trace is to say what was decided, if there is one by then. */
  readonly plugin?: (() => Traced | undefined) | undefined
  /** Takes lines for the person. Default: standard error. */
  readonly report?: ((line: string) => void) | undefined
}

/** One try, and so many more. Who asks for a retry for ever would never be answered. */
const RETRIES_LIMIT = 3
const TURNS_LIMIT = 1000

/** What there is of a turn. */
interface TurnOfHooks {
  readonly key: string
  readonly ids: HookIds
  readonly state: Record<string, unknown>
  /** Runs that are only counted: each is the same object each time. */
  readonly passes: Map<HookRun, { readonly phase: Phase; count: number }>
}

/** Hooks in a host: asks them, has their decisions fit what the host can do, and tells the trace. */
export class HostHooks {
  /** The agent. */
  readonly host: string
  readonly #hooks: ControlHooks
  readonly #able: Able
  readonly #limitMillis: number | undefined
  readonly #trace: HookTrace
  readonly #logger: HookLogger
  /** The one that was silent longest first. */
  readonly #turns = new Map<string, TurnOfHooks>()
  #newest: TurnOfHooks | undefined

  constructor({ host, hooks, able, limitMillis, plugin, report = toStandardError }: HostHooksOptions) {
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

  /** Whether any hook looks at this phase: where none does, nothing need be made for it. */
  handles(phase: Phase): boolean {
    return this.#hooks.handles(phase) && this.#able[phase] !== undefined
  }

  /**
   * Asks the hooks. What comes back is what the host can do, and is told to the trace: it only has to be done. Never throws, and
   * never rejects; at once, where all hooks answer at once.
   *
   * @param signal of the host, which may stop what this is about
   * @param canAsk whether there is a person to be asked now, in a host that can
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
   * What an adapter does around `run`. Where that throws or rejects, what the host has handed over could not be read, and counts
   * as a failure of the hooks of this phase.
   *
   * @param blocked what makes the host not do it
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

  /** The turn is over: its state goes, and what was only counted is told. */
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
    // Call after call is of the same turn.
    if (this.#newest?.key === key) return this.#newest
    const { sessionId, turnId } = ids
    const turn = this.#turns.get(key) ?? { key, ids: { sessionId, turnId }, state: {}, passes: new Map() }
    this.#newest = turn
    this.#turns.delete(key)
    this.#turns.set(key, turn)
    if (this.#turns.size > TURNS_LIMIT) this.#forgetOldest()
    return turn
  }

  /** Nobody has ended it; what was counted counts. */
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

  /** What of it the host can do. What it cannot has been said when the hooks were attached. */
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

  /** Where no person can be asked, nobody has said yes. */
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

/** Every phase, so that a table of an agent can be read whole. */
export function tableOf(able: Able): readonly { readonly phase: Phase; readonly decisions: readonly Decision[] }[] {
  return PHASE_NAMES.map(phase => ({ phase, decisions: able[phase] ?? [] }))
}
