import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import type { Capabilities, ModelMessage, Outcome, Phase } from '../../guards/index.ts'
import { timestampOf } from '../base/event-machine.ts'
import { addedContext, hookOf, injectedText, reasonOf, textField, toolIn } from '../base/guard-values.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { toolKey } from '../base/tool.ts'
import { BLOCK_EXIT_CODE, type GuardProtocol, type GuardRequest, type HookReply } from '../guard-protocol.ts'
import { callIdOf } from './events.ts'

/** Returns the text messages of a request. Guards do not receive other parts or the system prompt. */
function messagesOf(body: unknown): ModelMessage[] {
  return elementsOf(peek(peek(body, 'llm_request'), 'messages'), 10_000).map(message => {
    const role = peek(message, 'role') === 'model' ? 'assistant' : 'user'
    return { role, text: textField(message, 'content') }
  })
}

const REPLIES: ReadonlyMap<string, (outcome: Outcome<Phase>) => object | undefined> = new Map([
  ['BeforeAgent', outcome => denied(outcome) ?? addedContext('BeforeAgent', outcome)],
  ['BeforeModel', beforeModel],
  ['BeforeTool', beforeTool],
  ['AfterTool', outcome => denied(outcome) ?? addedContext('AfterTool', outcome)],
  ['AfterAgent', denied],
])

function denied(outcome: Outcome<Phase>): object | undefined {
  return outcome.decision === 'pass' ? undefined : { decision: 'deny', reason: reasonOf(outcome) }
}

function beforeTool(outcome: Outcome<Phase>): object | undefined {
  if (outcome.decision !== 'pass' || !outcome.isRewritten) return denied(outcome)
  return { hookSpecificOutput: { hookEventName: 'BeforeTool', tool_input: outcome.value } }
}

function beforeModel(outcome: Outcome<Phase>): object | undefined {
  const hookEventName = 'BeforeModel'
  if (outcome.decision !== 'pass') {
    // Answers in place of the model; otherwise the user would see no answer.
    const content = { role: 'model', parts: [reasonOf(outcome)] }
    const llm_response = { candidates: [{ content, finishReason: 'STOP' }] }
    return { ...denied(outcome), hookSpecificOutput: { hookEventName, llm_response } }
  }
  const text = injectedText(outcome)
  if (!outcome.isRewritten && text === undefined) return undefined
  const messages = (outcome.value as readonly ModelMessage[]).map(message => {
    return { role: message.role === 'assistant' ? 'model' : message.role, content: message.text }
  })
  if (text !== undefined) messages.push({ role: 'user', content: text })
  return { hookSpecificOutput: { hookEventName, llm_request: { messages } } }
}

interface OpenSession {
  readonly turnId: string | undefined
  retry?: { readonly by: string; readonly times: number } | undefined
  readonly calls: { key: string; readonly id: string }[]
}

export class GeminiGuardProtocol implements GuardProtocol {
  /**
   * Decisions that Gemini CLI accepts from hooks. `ask` is excluded: without a user, as in `gemini -p`, the agent would wait
   * forever, and no hook can detect that.
   */
  readonly capabilities: Capabilities = {
    beforeTurn: ['block', 'inject'],
    beforeModel: ['block', 'rewrite', 'inject'],
    beforeTool: ['block', 'rewrite'],
    afterTool: ['block', 'inject'],
    afterTurn: ['retry'],
  }
  /** Maps turns and calls to their ids in the trace, which the hooks lack. */
  readonly #sessions = new LimitedMap<string, OpenSession>(1000)

