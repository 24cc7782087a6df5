import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import {
  type Capabilities,
  type HookIds,
  type ModelMessage,
  type Outcome,
  type Phase,
  type RawToolCall,
  toolCallOf,
} from '../../guards/index.ts'
import { argumentsOf, injectedText, reasonOf } from '../base/guard-text.ts'
import type { GuardProtocol, GuardRequest, HookReply } from '../guard-protocol.ts'
import { OpenCalls } from './open-calls.ts'

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
/** The exit code that makes Gemini CLI block and use the standard error as the reason. */
const BLOCK_EXIT_CODE = 2

function eventOf(body: unknown): string {
  return textOf(peek(body, 'hook_event_name')) ?? ''
}

function rawTool(body: unknown, id?: string): RawToolCall {
  const name = textOf(peek(body, 'tool_name')) ?? ''
  return { name, arguments: argumentsOf(peek(body, 'tool_input')), id, cwd: textOf(peek(body, 'cwd')) }
}

/** Returns the text messages of a request. Guards do not receive other parts or the system prompt. */
function messagesOf(body: unknown): ModelMessage[] {
  return elementsOf(peek(peek(body, 'llm_request'), 'messages'), MESSAGES_LIMIT).map(message => {
    const role = peek(message, 'role') === 'model' ? 'assistant' : 'user'
    return { role, text: textOf(peek(message, 'content')) ?? '' }
  })
}

type RequestBuilder = (body: unknown, ids: HookIds) => GuardRequest

const REQUESTS: Readonly<Record<string, RequestBuilder>> = {
  BeforeAgent: (body, ids) => ({
    phase: 'beforeTurn',
    ids,
    event: { prompt: textOf(peek(body, 'prompt')) ?? '' },
  }),
  BeforeModel: (body, ids) => ({
    phase: 'beforeModel',
    ids,
    event: { model: textOf(peek(peek(body, 'llm_request'), 'model')), messages: messagesOf(body) },
  }),
  BeforeTool: (body, ids) => ({
    phase: 'beforeTool',
    ids,
    event: { tool: toolCallOf(rawTool(body, ids.toolCallId)) },
  }),
  AfterTool: (body, ids) => {
    const response = peek(body, 'tool_response')
    const isError = peek(response, 'error') !== undefined && peek(response, 'error') !== null
    const tool = toolCallOf(rawTool(body, ids.toolCallId))
    return { phase: 'afterTool', ids, event: { tool, result: peek(response, 'llmContent'), isError, attempt: 0 } }
  },
  AfterAgent: (body, ids) => ({
    phase: 'afterTurn',
    ids,
    event: {
      answer: textOf(peek(body, 'prompt_response')) ?? '',
      attempt: 0,
    },
  }),
}

const REPLIES: Readonly<Record<string, (outcome: Outcome<Phase>, body: unknown) => object | undefined>> = {
  BeforeAgent: outcome => denied(outcome) ?? addedContext('BeforeAgent', outcome),
  BeforeModel: beforeModel,
  BeforeTool: beforeTool,
  AfterTool: outcome => denied(outcome) ?? addedContext('AfterTool', outcome),
  // The agent goes on with the reason as its prompt.
  AfterAgent: denied,
}

function denied(outcome: Outcome<Phase>): object | undefined {
  return outcome.decision === 'pass' ? undefined : { decision: 'deny', reason: reasonOf(outcome) }
}

function addedContext(hookEventName: string, outcome: Outcome<Phase>): object | undefined {
  const additionalContext = injectedText(outcome)
  return additionalContext === undefined ? undefined : { hookSpecificOutput: { hookEventName, additionalContext } }
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

class GeminiGuardProtocol implements GuardProtocol {
  readonly capabilities: Capabilities = CAPABILITIES
  readonly #open = new OpenCalls()

  requestIn(body: unknown): GuardRequest | undefined {
    const event = eventOf(body)
    const asking = Object.hasOwn(REQUESTS, event) ? REQUESTS[event] : undefined
    const question = asking?.(body, this.#idsOf(event, body))
    if (question?.phase !== 'afterTurn') return question
    return { ...question, event: { ...question.event, attempt: this.#open.attemptOf(body) } }
  }

  reply(body: unknown, outcome: Outcome<Phase>): HookReply {
    const event = eventOf(body)
    if (event === 'BeforeTool' && outcome.isRewritten) this.#open.rewriteCall(body, outcome.value)
    if (event === 'AfterAgent' && outcome.decision === 'retry') this.#open.sentOn(body, reasonOf(outcome))
    return Object.hasOwn(REPLIES, event) ? { body: REPLIES[event]?.(outcome, body) } : {}
  }

  failClosedReply(body: unknown, reason: string): HookReply {
    const event = eventOf(body)
    // The end of a turn cannot fail closed: blocking it makes the agent go on.
    return Object.hasOwn(REQUESTS, event) && event !== 'AfterAgent' ? { exitCode: BLOCK_EXIT_CODE, error: reason } : {}
  }

  isEndOfTurn(body: unknown): boolean {
    return ['AfterAgent', 'SessionEnd'].includes(eventOf(body))
  }

  #idsOf(event: string, body: unknown): HookIds {
    const sessionId = idOf(peek(body, 'session_id'))
    if (event === 'BeforeAgent') this.#open.startTurn(body)
    const turnId = this.#open.turnOf(body)
    if (event === 'BeforeTool') return { sessionId, turnId, toolCallId: this.#open.startCall(body) }
    return event === 'AfterTool' ? { sessionId, turnId, toolCallId: this.#open.endCall(body) } : { sessionId, turnId }
  }
}

export function createGeminiGuardProtocol(): GuardProtocol {
  return new GeminiGuardProtocol()
}

export const geminiGuardProtocol: GuardProtocol = createGeminiGuardProtocol()
