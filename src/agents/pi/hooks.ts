/**
 * `hookspan/hooks/pi`: guards in Pi.
 *
 * Measured with `@earendil-works/pi-coding-agent` 0.87.1: an error thrown in a handler of `tool_call` blocks the tool, and its
 * text goes to the model. Pi waits for a handler without a timeout.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { idOf, ignoreErrors, isArray, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import { toStandardError } from '../../guards/hook.ts'
import type { AfterModel, Capabilities, ControlHooks, HookIds, Injection, ModelMessage } from '../../guards/index.ts'
import {
  HostHooks,
  type Outcome,
  type Phase,
  type ToolArguments,
  type ToolCall,
  toolCallOf,
} from '../../guards/index.ts'
import { type AttachOptions, runningPlugin } from '../attach.ts'
import { injectedBy, isAllText, listOf, replaceFields, textFor, wholeText, withText } from '../base/guard-values.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { modelUsage } from '../base/usage.ts'
import { failureOf, piUsage } from './messages.ts'
import type { PiContext, PiExtensionApi } from './types.ts'

export type { AttachOptions } from '../attach.ts'

export type { PiContext, PiExtensionApi, PiModel, PiUi } from './types.ts'

const HOST = 'pi'
const SPEAKER = 'hookspan'
const SHOWN_LIMIT = 2000
const GO_ON = 'This is not done yet: a hook wants it to be tried again.'

/**
 * Decisions that Pi accepts from hooks. A rewritten answer appears after the original, which was already streamed to the screen.
 */
export const ABLE: Capabilities = {
  beforeTurn: ['block', 'rewrite', 'inject'],
  beforeModel: ['rewrite', 'inject'],
  afterModel: ['block', 'rewrite'],
  beforeTool: ['block', 'rewrite', 'ask'],
  afterTool: ['block', 'rewrite', 'inject'],
  afterTurn: ['retry'],
}

/**
 * Runs guards in Pi, from your own extension. It works beside hookspan's own extension, in any load order.
 *
 * @example
 * // ~/.pi/agent/extensions/guards.ts
 * import { attachHooks } from 'hookspan/hooks/pi'
 * import { hooks } from '/home/me/guards/hooks.js'
 * export default pi => attachHooks(pi, hooks)
 */
export function attachHooks(pi: PiExtensionApi, hooks: ControlHooks, options: AttachOptions = {}): void {
  const plugin = () => runningPlugin(HOST)
  new PiHooks(new HostHooks({ ...options, host: HOST, hooks, capabilities: ABLE, plugin })).listenTo(pi)
}

interface HookInput {
  readonly data: unknown
  readonly context: PiContext
  /** Pi has no turn id: the trace uses the session's open turn. */
  readonly ids: HookIds
  readonly session: SessionOfHooks
}

interface SessionOfHooks {
  injected: readonly Injection[]
  retries: number
}

type Answer = object | undefined

class PiHooks {
  readonly #hooks: HostHooks
  readonly #sessions = new LimitedMap<string, SessionOfHooks>(200)

  constructor(hooks: HostHooks) {
    this.#hooks = hooks
  }

