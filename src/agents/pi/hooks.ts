/**
 * `hookspan/hooks/pi`: guards in Pi.
 *
 * Measured with `@earendil-works/pi-coding-agent` 0.87.1: an error thrown in a handler of `tool_call` blocks the tool, and its
 * text goes to the model. Pi waits for a handler without a timeout.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { idOf, peek } from '../../contract/foreign.ts'
import { toStandardError } from '../../guards/hook.ts'
import {
  type Capabilities,
  type ControlHooks,
  type HookIds,
  HostHooks,
  type HostHooksOptions,
  type Injection,
  type Outcome,
  type Phase,
  type ToolCall,
} from '../../guards/index.ts'
import { runningPlugin } from '../attach.ts'
import { withText } from '../base/content-text.ts'
import { LimitedMap } from '../base/limited-map.ts'
import {
  answerSeen,
  become,
  lastAnswer,
  messageSeen,
  messagesSaid,
  resultSaid,
  resultSeen,
  said,
  silenced,
  textsFor,
  toolSeen,
} from './hook-shapes.ts'
import type { PiContext, PiExtensionApi } from './types.ts'

export type { PiContext, PiExtensionApi, PiModel, PiUi } from './types.ts'

const HOST = 'pi'
/** The sender's name of messages added to a conversation. */
const SPEAKER = 'hookspan'
const SESSIONS_LIMIT = 200
/** Limit of the text shown in an approval, characters. */
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

/** The time limit of the hooks, and the receiver of log lines for the user. */
export type AttachOptions = Pick<HostHooksOptions, 'limitMillis' | 'report'>

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

interface Heard {
  readonly data: unknown
  readonly context: PiContext
  readonly ids: HookIds
  readonly session: SessionOfHooks
}

interface SessionOfHooks {
  /** Injections for the prompt that is being processed. */
  injected: readonly Injection[]
  retries: number
}

type Answer = object | undefined

