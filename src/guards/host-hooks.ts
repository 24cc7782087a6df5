import { ignoreErrors } from '../contract/foreign.ts'
import type { RunningPlugins } from '../contract/running-plugins.ts'
import { type HookRun, NO_DECISION, type Outcome } from './chain.ts'
import { RecentValues } from './context.ts'
import type { ControlHooks, HookInfo } from './create-hooks.ts'
import { type DecisionsByPhase, type HookLogger, toStandardError } from './hook.ts'
import { type DecisionOf, type EventOf, PHASE_NAMES, PHASES, type Phase } from './phases.ts'
import type { ToolArguments } from './tool-call.ts'
import type { Decision } from './verdict.ts'

/** The decisions that a host supports in each phase. A missing phase does not exist in the host. */
export type Capabilities = { readonly [P in Phase]?: readonly DecisionOf<P>[] }

export const ALL_CAPABILITIES: Capabilities = Object.fromEntries(
  PHASE_NAMES.map(phase => [phase, [...PHASES[phase].decisions].filter(decision => decision !== 'pass')]),
)

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

const RETRIES_LIMIT = 3

interface HookTurn {
  readonly key: string
  readonly ids: HookIds
  readonly state: Record<string, unknown>
  /** Fast passes that are only counted. Each is the same object every time. */
  readonly passes: Map<HookRun, { readonly phase: Phase; count: number }>
}

/** Runs hooks in a host, restricts their decisions to those that the host supports, and traces them. */
export class HostHooks {
  readonly host: string
  readonly #options: HostHooksOptions
  readonly #logger: HookLogger
  readonly #turns = new RecentValues<string, HookTurn>(turn => this.#finishTurn(turn, turn.ids))
  #newest: HookTurn | undefined

  constructor(options: HostHooksOptions) {
    const { host, hooks, capabilities, report = toStandardError } = options
    this.host = host
    this.#options = options
    const reportLine = (line: string): void => void ignoreErrors(() => report(`hookspan: ${line}`))
    const log = (line: string): void => reportLine(`${host}: ${line}`)
    this.#logger = { info: log, warn: log }
    for (const line of unsupportedDecisions(hooks.hooks, host, capabilities)) reportLine(line)
  }

