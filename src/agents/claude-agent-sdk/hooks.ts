/**
 * `hookspan/hooks/claude-agent-sdk`: guards in the Claude Agent SDK.
 *
 * Measured with `@anthropic-ai/claude-agent-sdk` 0.3.330: if a callback throws, the tool runs; if it times out, the tool is
 * blocked. Several callbacks run at once, and the last rewrite wins.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { idOf, isArray, peek, textOf } from '../../contract/foreign.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import {
  type Capabilities,
  type ControlHooks,
  type HookIds,
  HostHooks,
  type HostHooksOptions,
  type Injection,
  type Outcome,
  type Phase,
} from '../../guards/index.ts'
import { forwardEarly, runningPlugin } from '../attach.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { hasKnownShape, resultInShape, resultText } from '../base/tool-response.ts'
import { toolSeen } from './hook-shapes.ts'
import { changed } from './query-options.ts'

const HOST = 'claude-agent-sdk'
const LIMIT_MILLIS = 55_000
const DELAY_LIMIT_MILLIS = 30_000
/** Margin between this timeout and the SDK's. */
const SPARE_MILLIS = 5000
const SESSIONS_LIMIT = 200
const GO_ON = 'This is not done yet: a hook wants it to be tried again.'
/** The permission mode in which the SDK asks no user, even if a hook requests it. */
const ASKS_NOBODY = 'bypassPermissions'

/**
 * Decisions that the Claude Agent SDK accepts from hooks. Injected text is added beside the user's message, including text for
 * the system prompt. To withhold a result that is not text, the run is stopped.
 */
export const ABLE: Capabilities = {
  beforeTurn: ['block', 'inject'],
  beforeTool: ['block', 'rewrite', 'inject', 'ask'],
  afterTool: ['block', 'rewrite', 'inject'],
  afterTurn: ['retry'],
}

/** The time limit of the hooks, and the receiver of log lines for the user. */
export type AttachOptions = Pick<HostHooksOptions, 'limitMillis' | 'report'>

/**
 * Returns options of `query()` with guards added after the existing hooks. If hookspan traces the query, the trace records their
 * decisions.
 *
 * @example
 * query({ prompt, options: attachHooks({ model: 'claude-sonnet-4-5' }, hooks) })
 */
export function attachHooks<Options extends object>(
  options: Options,
  hooks: ControlHooks,
  { limitMillis = LIMIT_MILLIS, report }: AttachOptions = {},
): Options {
  const plugin = () => runningPlugin(HOST)
  const asked = new HostHooks({ host: HOST, hooks, capabilities: ABLE, limitMillis, plugin, report })
  // Without a user to ask, the SDK denies tools for which a hook requests approval.
  const hasPerson = ['canUseTool', 'permissionPromptToolName'].some(key => peek(options, key) !== undefined)
  const timeout = (limitMillis + DELAY_LIMIT_MILLIS + SPARE_MILLIS) / 1000
  const own = peek(options, 'hooks') ?? {}
  const merged: Record<string, unknown> = {}
  for (const [event, callback] of new ClaudeHooks(asked, hasPerson).callbacks()) {
    const before = peek(own, event)
    merged[event] = [...(isArray(before) ? before : []), { hooks: [callback], timeout }]
  }
  return changed(options, { hooks: changed(own, merged) })
}

interface Heard {
  readonly input: unknown
  readonly ids: HookIds
  readonly signal: AbortSignal | undefined
}

/** The response to the SDK. `{}` leaves the decision to the SDK. */
type Answer = Readonly<Record<string, unknown>>

type Callback = (input: unknown, toolUseId?: unknown, options?: unknown) => Promise<Answer>

interface TurnOfSession {
  readonly ids: HookIds
  retries: number
}

const NOTHING: Answer = Object.freeze({})

class ClaudeHooks {
  readonly #hooks: HostHooks
  readonly #hasPerson: boolean
  /** Turns by session id or child agent id. */
  readonly #turns = new LimitedMap<string, TurnOfSession>(SESSIONS_LIMIT)

  constructor(hooks: HostHooks, hasPerson: boolean) {
    this.#hooks = hooks
    this.#hasPerson = hasPerson
  }

