import { LimitedMap } from '../agents/base/limited-map.ts'
import type { GuardProtocol, GuardRequest, HookReply } from '../agents/guard-protocol.ts'
import { GUARD_PROTOCOLS } from '../agents/guard-protocols.ts'
import type { HostEvent } from '../agents/host-event.ts'
import { HostHooks } from '../guards/host-hooks.ts'
import type { ControlHooks, HookIds } from '../guards/index.ts'
import type { Outcome } from '../guards/outcome.ts'
import type { Phase } from '../guards/phases.ts'
import type { SpanIds } from '../plugin/plugin.ts'
import { CONTROL } from './agent-plugins.ts'
import type { Asked, Decider, DeciderTrace } from './decider.ts'

/** Agents wait for one second, and then decide by themselves. */
const LIMIT_MILLIS = 800
const SESSIONS_LIMIT = 1000
const TURNS_LIMIT = 1000

export interface DecidingOptions {
  readonly hooks: ControlHooks | undefined
  /** False if a configured hook is missing. */
  readonly isWhole: boolean
  readonly guards?: Readonly<Record<string, GuardProtocol>>
  readonly limitMillis?: number
  readonly trace: DeciderTrace
  say(line: string): void
}

interface Agent {
  readonly hooks: HostHooks
  readonly guarding: GuardProtocol
}

/** Runs the hooks for agents outside of this process. Loaded only if there are hooks. */
export class Deciding implements Decider {
  readonly #options: DecidingOptions
  readonly #agents = new Map<string, Agent | undefined>()
  /** The lane of each session, for the records of its decisions. */
  readonly #lanes = new LimitedMap<string, string>(SESSIONS_LIMIT)
  /** How often each turn was retried. Agents report at most that it was. */
  readonly #attempts = new LimitedMap<string, number>(TURNS_LIMIT)
  readonly #said = new Set<string>()

  constructor(options: DecidingOptions) {
    this.#options = options
  }

