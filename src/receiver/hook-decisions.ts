import { LimitedMap } from '../agents/base/limited-map.ts'
import type { GuardProtocol, GuardRequest, HookReply } from '../agents/guard-protocol.ts'
import { GUARD_PROTOCOLS } from '../agents/guard-protocols.ts'
import type { HostEvent } from '../agents/host-event.ts'
import { ignoreErrors, kindOf } from '../contract/foreign.ts'
import type { Outcome } from '../guards/chain.ts'
import { HostHooks } from '../guards/host-hooks.ts'
import type { ControlHooks, HookIds } from '../guards/index.ts'
import type { Phase } from '../guards/phases.ts'
import { FAIL_CLOSED_REASON } from '../plugin/config/paths.ts'
import type { SpanIds } from '../plugin/plugin.ts'
import { CONTROL_PREFIX } from './agent-plugins.ts'
import type { InternalEvent } from './deliveries.ts'

/** Agents wait for one second, and then decide by themselves. */
const LIMIT_MILLIS = 800
const SESSIONS_LIMIT = 1000
const TURNS_LIMIT = 1000

export interface HookDecisionsOptions {
  readonly hooks: ControlHooks | undefined
  readonly isComplete: boolean
  readonly guards?: Readonly<Record<string, GuardProtocol>>
  readonly limitMillis?: number
  readonly trace: DecisionTrace
  report(line: string): void
}

interface GuardedAgent {
  readonly hooks: HostHooks
  readonly guarding: GuardProtocol
}

/** Runs the hooks for agents outside of this process. Loaded only if there are hooks. */
export class HookDecisions {
  readonly #options: HookDecisionsOptions
  readonly #agents = new Map<string, GuardedAgent | undefined>()
  readonly #lanes = new LimitedMap<string, string>(SESSIONS_LIMIT)
  /** How often each turn was retried. Agents report at most that it was. */
  readonly #attempts = new LimitedMap<string, number>(TURNS_LIMIT)
  readonly #reported = new Set<string>()

  constructor(options: HookDecisionsOptions) {
    this.#options = options
  }