  requestIn(body: unknown): GuardRequest | undefined {
    const event = hookOf(body)
    const session = event === 'BeforeAgent' ? this.#startTurn(body) : this.#sessionOf(body)
    const ids = { sessionId: idOf(peek(body, 'session_id')), turnId: session.turnId }
    switch (event) {
      case 'BeforeAgent':
        return { phase: 'beforeTurn', ids, event: { prompt: textField(body, 'prompt') } }
      case 'BeforeModel': {
        const model = textOf(peek(peek(body, 'llm_request'), 'model'))
        return { phase: 'beforeModel', ids, event: { model, messages: messagesOf(body) } }
      }
      case 'BeforeTool': {
        const toolCallId = startCall(session, body)
        return { phase: 'beforeTool', ids: { ...ids, toolCallId }, event: { tool: toolIn(body, toolCallId) } }
      }
      case 'AfterTool': {
        const toolCallId = endCall(session, body)
        const response = peek(body, 'tool_response')
        const isError = (peek(response, 'error') ?? null) !== null
        const after = { tool: toolIn(body, toolCallId), result: peek(response, 'llmContent'), isError, attempt: 0 }
        return { phase: 'afterTool', ids: { ...ids, toolCallId }, event: after }
      }
      case 'AfterAgent': {
        const after = { answer: textField(body, 'prompt_response'), attempt: session.retry?.times ?? 0 }
        return { phase: 'afterTurn', ids, event: after }
      }
      default:
        return undefined
    }
  }

  reply(body: unknown, outcome: Outcome<Phase>): HookReply {
    const event = hookOf(body)
    const session = this.#sessionOf(body)
    if (event === 'BeforeTool' && outcome.isRewritten) {
      const call = session.calls.findLast(({ key }) => key === keyOf(body))
      if (call !== undefined) call.key = toolKey(peek(body, 'tool_name'), outcome.value)
    }
    // Gemini CLI continues with the reason as a prompt, and later treats it as an ordinary prompt.
    if (event === 'AfterAgent' && outcome.decision === 'retry')
      session.retry = { by: reasonOf(outcome), times: (session.retry?.times ?? 0) + 1 }
    return { body: REPLIES.get(event)?.(outcome) }
  }

  failClosedReply(body: unknown, reason: string): HookReply {
    // The end of a turn cannot fail closed: blocking it makes the agent go on.
    const event = hookOf(body)
    return REPLIES.has(event) && event !== 'AfterAgent' ? { exitCode: BLOCK_EXIT_CODE, error: reason } : {}
  }

  isEndOfTurn(body: unknown): boolean {
    return ['AfterAgent', 'SessionEnd'].includes(hookOf(body))
  }

  #startTurn(body: unknown): OpenSession {
    const sessionId = idOf(peek(body, 'session_id')) ?? ''
    const at = timestampOf(body)
    const { retry } = this.#sessionOf(body)
    const turnId = sessionId === '' || at === undefined ? undefined : `${sessionId}:${at}`
    const session = { turnId, retry: retry?.by === peek(body, 'prompt') ? retry : undefined, calls: [] }
    this.#sessions.set(sessionId, session)
    return session
  }

  #sessionOf(body: unknown): OpenSession {
    const sessionId = idOf(peek(body, 'session_id')) ?? ''
    return this.#sessions.recall(sessionId, () => ({ turnId: undefined, calls: [] }))
  }
}

function startCall({ calls }: OpenSession, body: unknown): string | undefined {
  const sessionId = idOf(peek(body, 'session_id'))
  const at = timestampOf(body)
  if (sessionId === undefined || at === undefined) return undefined
  const key = keyOf(body)
  const id = callIdOf(sessionId, key, at)
  calls.push({ key, id })
  if (calls.length > 1000) calls.shift()
  return id
}

/** Handles `AfterTool`. Of identical calls, the first ends, as in the trace. */
function endCall({ calls }: OpenSession, body: unknown): string | undefined {
  const key = keyOf(body)
  const at = calls.findIndex(one => one.key === key)
  return at < 0 ? undefined : calls.splice(at, 1)[0]?.id
}

function keyOf(body: unknown): string {
  return toolKey(peek(body, 'tool_name'), peek(body, 'tool_input'))
}

export const geminiGuardProtocol: GuardProtocol = new GeminiGuardProtocol()