  decide({ host, told = host, lane, body, failing }: Asked): Promise<HookReply | undefined> | undefined {
    const guarding = this.#guardingOf(host)
    if (guarding === undefined) return undefined
    if (failing === undefined) return this.#missed(host, guarding, body)
    const close = (): HookReply | undefined => (failing === 'closed' ? closedBy(guarding, body) : undefined)
    try {
      const { hooks, isWhole } = this.#options
      const without = isWhole ? undefined : close()
      if (hooks === undefined || says(without)) return Promise.resolve(without)
      const question = guarding.requestIn(body)
      if (question === undefined) return undefined
      const agent = this.#agentOf(host, told, guarding, hooks)
      this.#lanes.set(question.ids.sessionId ?? '', lane)
      if (!agent.hooks.handles(question.phase)) {
        this.#endTurn(agent, question, body)
        return undefined
      }
      return this.#ask(agent, question, body).catch(error => {
        this.#broke(host, error)
        return close()
      })
    } catch (error) {
      this.#broke(host, error)
      return Promise.resolve(close())
    }
  }

  /** Warns that an agent sends what hooks would decide about, but does not wait for the answer. */
  #missed(host: string, guarding: GuardProtocol, body: unknown): undefined {
    if (this.#said.has(host)) return
    try {
      // Only `beforeTool` has a single source. A prompt may arrive a second time from a sender that does not wait.
      const phase = guarding.requestIn(body)?.phase
      if (phase !== 'beforeTool' || this.#options.hooks?.handles(phase) !== true) return
      this.#said.add(host)
      const how = `"hookspan init ${host} --guards open" has it wait`
      this.#options.say(`there are hooks that act, and ${host} does not wait for what they say: ${how}`)
    } catch (error) {
      this.#broke(host, error)
    }
  }

  async #ask(agent: Agent, question: GuardRequest, body: unknown): Promise<HookReply | undefined> {
    const outcome = await run(agent.hooks, this.#counted(question))
    const turn = turnOf(question.ids)
    const goesOn = question.phase === 'afterTurn' && outcome.decision === 'retry'
    if (goesOn) this.#attempts.set(turn, (this.#attempts.get(turn) ?? 0) + 1)
    else this.#endTurn(agent, question, body)
    return agent.guarding.reply(body, outcome)
  }

  #counted(question: GuardRequest): GuardRequest {
    if (question.phase !== 'afterTurn') return question
    const { event, ids } = question
    return { ...question, event: { ...event, attempt: Math.max(event.attempt, this.#attempts.get(turnOf(ids)) ?? 0) } }
  }

  #endTurn({ hooks, guarding }: Agent, { ids }: GuardRequest, body: unknown): void {
    if (!guarding.isEndOfTurn(body)) return
    this.#attempts.delete(turnOf(ids))
    hooks.endTurn(ids)
  }

  #guardingOf(host: string): GuardProtocol | undefined {
    const { guards = GUARD_PROTOCOLS } = this.#options
    return Object.hasOwn(guards, host) ? guards[host] : undefined
  }

  /** @param told see `Asked` */
  #agentOf(host: string, told: string, guarding: GuardProtocol, hooks: ControlHooks): Agent {
    let agent = this.#agents.get(host)
    if (agent === undefined) {
      const { limitMillis = LIMIT_MILLIS, say } = this.#options
      const traced = {
        emitUntyped: (hook: string, payload: unknown, meta?: { readonly at?: number }) =>
          this.#tell(told, payload, {
            event: `${CONTROL}${hook}`,
            data: payload,
            ...(told !== host && { context: { host } }),
            ...meta,
          }),
        traceparent: (ids: SpanIds) => this.#traceparent(told, ids),
      }
      const report = (line: string): void => say(line)
      agent = {
        guarding,
        hooks: new HostHooks({
          host,
          hooks,
          capabilities: guarding.capabilities,
          limitMillis,
          plugin: () => traced,
          report,
        }),
      }
      this.#agents.set(host, agent)
    }
    return agent
  }

  #tell(host: string, payload: unknown, event: HostEvent): void {
    const { session_id = '' } = payload as { readonly session_id?: string }
    this.#options.trace.remark({ host, lane: this.#lanes.get(session_id) ?? host, event })
  }

  /** The tool asked about is usually not recorded yet. Its turn is. */
  #traceparent(host: string, { tool_call_id, ...turn }: SpanIds): string | undefined {
    const { trace } = this.#options
    const tool = tool_call_id === undefined ? undefined : trace.traceparent(host, { ...turn, tool_call_id })
    return tool ?? trace.traceparent(host, turn)
  }

  /** Reported once per agent and kind. The message itself is left out because it could quote a user. */
  #broke(host: string, error: unknown): void {
    const kind = error instanceof Error ? error.name : typeof error
    const line = `${host}: what it asks the hooks could not be read (${kind}); they were not asked`
    if (this.#said.has(line)) return
    this.#said.add(line)
    this.#options.say(line)
  }
}

function run(hooks: HostHooks, { phase, ids, event }: GuardRequest): Promise<Outcome<Phase>> {
  // Each phase has its own event type, which a union of them cannot express.
  return Promise.resolve(hooks.run(phase as 'beforeTool', ids, event as never)) as Promise<Outcome<Phase>>
}

function turnOf({ sessionId = '', turnId = '' }: HookIds): string {
  return `${sessionId} ${turnId}`
}

function says(reply: HookReply | undefined): boolean {
  return reply?.body !== undefined || reply?.exitCode !== undefined
}

function closedBy(guarding: GuardProtocol, body: unknown): HookReply | undefined {
  try {
    return guarding.failClosedReply(body, CLOSED)
  } catch {
    return undefined
  }
}

const CLOSED = 'hookspan could not ask the hooks that guard this agent, which is set up to do nothing then.'