  /** Returns true if any hook needs this phase. If not, the caller can skip building the event. */
  handles(phase: Phase): boolean {
    return this.#options.hooks.handles(phase) && this.#options.capabilities[phase] !== undefined
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
      traceparent: () => ignoreErrors(() => this.#traceparent(ids)),
      signal,
    }
    const outcome = this.#options.hooks.run(phase, event, about, this.#options.limitMillis)
    if (outcome instanceof Promise) return outcome.then(each => this.#finishRun(phase, ids, event, each, turn, canAsk))
    return this.#finishRun(phase, ids, event, outcome, turn, canAsk)
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

  endTurn(ids: HookIds): void {
    const turn = this.#turns.remove(keyOf(ids))
    if (turn !== undefined) this.#finishTurn(turn, ids)
  }

  #finishTurn(turn: HookTurn, ids: HookIds): void {
    if (this.#newest === turn) this.#newest = undefined
    for (const [run, { phase, count }] of turn.passes) {
      const payload = { ...commonFields(phase, ids, run), verdict: 'pass', count }
      ignoreErrors(() => this.#options.plugin?.()?.emitUntyped('post_control_hook', payload))
    }
  }

  #turnOf(ids: HookIds): HookTurn {
    const key = keyOf(ids)
    if (this.#newest?.key === key) return this.#newest
    const { sessionId, turnId } = ids
    this.#newest = this.#turns.of(key, () => ({ key, ids: { sessionId, turnId }, state: {}, passes: new Map() }))
    return this.#newest
  }

  #finishRun<P extends Phase>(
    phase: P,
    ids: HookIds,
    event: EventOf<P>,
    chained: Outcome<P>,
    turn: HookTurn,
    canAsk: boolean,
  ): Outcome<P> {
    const outcome = this.#restrict(phase, event, chained, canAsk)
    for (const run of chained.runs) {
      if (run.startAt === 0) {
        const counted = turn.passes.get(run)
        if (counted === undefined) turn.passes.set(run, { phase, count: 1 })
        else counted.count++
      } else {
        const action = this.#actionOf(phase, run, outcome)
        const runsWith = phase === 'beforeTool' && action === 'rewritten' ? outcome.value : undefined
        ignoreErrors(() => this.#emitRun(phase, ids, run, action, runsWith as ToolArguments | undefined))
      }
    }
    return outcome
  }

  #restrict<P extends Phase>(phase: P, event: EventOf<P>, chained: Outcome<P>, canAsk: boolean): Outcome<P> {
    let outcome = chained
    if (chained.decision === 'ask' && !(canAsk && this.#supports(phase, 'ask'))) {
      const reason = `The hook ${chained.by} wants to ask the user, which is not possible here: ${chained.reason}`
      outcome = { ...outcome, decision: 'block', reason, detail: `${this.host} cannot ask the user for a hook` }
    }
    const isRefused =
      (outcome.decision === 'retry' && !this.#mayRetry(phase, event, outcome)) ||
      (outcome.decision === 'block' && !this.#supports(phase, 'block'))
    if (isRefused) outcome = { ...outcome, ...NO_DECISION }
    if (outcome.isRewritten && !this.#supports(phase, 'rewrite'))
      outcome = { ...outcome, isRewritten: false, value: PHASES[phase].valueOf(event) }
    if (outcome.injected.length > 0 && !this.#supports(phase, 'inject')) outcome = { ...outcome, injected: [] }
    return outcome
  }

  #mayRetry(phase: Phase, event: unknown, { by }: Outcome<Phase>): boolean {
    if (!this.#supports(phase, 'retry')) return false
    const { attempt = 0 } = event as { readonly attempt?: number }
    if (attempt < RETRIES_LIMIT) return true
    this.#logger.warn(
      `hook ${by} wanted a retry in ${phase} for the ${attempt + 1}th time; ${RETRIES_LIMIT} are made at most`,
    )
    return false
  }

  #supports(phase: Phase, decision: Decision): boolean {
    return supports(this.#options.capabilities, phase, decision)
  }

  /** The traceparent of the span that the hooks run for. Costly: queued events are processed first. */
  #traceparent({ sessionId, turnId, toolCallId }: HookIds): string | undefined {
    const ids = Object.entries({ session_id: sessionId, turn_id: turnId, tool_call_id: toolCallId })
    return this.#options.plugin?.()?.traceparent(Object.fromEntries(ids.filter(([, id]) => id !== undefined)))
  }

  /** Only runs that decided, failed or were slow get a span. */
  #emitRun(phase: Phase, ids: HookIds, run: HookRun, action: string, args?: ToolArguments): void {
    const plugin = this.#options.plugin?.()
    if (plugin === undefined) return
    const about = commonFields(phase, ids, run)
    plugin.emitUntyped('pre_control_hook', about, { at: run.startAt })
    const payload = {
      ...about,
      verdict: run.verdict,
      action,
      reason: run.reason,
      detail: run.detail,
      rewritten_fields: run.rewrittenFields.length === 0 ? undefined : run.rewrittenFields,
      rewritten_args: args,
      failure: run.failure,
      failure_message: run.failureMessage,
      duration_ms: run.durationMillis,
    }
    plugin.emitUntyped('post_control_hook', payload, { at: run.startAt + run.durationMillis })
  }

  #actionOf(phase: Phase, run: HookRun, outcome: Outcome<Phase>): string {
    const isDecider = outcome.by === run.hook
    switch (run.verdict) {
      case 'rewrite':
        return outcome.decision !== 'block' && this.#supports(phase, 'rewrite') ? 'rewritten' : 'none'
      case 'inject':
        return outcome.decision !== 'block' && this.#supports(phase, 'inject') ? 'injected' : 'none'
      case 'pass':
        return 'ran'
      default:
        return isDecider ? ACTIONS[outcome.decision] : run.verdict === 'failed' ? 'ran' : 'none'
    }
  }
}

const ACTIONS = { pass: 'none', block: 'blocked', ask: 'asked', retry: 'retried' } as const

function keyOf({ sessionId = '', turnId = '' }: HookIds): string {
  return `${sessionId}\n${turnId}`
}

const LAST_SECURITY_PRIORITY = 99

function unsupportedDecisions(hooks: readonly HookInfo[], host: string, able: DecisionsByPhase): string[] {
  return hooks.flatMap(hook => {
    const reached = hook.phases.filter(phase => able[phase] !== undefined)
    const missing = hook.phases.filter(phase => able[phase] === undefined)
    const lines = missing.map(phase => `hook ${hook.name} never runs in ${phase}: ${host} does not have this phase`)
    for (const decision of hook.decisions) {
      const meant = reached.filter(
        phase => PHASES[phase].decisions.has(decision) && supports(hook.decisionsByPhase, phase, decision),
      )
      const cannot = meant.filter(phase => !supports(able, phase, decision))
      for (const instead of new Set(cannot.map(phase => fallbackOf(decision, able, phase)))) {
        const there = cannot.filter(phase => fallbackOf(decision, able, phase) === instead)
        lines.push(`hook ${hook.name} cannot ${decision} in ${there.join(', ')} of ${host}: ${instead}`)
      }
    }
    const open = reached.filter(phase => !supports(able, phase, 'block'))
    if (hook.onFailure === 'block' && !hook.decisions.includes('block') && open.length > 0)
      lines.push(
        `hook ${hook.name} cannot block in ${open.join(', ')} of ${host}: its failure lets the operation continue`,
      )
    if (hook.priority <= LAST_SECURITY_PRIORITY && hook.isFailurePolicyDefault && hook.decisions.length > 0)
      lines.push(
        `hook ${hook.name} has a security priority, and its failure lets everything pass: set onFailure to "block", or to "pass" if intended`,
      )
    return lines
  })
}

const FALLBACKS: { readonly [D in Decision]?: string } = {
  rewrite: 'the value stays as it is',
  inject: 'the text is not injected',
  retry: 'it is not retried',
}

function fallbackOf(decision: Decision, able: DecisionsByPhase, phase: Phase): string {
  if (decision === 'ask' && supports(able, phase, 'block')) return 'it blocks instead'
  return FALLBACKS[decision] ?? 'the operation continues'
}

function supports(able: DecisionsByPhase, phase: Phase, decision: Decision): boolean {
  return able[phase]?.includes(decision) === true
}

/** The ids of the operation that hooks run for. They are the host's own, the same as in its trace. */
export interface HookIds {
  /** The session id. */
  readonly sessionId?: string | undefined
  /** The turn id. */
  readonly turnId?: string | undefined
  /** The tool call id, in `beforeTool` and `afterTool`. */
  readonly toolCallId?: string | undefined
  /** The request id, in `beforeModel` and `afterModel`. */
  readonly requestId?: string | undefined
}

let runCount = 0

/** The subset of a plugin that tracing hooks needs. */
export interface TracedPlugin {
  /** Like `emitUntyped` of the plugin. */
  emitUntyped(hook: string, payload: unknown, meta?: { readonly at?: number }): unknown
  /** Like `traceparent` of the plugin. */
  traceparent(ids: {
    readonly session_id?: string
    readonly turn_id?: string
    readonly tool_call_id?: string
  }): string | undefined
}

function commonFields(phase: Phase, ids: HookIds, run: HookRun): object {
  return {
    session_id: ids.sessionId,
    turn_id: ids.turnId,
    tool_call_id: ids.toolCallId,
    api_request_id: ids.requestId,
    hook_run_id: `hook ${process.pid} ${++runCount}`,
    hook_name: run.hook,
    hook_phase: PHASES[phase].word,
    hook_priority: run.priority,
    hook_judges: run.judges,
  }
}

/** Options of `runHooks`. */
export interface RunHooksOptions extends Pick<HostHooksOptions, 'limitMillis' | 'report'> {
  /** The name of your agent, as in its trace. */
  readonly host: string
  /**
   * The plugin that traces the agent, or a function that returns it. Default: the plugin that `createPlugin({ host })` or
   * `register` made in this process for the same host. Without one, a single line reports that decisions are not traced. A
   * function that returns undefined disables tracing without that line.
   */
  readonly plugin?: TracedPlugin | (() => TracedPlugin | undefined) | undefined
}

/**
 * Runs hooks in a custom agent. Call `run` before each operation and apply its outcome:
 *
 * @example
 * const plugin = createPlugin({ host: 'my-agent' })
 * const hooks = runHooks(createHooks([noRm]), { host: 'my-agent' })
 * const ids = { sessionId, turnId, toolCallId }
 * const said = await hooks.run('beforeTool', ids, { tool: toolCallOf({ name, arguments: args }) })
 * if (said.decision === 'block') return said.reason
 * const result = await tool(said.value)
 * hooks.endTurn(ids)
 */
export function runHooks(hooks: HostHooksOptions['hooks'], options: RunHooksOptions): HostHooks {
  return new HostHooks({ ...options, plugin: pluginSource(options), hooks, capabilities: ALL_CAPABILITIES })
}

function pluginSource({ host, plugin, report = toStandardError }: RunHooksOptions): () => TracedPlugin | undefined {
  if (plugin !== undefined) return typeof plugin === 'function' ? plugin : () => plugin
  const advice = 'no plugin of this host runs in this process; create one first, by'
  const line = `hookspan: ${host}: decisions of hooks are not traced: ${advice} createPlugin({ host: '${host}' })`
  let isReported = false
  return () => {
    const found = (globalThis as { [PLUGINS]?: RunningPlugins })[PLUGINS]?.get(host)
    if (found?.isOver() === false) return found.plugin as TracedPlugin
    if (!isReported) ignoreErrors(() => report(line))
    isReported = true
    return undefined
  }
}

const PLUGINS = Symbol.for('hookspan.plugins')