  decide(request: DecisionRequest): Promise<HookReply | undefined> | undefined {
    const { host, recordedHost = host, lane, body, failing } = request
    const { guards = GUARD_PROTOCOLS } = this.#options
    const guarding = Object.hasOwn(guards, host) ? guards[host] : undefined
    if (guarding === undefined) return undefined
    if (failing === undefined) return this.#warnNotWaiting(host, guarding, body)
    const close = (): HookReply | undefined =>
      failing === 'closed' ? ignoreErrors(() => guarding.failClosedReply(body, FAIL_CLOSED_REASON)) : undefined
    try {
      const { hooks, isComplete } = this.#options
      const without = isComplete ? undefined : close()
      const hasAnswer = without?.body !== undefined || without?.exitCode !== undefined
      if (hooks === undefined || hasAnswer) return Promise.resolve(without)
      const question = guarding.requestIn(body)
      if (question === undefined) return undefined
      const agent = this.#agentOf(host, recordedHost, guarding, hooks)
      this.#lanes.set(question.ids.sessionId ?? '', lane)
      if (!agent.hooks.handles(question.phase)) {
        this.#endTurn(agent, question, body)
        return undefined
      }
      return this.#runHooks(agent, question, body).catch(error => {
        this.#reportFailure(host, error)
        return close()
      })
    } catch (error) {
      this.#reportFailure(host, error)
      return Promise.resolve(close())
    }
  }

  /** Warns that an agent sends what hooks would decide about, but does not wait for the answer. */
  #warnNotWaiting(host: string, guarding: GuardProtocol, body: unknown): undefined {
    if (this.#reported.has(host)) return
    try {
      // Only `beforeTool` has a single source. A prompt may arrive a second time from a sender that does not wait.
      const phase = guarding.requestIn(body)?.phase
      if (phase !== 'beforeTool' || this.#options.hooks?.handles(phase) !== true) return
      this.#reported.add(host)
      const how = `"hookspan init ${host} --guards open" has it wait`
      this.#options.report(`there are guards, and ${host} does not wait for their decisions: ${how}`)
    } catch (error) {
      this.#reportFailure(host, error)
    }
  }

  async #runHooks(agent: GuardedAgent, question: GuardRequest, body: unknown): Promise<HookReply | undefined> {
    const { phase, ids, event } = this.#withAttempt(question)
    // Each phase has its own event type, which a union of them cannot express.
    const outcome: Outcome<Phase> = await agent.hooks.run(phase as 'beforeTool', ids, event as never)
    const turn = turnOf(question.ids)
    const goesOn = question.phase === 'afterTurn' && outcome.decision === 'retry'
    if (goesOn) this.#attempts.set(turn, (this.#attempts.get(turn) ?? 0) + 1)
    else this.#endTurn(agent, question, body)
    return agent.guarding.reply(body, outcome)
  }

  #withAttempt(question: GuardRequest): GuardRequest {
    if (question.phase !== 'afterTurn') return question
    const { event, ids } = question
    return { ...question, event: { ...event, attempt: Math.max(event.attempt, this.#attempts.get(turnOf(ids)) ?? 0) } }
  }

  #endTurn({ hooks, guarding }: GuardedAgent, { ids }: GuardRequest, body: unknown): void {
    if (!guarding.isEndOfTurn(body)) return
    this.#attempts.delete(turnOf(ids))
    hooks.endTurn(ids)
  }

  #agentOf(host: string, recordedHost: string, guarding: GuardProtocol, hooks: ControlHooks): GuardedAgent {
    let agent = this.#agents.get(host)
    if (agent === undefined) {
      const { limitMillis = LIMIT_MILLIS, report } = this.#options
      const traced = {
        emitUntyped: (hook: string, payload: unknown, meta?: { readonly at?: number }) =>
          this.#recordDecision(recordedHost, payload, {
            event: `${CONTROL_PREFIX}${hook}`,
            data: payload,
            ...(recordedHost !== host && { context: { host } }),
            ...meta,
          }),
        traceparent: (ids: SpanIds) => this.#traceparent(recordedHost, ids),
      }
      const { capabilities } = guarding
      const options = { host, hooks, capabilities, limitMillis, plugin: () => traced, report }
      agent = { guarding, hooks: new HostHooks(options) }
      this.#agents.set(host, agent)
    }
    return agent
  }

  #recordDecision(host: string, payload: unknown, event: HostEvent): void {
    const { session_id = '' } = payload as { readonly session_id?: string }
    this.#options.trace.recordEvent({ host, lane: this.#lanes.get(session_id) ?? host, event })
  }

  /** The tool request about is usually not recorded yet. Its turn is. */
  #traceparent(host: string, { tool_call_id, ...turn }: SpanIds): string | undefined {
    const { trace } = this.#options
    const tool = tool_call_id === undefined ? undefined : trace.traceparent(host, { ...turn, tool_call_id })
    return tool ?? trace.traceparent(host, turn)
  }

  /** Reported once per agent and kind. The message itself is left out because it could quote a user. */
  #reportFailure(host: string, error: unknown): void {
    const line = `${host}: its question to the guards could not be read (${kindOf(error)}); they did not run`
    if (this.#reported.has(line)) return
    this.#reported.add(line)
    this.#options.report(line)
  }
}

function turnOf({ sessionId = '', turnId = '' }: HookIds): string {
  return `${sessionId} ${turnId}`
}

/** The client sends it, because no receiver may be running to ask. */
export type FailurePolicy = 'open' | 'closed'

/**
 * `recordedHost`: the host name in the agent's records, if it differs from `host`; empty if each record names its own. `lane`:
 * the queue lane for the records of a decision: they follow the event that it is about.
 */
export interface DecisionRequest {
  readonly host: string
  readonly recordedHost?: string
  readonly lane: string
  readonly body: unknown
  readonly failing: FailurePolicy | undefined
}

export interface DecisionTrace {
  recordEvent(remark: InternalEvent): void
  traceparent(host: string, ids: SpanIds): string | undefined
}
