import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import type { Capabilities, HookIds, ModelMessage, Outcome, Phase } from '../../guards/index.ts'
import { timestampOf } from '../base/event-machine.ts'
import { addedContext, hookOf, injectedText, reasonOf, textField, toolIn } from '../base/guard-values.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { toolKey } from '../base/tool.ts'
import { BLOCK_EXIT_CODE, type GuardProtocol, type GuardRequest, type HookReply } from '../guard-protocol.ts'
import { callIdOf } from './events.ts'

/**
 * Decisions that Gemini CLI accepts from hooks. `ask` is excluded: without a user, as in `gemini -p`, the agent would wait
 * forever, and no hook can detect that.
 */
export const CAPABILITIES: Capabilities = {
  beforeTurn: ['block', 'inject'],
  beforeModel: ['block', 'rewrite', 'inject'],
  beforeTool: ['block', 'rewrite'],
  afterTool: ['block', 'inject'],
  afterTurn: ['retry'],
}

const MESSAGES_LIMIT = 10_000

/** Returns the text messages of a request. Guards do not receive other parts or the system prompt. */
function messagesOf(body: unknown): ModelMessage[] {
  return elementsOf(peek(peek(body, 'llm_request'), 'messages'), MESSAGES_LIMIT).map(message => {
    const role = peek(message, 'role') === 'model' ? 'assistant' : 'user'
    return { role, text: textField(message, 'content') }
  })
}

type RequestBuilder = (body: unknown, ids: HookIds) => GuardRequest

const REQUESTS: ReadonlyMap<string, RequestBuilder> = new Map<string, RequestBuilder>([
  ['BeforeAgent', (body, ids) => ({ phase: 'beforeTurn', ids, event: { prompt: textField(body, 'prompt') } })],
  [
    'BeforeModel',
    (body, ids) => {
      const model = textOf(peek(peek(body, 'llm_request'), 'model'))
      return { phase: 'beforeModel', ids, event: { model, messages: messagesOf(body) } }
    },
  ],
  ['BeforeTool', (body, ids) => ({ phase: 'beforeTool', ids, event: { tool: toolIn(body, ids.toolCallId) } })],
  [
    'AfterTool',
    (body, ids) => {
      const response = peek(body, 'tool_response')
      const isError = (peek(response, 'error') ?? null) !== null
      const event = { tool: toolIn(body, ids.toolCallId), result: peek(response, 'llmContent'), isError, attempt: 0 }
      return { phase: 'afterTool', ids, event }
    },
  ],
  [
    'AfterAgent',
    (body, ids) => ({ phase: 'afterTurn', ids, event: { answer: textField(body, 'prompt_response'), attempt: 0 } }),
  ],
])

