/**
 * `hookspan/hooks/pi`: hooks that act in Pi. Measured with `@earendil-works/pi-coding-agent` 0.87.1: a handler of `tool_call` that
 * throws blocks the tool, and the text of the error goes to the model; one that hangs is waited for as long as it takes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { idOf, peek } from '../../contract/foreign.ts'
import { toStandardError } from '../../hooks/hook.ts'
import {
  type Able,
  type ControlHooks,
  type HookIds,
  HostHooks,
  type HostHooksOptions,
  type Injection,
  type Outcome,
  type Phase,
  type ToolCall,
} from '../../hooks/index.ts'
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
/** Our name beside what we say in a conversation. */
const SPEAKER = 'hookspan'
const SESSIONS_LIMIT = 200
/** Of what a person is asked about, characters. */
const SHOWN_LIMIT = 2000
const GO_ON = 'This is not done yet: a hook wants it to be tried again.'

/** What a hook can decide in Pi. What it makes of an answer comes behind what was shown of that while it was streamed. */
export const ABLE: Able = {
  beforeTurn: ['block', 'rewrite', 'inject'],
  beforeModel: ['rewrite', 'inject'],
  afterModel: ['block', 'rewrite'],
  beforeTool: ['block', 'rewrite', 'ask'],
  afterTool: ['block', 'rewrite', 'inject'],
  afterTurn: ['retry'],
}

/** How long the hooks may take, and where lines for the person go. */
export type AttachOptions = Pick<HostHooksOptions, 'limitMillis' | 'report'>

/**
 * Has hooks asked in Pi, from an extension of yours; beside hookspan's own extension, whichever of both is loaded first.
 *
 * @example
 * // ~/.pi/agent/extensions/guards.ts
 * import { attachHooks } from 'hookspan/hooks/pi'
 * import { hooks } from '/home/me/guards/hooks.js'
 * export default pi => attachHooks(pi, hooks)
 */
export function attachHooks(pi: PiExtensionApi, hooks: ControlHooks, options: AttachOptions = {}): void {
  const plugin = () => runningPlugin(HOST)
  new PiHooks(new HostHooks({ ...options, host: HOST, hooks, able: ABLE, plugin })).listenTo(pi)
}

interface Heard {
  readonly data: unknown
  readonly context: PiContext
  readonly ids: HookIds
  readonly session: SessionOfHooks
}

/** What is known of a session between two events. */
interface SessionOfHooks {
  /** What is to be said with the prompt that is on its way. */
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

  /** One handler for an event, and none where no hook is asked: Pi waits for each, and copies whole conversations for some. */
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
    // While the agent works, a message waits for it: that is a part of the turn that is under way.
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
    // What is given back is the whole of the system prompt.
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
    // In place: another object would be seen by other extensions alone, while the tool runs with the old one.
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

  /** The agent would be idle now, unless another extension has it go on. */
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
      // Pi has let go of the session: its turn is forgotten with the next ones.
    }
  }
}

/** Turns have no id of Pi's: the trace has the one that is open. */
function of({ id }: ToolCall, ids: HookIds): HookIds {
  return { ...ids, toolCallId: id }
}

/** Pi drops such a prompt without a word. */
function refused(reason: string, _: unknown, { hasUI, ui }: PiContext): Answer {
  const line = `A hook has blocked this prompt: ${reason}`
  if (hasUI === true && typeof ui?.notify === 'function') ui.notify(line, 'warning')
  else toStandardError(`hookspan: pi: ${line}`)
  return { action: 'handled' }
}

/** A turn that was stopped before it began: nobody else tells of it. */
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

/** Whether the person agrees to exactly what would run. Who cannot be asked has not. */
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