  /**
   * Returns one callback for each event with hooks, and for the end of turns. Other events get none: each callback is a round
   * trip between two processes.
   */
  callbacks(): Map<string, Callback> {
    const found = new Map<string, Callback>()
    const on = (
      phase: Phase,
      event: string,
      answer: (heard: Heard) => Promise<Answer>,
      blocked: (reason: string, input: unknown) => Answer,
    ): void => {
      if (!this.#hooks.handles(phase)) return
      found.set(
        event,
        async (input, _, options) =>
          (await this.#hooks.guard(
            phase,
            () => answer({ input, ids: idsOf(input), signal: signalOf(options) }),
            reason => blocked(reason, input),
          )) ?? NOTHING,
      )
    }
    on('beforeTurn', 'UserPromptSubmit', heard => this.#prompted(heard), refusedPrompt)
    on('beforeTool', 'PreToolUse', heard => this.#calls(heard), deniedTool)
    on('afterTool', 'PostToolUse', heard => this.#returns(heard), withheldResult)
    for (const event of ['Stop', 'SubagentStop']) {
      on(
        'afterTurn',
        event,
        heard => this.#stops(heard),
        () => NOTHING,
      )
      if (!found.has(event)) found.set(event, input => Promise.resolve(this.#over(idsOf(input))))
    }
    return found
  }

  async #prompted({ input, ids, signal }: Heard): Promise<Answer> {
    this.#turnOf(ids)
    const outcome = await this.#hooks.run('beforeTurn', ids, { prompt: String(peek(input, 'prompt') ?? '') }, signal)
    if (outcome.decision === 'block') return { ...refusedPrompt(outcome.reason ?? ''), ...shown(outcome) }
    return outcome.injected.length === 0 ? NOTHING : specific('UserPromptSubmit', contextOf(outcome.injected))
  }

  async #calls({ input, ids, signal }: Heard): Promise<Answer> {
    // All callbacks run at once, and the tracing callback comes after this one.
    forwardEarly(HOST, { event: 'hook.PreToolUse', at: Date.now(), data: input })
    const tool = toolSeen(input)
    const canAsk = this.#hasPerson && peek(input, 'permission_mode') !== ASKS_NOBODY
    const outcome = await this.#hooks.run('beforeTool', { ...ids, toolCallId: tool.id }, { tool }, signal, canAsk)
    const { decision, reason, value, isRewritten, injected } = outcome
    if (decision === 'block') return { ...deniedTool(reason ?? ''), ...shown(outcome) }
    const said = {
      // Never "allow", which would skip the approval by the user.
      ...(decision === 'ask' ? { permissionDecision: 'ask', permissionDecisionReason: reason } : {}),
      ...(isRewritten ? { updatedInput: plainCopy(value) } : {}),
      ...contextOf(injected),
    }
    return Object.keys(said).length === 0 ? NOTHING : specific('PreToolUse', said)
  }

  async #returns({ input, ids, signal }: Heard): Promise<Answer> {
    const tool = toolSeen(input)
    const response = peek(input, 'tool_response')
    const seen = { tool, result: resultText(response), isError: false, attempt: 0 }
    const outcome = await this.#hooks.run('afterTool', { ...ids, toolCallId: tool.id }, seen, signal)
    if (outcome.decision === 'block') return { ...withheldResult(outcome.reason ?? '', input), ...shown(outcome) }
    const said = {
      ...(outcome.isRewritten ? { updatedToolOutput: resultInShape(response, outcome.value) } : {}),
      ...contextOf(outcome.injected),
    }
    return Object.keys(said).length === 0 ? NOTHING : specific('PostToolUse', said)
  }

  async #stops({ input, ids, signal }: Heard): Promise<Answer> {
    const turn = this.#turnOf(ids)
    const seen = { answer: textOf(peek(input, 'last_assistant_message')) ?? '', attempt: turn.retries }
    const outcome = await this.#hooks.run('afterTurn', ids, seen, signal)
    if (outcome.decision !== 'retry') return this.#over(ids)
    turn.retries++
    const millis = Math.min(outcome.delayMillis ?? 0, DELAY_LIMIT_MILLIS)
    if (millis > 0) await sleep(millis, undefined, { signal }).catch(() => undefined)
    return { decision: 'block', reason: outcome.reason ?? GO_ON }
  }

  /** Returns the current turn. A new turn of a session ends the previous one, whose end may not have been reported. */
  #turnOf(ids: HookIds): TurnOfSession {
    const key = ids.sessionId ?? ''
    const known = this.#turns.get(key)
    if (known !== undefined && known.ids.turnId === ids.turnId) return known
    if (known !== undefined) this.#hooks.endTurn(known.ids)
    const turn = { ids, retries: 0 }
    this.#turns.set(key, turn)
    return turn
  }

  #over(ids: HookIds): Answer {
    this.#hooks.endTurn(ids)
    this.#turns.delete(ids.sessionId ?? '')
    return NOTHING
  }
}

/** A child agent has its own session in the trace; its open turn applies. */
function idsOf(input: unknown): HookIds {
  const agent = idOf(peek(input, 'agent_id'))
  if (agent !== undefined) return { sessionId: agent }
  return { sessionId: idOf(peek(input, 'session_id')), turnId: idOf(peek(input, 'prompt_id')) }
}

function signalOf(options: unknown): AbortSignal | undefined {
  const signal = peek(options, 'signal')
  return signal instanceof AbortSignal ? signal : undefined
}

function specific(hookEventName: string, said: object): Answer {
  return { hookSpecificOutput: { hookEventName, ...said } }
}

function contextOf(injected: readonly Injection[]): object {
  return injected.length === 0 ? {} : { additionalContext: injected.map(({ text }) => text).join('\n\n') }
}

/** The part of the response that only the user sees. */
function shown({ detail }: Outcome<Phase>): Answer {
  return detail === undefined ? NOTHING : { systemMessage: detail }
}

function refusedPrompt(reason: string): Answer {
  return { decision: 'block', reason }
}

function deniedTool(permissionDecisionReason: string): Answer {
  return specific('PreToolUse', { permissionDecision: 'deny', permissionDecisionReason })
}

function withheldResult(reason: string, input: unknown): Answer {
  const response = peek(input, 'tool_response')
  if (!hasKnownShape(response)) return { continue: false, stopReason: reason }
  return specific('PostToolUse', { updatedToolOutput: resultInShape(response, reason) })
}