const REPLIES: ReadonlyMap<string, (outcome: Outcome<Phase>) => object | undefined> = new Map([
  ['BeforeAgent', outcome => denied(outcome) ?? addedContext('BeforeAgent', outcome)],
  ['BeforeModel', beforeModel],
  ['BeforeTool', beforeTool],
  ['AfterTool', outcome => denied(outcome) ?? addedContext('AfterTool', outcome)],
  // The agent goes on with the reason as its prompt.
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
  if (outcome.decision !== 'pass') return { ...denied(outcome), ...modelAnswer(reasonOf(outcome)) }
  const text = injectedText(outcome)
  if (!outcome.isRewritten && text === undefined) return undefined
  const messages = (outcome.value as readonly ModelMessage[]).map(messageOf)
  if (text !== undefined) messages.push({ role: 'user', content: text })
  return { hookSpecificOutput: { hookEventName: 'BeforeModel', llm_request: { messages } } }
}

function messageOf({ role, text }: ModelMessage): { role: string; content: string } {
  return { role: role === 'assistant' ? 'model' : role, content: text }
}

/** Answers in place of the model; otherwise the user would see no answer. */
function modelAnswer(text: string): object {
  const content = { role: 'model', parts: [text] }
  const llm_response = { candidates: [{ content, finishReason: 'STOP' }] }
  return { hookSpecificOutput: { hookEventName: 'BeforeModel', llm_response } }
}

export class GeminiGuardProtocol implements GuardProtocol {
  readonly capabilities: Capabilities = CAPABILITIES
  readonly #open = new OpenCalls()

  requestIn(body: unknown): GuardRequest | undefined {
    const event = hookOf(body)
    const question = REQUESTS.get(event)?.(body, this.#idsOf(event, body))
    if (question?.phase !== 'afterTurn') return question
    return { ...question, event: { ...question.event, attempt: this.#open.attemptOf(body) } }
  }

  reply(body: unknown, outcome: Outcome<Phase>): HookReply {
    const event = hookOf(body)
    if (event === 'BeforeTool' && outcome.isRewritten) this.#open.rewriteCall(body, outcome.value)
    if (event === 'AfterAgent' && outcome.decision === 'retry') this.#open.sentOn(body, reasonOf(outcome))
    return { body: REPLIES.get(event)?.(outcome) }
  }

  failClosedReply(body: unknown, reason: string): HookReply {
    const event = hookOf(body)
    // The end of a turn cannot fail closed: blocking it makes the agent go on.
    return REQUESTS.has(event) && event !== 'AfterAgent' ? { exitCode: BLOCK_EXIT_CODE, error: reason } : {}
  }

  isEndOfTurn(body: unknown): boolean {
    return ['AfterAgent', 'SessionEnd'].includes(hookOf(body))
  }

  #idsOf(event: string, body: unknown): HookIds {
    const sessionId = idOf(peek(body, 'session_id'))
    if (event === 'BeforeAgent') this.#open.startTurn(body)
    const turnId = this.#open.turnOf(body)
    if (event === 'BeforeTool') return { sessionId, turnId, toolCallId: this.#open.startCall(body) }
    return event === 'AfterTool' ? { sessionId, turnId, toolCallId: this.#open.endCall(body) } : { sessionId, turnId }
  }
}

const SESSIONS_LIMIT = 1000
const CALLS_LIMIT = 1000

interface OpenCall {
  key: string
  readonly id: string
}

interface OpenSession {
  turnId: string | undefined
  retry: { readonly by: string; readonly times: number } | undefined
  readonly calls: OpenCall[]
}

/** Maps turns and calls of Gemini CLI to their ids in the trace, which its hooks lack. */
class OpenCalls {
  readonly #sessions = new LimitedMap<string, OpenSession>(SESSIONS_LIMIT)

  startTurn(body: unknown): void {
    const sessionId = idOf(peek(body, 'session_id'))
    const at = timestampOf(body)
    if (sessionId === undefined) return
    const before = this.#sessions.get(sessionId)?.retry
    const noteRetry = before?.by === peek(body, 'prompt') ? before : undefined
    this.#sessions.set(sessionId, {
      turnId: at === undefined ? undefined : `${sessionId}:${at}`,
      retry: noteRetry,
      calls: [],
    })
  }

  /**
   * Handles `AfterAgent` that a hook has blocked. Gemini CLI continues with the reason as a prompt, and later treats it as an
   * ordinary prompt.
   */
  sentOn(body: unknown, by: string): void {
    this.#sessionOf(body).retry = { by, times: this.attemptOf(body) + 1 }
  }

  attemptOf(body: unknown): number {
    return this.#sessionOf(body).retry?.times ?? 0
  }

  turnOf(body: unknown): string | undefined {
    return this.#sessionOf(body).turnId
  }

  startCall(body: unknown): string | undefined {
    const sessionId = idOf(peek(body, 'session_id'))
    const at = timestampOf(body)
    if (sessionId === undefined || at === undefined) return undefined
    const key = keyOf(body)
    const id = callIdOf(sessionId, key, at)
    const { calls } = this.#sessionOf(body)
    calls.push({ key, id })
    if (calls.length > CALLS_LIMIT) calls.shift()
    return id
  }

  rewriteCall(body: unknown, input: unknown): void {
    const key = keyOf(body)
    const call = this.#sessionOf(body).calls.findLast(one => one.key === key)
    if (call !== undefined) call.key = toolKey(peek(body, 'tool_name'), input)
  }

  /** Handles `AfterTool`. Of identical calls, the first ends, as in the trace. */
  endCall(body: unknown): string | undefined {
    const key = keyOf(body)
    const { calls } = this.#sessionOf(body)
    const at = calls.findIndex(one => one.key === key)
    return at < 0 ? undefined : calls.splice(at, 1)[0]?.id
  }

  #sessionOf(body: unknown): OpenSession {
    const sessionId = idOf(peek(body, 'session_id')) ?? ''
    return this.#sessions.recall(sessionId, () => ({ turnId: undefined, retry: undefined, calls: [] }))
  }
}

function keyOf(body: unknown): string {
  return toolKey(peek(body, 'tool_name'), peek(body, 'tool_input'))
}

export const geminiGuardProtocol: GuardProtocol = new GeminiGuardProtocol()
