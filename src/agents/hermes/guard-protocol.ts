import { idOf, isArray, peek, textOf } from '../../contract/foreign.ts'
import type { Capabilities, HookIds, Outcome, Phase, RawToolCall } from '../../guards/index.ts'
import { toolCallOf } from '../../guards/index.ts'
import { argumentsOf, injectedText, reasonOf, textFor } from '../base/guard-values.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { GuardProtocol, GuardRequest, HookReply } from '../guard-protocol.ts'

/**
 * Reads a field of a guard request. Hermes' plugin sends a hook record. A shell hook has the session, the tool and its arguments
 * at the top level, and other fields in `extra`.
 */
function fieldOf(body: unknown, key: string): unknown {
  return peek(peek(body, 'payload'), key) ?? peek(body, key) ?? peek(peek(body, 'extra'), key)
}

function eventOf(body: unknown): string {
  return textOf(peek(body, 'hook') ?? peek(body, 'hook_event_name')) ?? ''
}

function rawTool(body: unknown): RawToolCall {
  return {
    name: textOf(fieldOf(body, 'tool_name')) ?? '',
    arguments: argumentsOf(fieldOf(body, 'args') ?? peek(body, 'tool_input')),
    id: idOf(fieldOf(body, 'tool_call_id')),
    cwd: textOf(peek(body, 'cwd')),
  }
}

const REQUESTS: Readonly<Record<string, (ids: HookIds, body: unknown) => GuardRequest>> = {
  pre_llm_call: (ids, body) => {
    return { phase: 'beforeTurn', ids, event: { prompt: promptOf(fieldOf(body, 'user_message')) } }
  },
  pre_tool_call: (ids, body) => ({ phase: 'beforeTool', ids, event: { tool: toolCallOf(rawTool(body)) } }),
  transform_tool_result: (ids, body) => {
    const tool = toolCallOf(rawTool(body))
    const isError = fieldOf(body, 'status') === 'error' || textOf(fieldOf(body, 'error_message')) !== undefined
    return { phase: 'afterTool', ids, event: { tool, result: fieldOf(body, 'result'), isError, attempt: 0 } }
  },
  transform_llm_output: (ids, body) => {
    return { phase: 'afterTurn', ids, event: { answer: textOf(fieldOf(body, 'response_text')) ?? '', attempt: 0 } }
  },
}

/** A prompt with images has parts. */
function promptOf(message: unknown): string {
  if (!isArray(message)) return textOf(message) ?? ''
  return message.flatMap(part => textOf(peek(part, 'text')) ?? []).join('\n')
}

const REPLIES: Readonly<Record<string, (outcome: Outcome<Phase>, body: unknown) => object | undefined>> = {
  pre_llm_call: outcome => {
    const context = injectedText(outcome)
    return context === undefined ? undefined : { context }
  },
  pre_tool_call: beforeTool,
  transform_tool_result: outcome => {
    if (outcome.decision !== 'pass') return { result: errorResult(reasonOf(outcome)) }
    return outcome.isRewritten ? { result: textFor(outcome.value) } : undefined
  },
  // Hermes ignores an empty text.
  transform_llm_output: ({ isRewritten, value }) => (isRewritten ? { result: textFor(value) || ' ' } : undefined),
}

function beforeTool(outcome: Outcome<Phase>, body: unknown): object | undefined {
  const { decision, isRewritten, value } = outcome
  if (decision === 'pass') return isRewritten ? { action: 'modify', args: value } : undefined
  if (decision !== 'ask') return { action: 'block', message: reasonOf(outcome) }
  return { ...approval(outcome, body), ...(isRewritten && { args: value }) }
}

/**
 * Builds an approval. Hermes shows only this message, and nothing of the tool's input. "Always" applies to exactly this question.
 */
function approval(outcome: Outcome<Phase>, body: unknown): object {
  const tool = toolCallOf({ ...rawTool(body), arguments: argumentsOf(outcome.value) })
  const shown = (tool.command ?? JSON.stringify(tool.arguments)).slice(0, 500)
  const rule_key = `hookspan:${outcome.by ?? ''}:${tool.name}:${shown}`
  return { action: 'approve', message: `${reasonOf(outcome)}\n${shown}`, rule_key }
}

/** Results are usually JSON; the model reads an error from this key. */
function errorResult(reason: string): string {
  return JSON.stringify({ error: reason })
}

/** Tracks the open turn of each session, which Hermes omits for answers. */
export class HermesGuardProtocol implements GuardProtocol {
  readonly capabilities: Capabilities = {
    beforeTurn: ['inject'],
    beforeTool: ['block', 'rewrite', 'ask'],
    afterTool: ['block', 'rewrite'],
    afterTurn: ['rewrite'],
  }
  readonly #turns = new LimitedMap<string, string>(1000)

  requestIn(body: unknown): GuardRequest | undefined {
    const event = eventOf(body)
    return Object.hasOwn(REQUESTS, event) ? REQUESTS[event]?.(this.#idsOf(body), body) : undefined
  }

  reply(body: unknown, outcome: Outcome<Phase>): HookReply {
    const event = eventOf(body)
    return Object.hasOwn(REPLIES, event) ? { body: REPLIES[event]?.(outcome, body) } : {}
  }

  failClosedReply(body: unknown, reason: string): HookReply {
    const event = eventOf(body)
    if (event === 'pre_tool_call') return { body: { action: 'block', message: reason } }
    return event === 'transform_tool_result' ? { body: { result: errorResult(reason) } } : {}
  }

  isEndOfTurn(body: unknown): boolean {
    return eventOf(body) === 'transform_llm_output'
  }

  #idsOf(body: unknown): HookIds {
    const sessionId = idOf(fieldOf(body, 'session_id'))
    const turnId = idOf(fieldOf(body, 'turn_id')) ?? this.#turns.get(sessionId ?? '')
    if (turnId !== undefined) this.#turns.set(sessionId ?? '', turnId)
    const toolCallId = idOf(fieldOf(body, 'tool_call_id'))
    return { sessionId, turnId, toolCallId, requestId: idOf(fieldOf(body, 'api_request_id')) }
  }
}

export const hermesGuardProtocol: GuardProtocol = new HermesGuardProtocol()