class PiHooks {
  readonly #hooks: HostHooks
  readonly #sessions = new LimitedMap<string, SessionOfHooks>(SESSIONS_LIMIT)

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
      answer: (heard: Heard) => Answer | Promise<Answer>,
      blocked: (reason: string, data: unknown, context: PiContext) => Answer = () => undefined,
    ): void => {
      if (!this.#hooks.handles(phase)) return
      pi.on(event, (data, context) =>
        this.#hooks.guard<Answer>(
          phase,
          () => answer(this.#heard(data, context)),
          reason => blocked(reason, data, context),
        ),
      )
    }
    on('beforeTurn', 'input', heard => this.#prompted(heard), refused)
    on('beforeTurn', 'before_agent_start', heard => this.#starts(heard))
    on('beforeModel', 'context', heard => this.#asksModel(heard))
    on('afterModel', 'message_end', heard => this.#answers(heard), silencedAnswer)
    on('beforeTool', 'tool_call', heard => this.#calls(heard), blockedTool)
    on('afterTool', 'tool_result', heard => this.#returns(heard), withheldResult)
    on('afterTurn', 'agent_before_settle', heard => this.#settles(heard))
    for (const event of ['agent_settled', 'session_shutdown']) pi.on(event, (_, context) => this.#over(context))
  }

  async #prompted({ data, context, ids, session }: Heard): Promise<Answer> {
    const prompt = String(peek(data, 'text') ?? '')
    // A message sent while the agent works is queued and belongs to the open turn.
    const isQueued = peek(data, 'streamingBehavior') !== undefined
    if (!isQueued) this.#end(ids, session)
    const outcome = await this.#hooks.run('beforeTurn', ids, { prompt }, context.signal)
    if (outcome.decision === 'block') {
      if (!isQueued) tellRefused(ids)
      return refused(`${outcome.reason}${outcome.detail === undefined ? '' : ` (${outcome.detail})`}`, data, context)
    }
    const { value, injected } = outcome
    if (!isQueued) session.injected = injected
    const text = isQueued ? [value, ...injected.map(each => each.text)].join('\n\n') : value
    return text === prompt ? undefined : { action: 'transform', text }
  }

  #starts({ data, session }: Heard): Answer {
    const { injected } = session
    session.injected = []
    const [system, user] = [textsFor('system', injected), textsFor('user', injected)]
    // The result replaces the whole system prompt.
    const systemPrompt = `${peek(data, 'systemPrompt') ?? ''}\n\n${system}`
    return {
      ...(system === '' ? {} : { systemPrompt }),
      ...(user === '' ? {} : { message: { customType: SPEAKER, content: user, display: true } }),
    }
  }

  async #asksModel({ data, context, ids }: Heard): Promise<Answer> {
    const messages = peek(data, 'messages') as readonly unknown[]
    const seen = { model: context.model?.id, messages: messages.map(messageSeen) }
    const outcome = await this.#hooks.run('beforeModel', ids, seen, context.signal)
    if (!outcome.isRewritten && outcome.injected.length === 0) return undefined
    return { messages: messagesSaid(messages, seen.messages, outcome) }
  }

  async #answers({ data, context, ids }: Heard): Promise<Answer> {
    const message = peek(data, 'message')
    const seen = answerSeen(message, context.model?.id)
    if (seen === undefined) return undefined
    const outcome = await this.#hooks.run('afterModel', ids, seen, context.signal)
    if (outcome.decision === 'block') return silencedAnswer(outcome.reason ?? '', data)
    if (!outcome.isRewritten) return undefined
    return { message: { ...(message as object), content: withText(peek(message, 'content'), outcome.value) } }
  }

  async #calls({ data, context, ids }: Heard): Promise<Answer> {
    const tool = toolSeen(data, context)
    const canAsk = context.hasUI === true && typeof context.ui?.confirm === 'function'
    const outcome = await this.#hooks.run('beforeTool', of(tool, ids), { tool }, context.signal, canAsk)
    if (outcome.decision === 'block') return blockedTool(outcome.reason ?? '')
    // Modified in place: a replaced object would reach other extensions only, while the tool runs with the old one.
    if (outcome.isRewritten) become(peek(data, 'input') as Record<string, unknown>, outcome.value)
    if (outcome.decision !== 'ask' || (await agreed(tool, outcome, context))) return undefined
    return blockedTool(`The hook ${outcome.by} had a person asked, who has not agreed.`)
  }

  async #returns({ data, context, ids }: Heard): Promise<Answer> {
    const content = peek(data, 'content')
    const tool = toolSeen(data, context)
    const seen = { tool, result: resultSeen(content), isError: peek(data, 'isError') === true, attempt: 0 }
    const outcome = await this.#hooks.run('afterTool', of(tool, ids), seen, context.signal)
    if (outcome.decision === 'block') return withheldResult(outcome.reason ?? '')
    if (!outcome.isRewritten && outcome.injected.length === 0) return undefined
    const parts = outcome.isRewritten ? resultSaid(content, outcome.value) : (content as readonly unknown[])
    return { content: [...parts, ...outcome.injected.flatMap(({ text }) => said(text))] }
  }

  /** Runs before the agent becomes idle, unless another extension makes it go on. */
  async #settles({ data, context, ids, session }: Heard): Promise<Answer> {
    if (peek(data, 'continue') === true || (peek(data, 'outcome') ?? 'completed') !== 'completed') return undefined
    const seen = { answer: lastAnswer(peek(peek(data, 'context'), 'contextMessages')), attempt: session.retries }
    const outcome = await this.#hooks.run('afterTurn', ids, seen, context.signal)
    if (outcome.decision !== 'retry') return undefined
    session.retries++
    if (outcome.delayMillis !== undefined)
      await sleep(outcome.delayMillis, undefined, { signal: context.signal }).catch(() => undefined)
    const feedback = { type: 'custom_message', customType: SPEAKER, content: outcome.reason ?? GO_ON, display: true }
    return { continue: true, entries: [...((peek(data, 'entries') ?? []) as readonly unknown[]), feedback] }
  }

  #heard(data: unknown, context: PiContext): Heard {
    const sessionId = idOf(context.sessionManager?.getSessionId?.())
    let session = this.#sessions.get(sessionId ?? '')
    if (session === undefined) {
      session = { injected: [], retries: 0 }
      this.#sessions.set(sessionId ?? '', session)
    }
    return { data, context, ids: { sessionId }, session }
  }

  #end(ids: HookIds, session: SessionOfHooks): void {
    this.#hooks.endTurn(ids)
    session.injected = []
    session.retries = 0
  }

  #over(context: PiContext): void {
    try {
      const { ids, session } = this.#heard(undefined, context)
      this.#end(ids, session)
    } catch {
      // Pi has released the session: its turn is dropped when later ones fill the limit.
    }
  }
}

/** Adds the tool call id. Pi has no turn id: the trace uses the session's open turn. */
function of({ id }: ToolCall, ids: HookIds): HookIds {
  return { ...ids, toolCallId: id }
}

/** Blocks a prompt. Pi drops it silently, so the user is notified here. */
function refused(reason: string, _: unknown, { hasUI, ui }: PiContext): Answer {
  const line = `A hook has blocked this prompt: ${reason}`
  if (hasUI === true && typeof ui?.notify === 'function') ui.notify(line, 'warning')
  else toStandardError(`hookspan: pi: ${line}`)
  return { action: 'handled' }
}

/** Records a turn that was blocked before it began, which no other event reports. */
function tellRefused({ sessionId }: HookIds): void {
  const over = { session_id: sessionId, completed: false, interrupted: true, turn_exit_reason: 'blocked' }
  runningPlugin(HOST)?.emitUntyped('on_session_end', over)
}

function silencedAnswer(reason: string, data: unknown): Answer {
  return { message: silenced(peek(data, 'message'), reason) }
}

function blockedTool(reason: string): Answer {
  return { block: true, reason }
}

function withheldResult(reason: string): Answer {
  return { content: said(reason), isError: true }
}

/** Asks the user to approve exactly what would run. Returns false if the user cannot be asked. */
async function agreed(tool: ToolCall, outcome: Outcome<'beforeTool'>, { ui, signal }: PiContext): Promise<boolean> {
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