  /**
   * Adds one handler for each event with hooks, and for the end of turns. Other events get none: Pi waits for each handler, and
   * copies whole conversations for some.
   */
  listenTo(pi: PiExtensionApi): void {
    const on = (
      phase: Phase,
      event: string,
      answer: (input: HookInput) => Answer | Promise<Answer>,
      blocked: (reason: string, data: unknown, context: PiContext) => Answer = () => undefined,
    ): void => {
      if (!this.#hooks.handles(phase)) return
      pi.on(event, (data, context) => {
        const act = () => answer.call(this, this.#inputOf(data, context))
        return this.#hooks.guard<Answer>(phase, act, reason => blocked(reason, data, context))
      })
    }
    on('beforeTurn', 'input', this.#beforeTurn, blockPrompt)
    on('beforeTurn', 'before_agent_start', this.#injectTexts)
    on('beforeModel', 'context', this.#beforeModel)
    on('afterModel', 'message_end', this.#afterModel, silencedAnswer)
    on('beforeTool', 'tool_call', this.#beforeTool, blockedTool)
    on('afterTool', 'tool_result', this.#afterTool, withheldResult)
    on('afterTurn', 'agent_before_settle', this.#afterTurn)
    for (const event of ['agent_settled', 'session_shutdown']) pi.on(event, (_, context) => this.#endTurnOf(context))
  }

  async #beforeTurn({ data, context, ids, session }: HookInput): Promise<Answer> {
    const prompt = String(peek(data, 'text') ?? '')
    // A message sent while the agent works is queued and belongs to the open turn.
    const isQueued = peek(data, 'streamingBehavior') !== undefined
    if (!isQueued) this.#endTurn(ids, session)
    const outcome = await this.#hooks.run('beforeTurn', ids, { prompt }, context.signal)
    if (outcome.decision === 'block') {
      // A turn that was blocked before it began: no other event reports it.
      const over = { session_id: ids.sessionId, completed: false, interrupted: true, turn_exit_reason: 'blocked' }
      if (!isQueued) runningPlugin(HOST)?.emitUntyped('on_session_end', over)
      const detail = outcome.detail === undefined ? '' : ` (${outcome.detail})`
      return blockPrompt(`${outcome.reason}${detail}`, data, context)
    }
    const { value, injected } = outcome
    if (!isQueued) session.injected = injected
    const text = isQueued ? [value, ...injected.map(each => each.text)].join('\n\n') : value
    return text === prompt ? undefined : { action: 'transform', text }
  }

  #injectTexts({ data, session }: HookInput): Answer {
    const { injected } = session
    session.injected = []
    const [system, user] = [injectedBy('system', injected), injectedBy('user', injected)]
    // The result replaces the whole system prompt.
    const systemPrompt = `${peek(data, 'systemPrompt') ?? ''}\n\n${system}`
    const message = { customType: SPEAKER, content: user, display: true }
    return { ...(system === undefined ? {} : { systemPrompt }), ...(user === undefined ? {} : { message }) }
  }

  async #beforeModel({ data, context, ids }: HookInput): Promise<Answer> {
    const messages = peek(data, 'messages') as readonly unknown[]
    const seen = { model: context.model?.id, messages: messages.map(modelMessageOf) }
    const outcome = await this.#hooks.run('beforeModel', ids, seen, context.signal)
    if (!outcome.isRewritten && outcome.injected.length === 0) return undefined
    return { messages: withOutcome(messages, seen.messages, outcome) }
  }

  async #afterModel({ data, context, ids }: HookInput): Promise<Answer> {
    const message = peek(data, 'message')
    const seen = answerEvent(message, context.model?.id)
    if (seen === undefined) return undefined
    const outcome = await this.#hooks.run('afterModel', ids, seen, context.signal)
    if (outcome.decision === 'block') return silencedAnswer(outcome.reason ?? '', data)
    if (!outcome.isRewritten) return undefined
    return { message: { ...(message as object), content: withText(peek(message, 'content'), outcome.value) } }
  }

  async #beforeTool({ data, context, ids }: HookInput): Promise<Answer> {
    const tool = toolCallFrom(data, context)
    const canAsk = context.hasUI === true && typeof context.ui?.confirm === 'function'
    const callIds = { ...ids, toolCallId: tool.id }
    const outcome = await this.#hooks.run('beforeTool', callIds, { tool }, context.signal, canAsk)
    if (outcome.decision === 'block') return blockedTool(outcome.reason ?? '')
    // Modified in place: a replaced object would reach other extensions only, while the tool runs with the old one.
    if (outcome.isRewritten) replaceFields(peek(data, 'input') as Record<string, unknown>, outcome.value)
    if (outcome.decision !== 'ask' || (await askUser(tool, outcome, context))) return undefined
    return blockedTool(`The hook ${outcome.by} had a person asked, who has not agreed.`)
  }

  async #afterTool({ data, context, ids }: HookInput): Promise<Answer> {
    const content = peek(data, 'content')
    const tool = toolCallFrom(data, context)
    const result = isAllText(content) ? wholeText(content) : content
    const seen = { tool, result, isError: peek(data, 'isError') === true, attempt: 0 }
    const outcome = await this.#hooks.run('afterTool', { ...ids, toolCallId: tool.id }, seen, context.signal)
    if (outcome.decision === 'block') return withheldResult(outcome.reason ?? '')
    if (!outcome.isRewritten && outcome.injected.length === 0) return undefined
    const parts = outcome.isRewritten ? toolResultWith(content, outcome.value) : (content as readonly unknown[])
    return { content: [...parts, ...outcome.injected.flatMap(({ text }) => textParts(text))] }
  }

  /** Runs before the agent becomes idle, unless another extension makes it go on. */
  async #afterTurn({ data, context, ids, session }: HookInput): Promise<Answer> {
    if (peek(data, 'continue') === true || (peek(data, 'outcome') ?? 'completed') !== 'completed') return undefined
    const messages = listOf(peek(peek(data, 'context'), 'contextMessages'))
    const last = messages.findLast(message => peek(message, 'role') === 'assistant')
    const seen = { answer: wholeText(peek(last, 'content')), attempt: session.retries }
    const outcome = await this.#hooks.run('afterTurn', ids, seen, context.signal)
    if (outcome.decision !== 'retry') return undefined
    session.retries++
    if (outcome.delayMillis !== undefined)
      await sleep(outcome.delayMillis, undefined, { signal: context.signal }).catch(() => undefined)
    const feedback = { type: 'custom_message', customType: SPEAKER, content: outcome.reason ?? GO_ON, display: true }
    return { continue: true, entries: [...((peek(data, 'entries') ?? []) as readonly unknown[]), feedback] }
  }

  #inputOf(data: unknown, context: PiContext): HookInput {
    const sessionId = idOf(context.sessionManager?.getSessionId?.())
    const session = this.#sessions.recall(sessionId ?? '', () => ({ injected: [], retries: 0 }))
    return { data, context, ids: { sessionId }, session }
  }

  #endTurn(ids: HookIds, session: SessionOfHooks): void {
    this.#hooks.endTurn(ids)
    session.injected = []
    session.retries = 0
  }

  #endTurnOf(context: PiContext): void {
    // Throws if Pi has released the session: its turn is dropped when later ones fill the limit.
    const input = ignoreErrors(() => this.#inputOf(undefined, context))
    if (input !== undefined) this.#endTurn(input.ids, input.session)
  }
}

/** Blocks a prompt. Pi drops it silently, so the user is notified here. */
function blockPrompt(reason: string, _: unknown, { hasUI, ui }: PiContext): Answer {
  const line = `A hook has blocked this prompt: ${reason}`
  if (hasUI === true && typeof ui?.notify === 'function') ui.notify(line, 'warning')
  else toStandardError(`hookspan: pi: ${line}`)
  return { action: 'handled' }
}

function silencedAnswer(reason: string, data: unknown): Answer {
  return { message: { ...(peek(data, 'message') as object), content: textParts(reason), stopReason: 'stop' } }
}

function blockedTool(reason: string): Answer {
  return { block: true, reason }
}

function withheldResult(reason: string): Answer {
  return { content: textParts(reason), isError: true }
}

async function askUser(tool: ToolCall, outcome: Outcome<'beforeTool'>, { ui, signal }: PiContext): Promise<boolean> {
  const shown = tool.kind === 'shell' ? (outcome.value['command'] ?? outcome.value) : outcome.value
  const text = typeof shown === 'string' ? shown : `${tool.name} ${JSON.stringify(shown, null, 2)}`
  const more = text.length - SHOWN_LIMIT
  const message = more > 0 ? `${text.slice(0, SHOWN_LIMIT)}\n… and ${more} more characters` : text
  try {
    return (await ui?.confirm?.(outcome.reason ?? '', message, { signal })) === true
  } catch {
    return false
  }
}

/** Roles of the contract. All other messages have the role `user` for the model. */
const ROLES: ReadonlyMap<unknown, ModelMessage['role']> = new Map([
  ['assistant', 'assistant'],
  ['toolResult', 'tool'],
  ['system', 'system'],
])

function textParts(text: string): unknown[] {
  return [{ type: 'text', text }]
}

/** Converts a message of Pi. The output of a user's own command, and a summary, are in fields other than `content`. */
function modelMessageOf(message: unknown): ModelMessage {
  const text =
    wholeText(peek(message, 'content')) || (textOf(peek(message, 'summary')) ?? textOf(peek(message, 'output')))
  return { role: ROLES.get(peek(message, 'role')) ?? 'user', text: text ?? '' }
}

function withOutcome(messages: readonly unknown[], seen: readonly ModelMessage[], outcome: Outcome<'beforeModel'>) {
  const kept = messages.map((message, at) => {
    const text = outcome.value[at]?.text
    return text === undefined || text === seen[at]?.text ? message : withMessageText(message, text)
  })
  const timestamp = Date.now()
  const more = outcome.injected.map(({ text, role }) => ({ role, content: textParts(text), timestamp }))
  return [...kept, ...more]
}

function withMessageText(message: unknown, text: string): unknown {
  const whole = message as Readonly<Record<string, unknown>>
  for (const key of ['summary', 'output']) if (typeof whole[key] === 'string') return { ...whole, [key]: text }
  return { ...whole, content: typeof whole['content'] === 'string' ? text : withText(whole['content'], text) }
}

function answerEvent(message: unknown, model: string | undefined): AfterModel | undefined {
  const reason = peek(message, 'stopReason')
  if (peek(message, 'role') !== 'assistant' || reason === 'aborted') return undefined
  const content = peek(message, 'content')
  const failure = peek(message, 'errorMessage')
  const error = { status: failureOf(failure).statusCode, message: textOf(failure) }
  const usage = peek(message, 'usage')
  return {
    model: textOf(peek(message, 'model')) ?? model,
    text: wholeText(content),
    toolCalls: listOf(content).flatMap(part => (peek(part, 'type') === 'toolCall' ? [requestedCall(part)] : [])),
    ...(reason === 'error' ? { error } : {}),
    usage: modelUsage(piUsage(usage), numberOf(peek(peek(usage, 'cost'), 'total'))),
    attempt: 0,
  }
}

function requestedCall(part: unknown): ToolCall {
  const args = peek(part, 'arguments') as ToolArguments
  return toolCallOf({ name: String(peek(part, 'name')), arguments: args, id: textOf(peek(part, 'id')) })
}

function toolCallFrom(data: unknown, context: PiContext): ToolCall {
  const [name, args] = [String(peek(data, 'toolName')), peek(data, 'input') as ToolArguments]
  return toolCallOf({ name, arguments: args, id: textOf(peek(data, 'toolCallId')), cwd: textOf(context.cwd) })
}

function toolResultWith(content: unknown, value: unknown): unknown[] {
  return isArray(value) ? plainCopy([...value]) : withText(content, textFor(value))
}
