/**
 * `hookspan/hooks/claude-agent-sdk`: guards in the Claude Agent SDK.
 *
 * Measured with `@anthropic-ai/claude-agent-sdk` 0.3.330: if a callback throws, the tool runs; if it times out, the tool is
 * blocked. Several callbacks run at once, and the last rewrite wins.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { peek } from '../../contract/foreign.ts'
import type { Capabilities, ControlHooks, HookIds, HostHooksOptions, Phase } from '../../guards/index.ts'
import { HostHooks } from '../../guards/index.ts'
import type { EventOf } from '../../guards/phases.ts'
import { forwardEarly, runningPlugin } from '../attach.ts'
import { hasKnownShape, listOf, resultInShape, signalIn } from '../base/guard-values.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { failClosedReply, idsIn, replyTo, requestIn } from '../claude-code/guard-protocol.ts'
import { changed } from './traced-query.ts'

const HOST = 'claude-agent-sdk'
const LIMIT_MILLIS = 55_000
const DELAY_LIMIT_MILLIS = 30_000
const SPARE_MILLIS = 5000
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
export type ClaudeSdkAttachOptions = Pick<HostHooksOptions, 'limitMillis' | 'report'>

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
  { limitMillis = LIMIT_MILLIS, report }: ClaudeSdkAttachOptions = {},
): Options {
  const plugin = () => runningPlugin(HOST)
  const hostHooks = new HostHooks({ host: HOST, hooks, capabilities: ABLE, limitMillis, plugin, report })
  // Without a user to ask, the SDK denies tools for which a hook requests approval.
  const hasUser = ['canUseTool', 'permissionPromptToolName'].some(key => peek(options, key) !== undefined)
  const timeout = (limitMillis + DELAY_LIMIT_MILLIS + SPARE_MILLIS) / 1000
  const own = peek(options, 'hooks') ?? {}
  const merged: Record<string, unknown> = {}
  for (const [event, callback] of new SdkGuards(hostHooks, hasUser).callbacks()) {
    merged[event] = [...listOf(peek(own, event)), { hooks: [callback], timeout }]
  }
  return changed(options, { hooks: changed(own, merged) })
}

type HookOutput = Readonly<Record<string, unknown>>
type Callback = (input: unknown, toolUseId?: unknown, options?: unknown) => Promise<HookOutput>

const NOTHING: HookOutput = Object.freeze({})

const PHASES: Readonly<Record<string, Phase>> = {
  UserPromptSubmit: 'beforeTurn',
  PreToolUse: 'beforeTool',
  PostToolUse: 'afterTool',
  Stop: 'afterTurn',
  SubagentStop: 'afterTurn',
}

class SdkGuards {
  readonly #turns = new LimitedMap<string, { readonly ids: HookIds; retries: number }>(200)
  readonly #hooks: HostHooks
  readonly #hasUser: boolean

  constructor(hooks: HostHooks, hasUser: boolean) {
    this.#hooks = hooks
    this.#hasUser = hasUser
  }

  /**
   * Returns one callback for each event with hooks, and for the end of turns. Other events get none: each callback is a round
   * trip between two processes.
   */
  callbacks(): Map<string, Callback> {
    const found = new Map<string, Callback>()
    for (const [event, phase] of Object.entries(PHASES)) {
      const decide: Callback = async (input, _, options) => {
        const failed = (reason: string): HookOutput => blocked(event, input, reason)
        return (await this.#hooks.guard(phase, () => this.#decide(input, signalIn(options)), failed)) ?? NOTHING
      }
      if (this.#hooks.handles(phase)) found.set(event, decide)
      else if (phase === 'afterTurn') found.set(event, input => Promise.resolve(this.#endTurn(idsIn(input))))
    }
    return found
  }

  async #decide(input: unknown, signal: AbortSignal | undefined): Promise<HookOutput> {
    const request = requestIn(input)
    if (request === undefined) throw new TypeError('not a hook of the SDK')
    const { phase, ids } = request
    // All callbacks run at once, and the tracing callback comes after this one.
    if (phase === 'beforeTool') forwardEarly(HOST, { event: 'hook.PreToolUse', at: Date.now(), data: input })
    const turn = phase === 'beforeTurn' || phase === 'afterTurn' ? this.#turnOf(ids) : undefined
    const event = phase === 'afterTurn' ? { ...request.event, attempt: turn?.retries } : request.event
    const canAsk = this.#hasUser && peek(input, 'permission_mode') !== ASKS_NOBODY
    const outcome = await this.#hooks.run<Phase>(phase, ids, event as EventOf<Phase>, signal, canAsk)
    const { decision, reason = '', detail, delayMillis = 0 } = outcome
    if (phase === 'afterTurn' && turn !== undefined) {
      if (decision !== 'retry') return this.#endTurn(ids)
      turn.retries++
      const millis = Math.min(delayMillis, DELAY_LIMIT_MILLIS)
      if (millis > 0) await sleep(millis, undefined, { signal }).catch(() => undefined)
      return { decision: 'block', reason: outcome.reason ?? GO_ON }
    }
    const answer = phase === 'afterTool' && decision === 'block' ? withheldResult(input, reason) : undefined
    const output = answer ?? { ...replyTo(input, outcome, ABLE).body }
    // The detail is displayed to the user alone.
    return decision === 'block' && detail !== undefined ? { ...output, systemMessage: detail } : output
  }

  /** Returns the current turn. A new turn of a session ends the previous one, whose end may not have been reported. */
  #turnOf(ids: HookIds) {
    const key = ids.sessionId ?? ''
    const known = this.#turns.get(key)
    if (known !== undefined && known.ids.turnId === ids.turnId) return known
    if (known !== undefined) this.#hooks.endTurn(known.ids)
    const turn = { ids, retries: 0 }
    this.#turns.set(key, turn)
    return turn
  }

  #endTurn(ids: HookIds): HookOutput {
    this.#hooks.endTurn(ids)
    this.#turns.delete(ids.sessionId ?? '')
    return NOTHING
  }
}

function blocked(event: string, input: unknown, reason: string): HookOutput {
  if (event === 'PostToolUse') return withheldResult(input, reason)
  return { ...failClosedReply({ hook_event_name: event }, reason).body }
}

function withheldResult(input: unknown, reason: string): HookOutput {
  const response = peek(input, 'tool_response')
  if (!hasKnownShape(response)) return { continue: false, stopReason: reason }
  return { hookSpecificOutput: { hookEventName: 'PostToolUse', updatedToolOutput: resultInShape(response, reason) } }
}
