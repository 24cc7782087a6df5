import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { DelegatedTask } from '../base/delegation.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { wrapJson } from '../base/messages.ts'
import { HostTurn, type Records } from '../base/records.ts'
import { type ModelRequest, RequestCounter } from '../base/requests.ts'
import { Approval, type ControlHookName, Tool, ToolHooks } from '../base/tool.ts'
import type { LoosePayload } from '../host-event.ts'
import { AiSdkConversation, answerOf, type ModelToolCall, modelToolCallOf, partsOf, tokensOf } from './messages.ts'
import { isAborted, type PlainError, plainError } from './types.ts'

/** One call of `generateText` or a similar function: a turn with all steps, requests and tools. */
export class AiSdkCall extends HostTurn {
  readonly id: string
  readonly requests: RequestCounter = new RequestCounter(this)
  readonly delegation: DelegatedTask | undefined
  readonly isStreamed: boolean
  readonly maxRetries: number | undefined
  lastAt: number
  stepStart: unknown
  isStepOpen = false
  failure: PlainError | undefined
  readonly pendingApprovals: { readonly approval: Approval; readonly command: unknown }[] = []
  readonly #tools = new Map<string, Tool>()
  readonly #toolIds = new Set<string>()
  readonly #toolHooks = new ToolHooks(this)
  #request: ModelRequest | undefined

  constructor(
    records: Records,
    sessionId: string,
    id: string,
    at: number,
    started: unknown,
    delegation?: DelegatedTask,
  ) {
    super(records, sessionId, id)
    this.id = id
    this.lastAt = at
    this.delegation = delegation
    this.stepStart = started
    this.isStreamed = textOf(peek(started, 'operationId'))?.startsWith('ai.stream') === true
    this.maxRetries = numberOf(peek(started, 'maxRetries'))
  }

  /** Starts a request. One without an answer broke off and is retried. */
  startRequest(at: number): void {
    this.failRequest(at, { name: 'incomplete', message: undefined, statusCode: undefined, isRetryable: true })
    this.#request = this.requests.nextRequest(at)
    this.#request.emitStart({ ...requestFacts(this.stepStart), stream: this.isStreamed })
  }

  /** The SDK reports the start of a request, not of each attempt. The first attempt is that request. */
  startAttempt(at: number): void {
    if (this.#request === undefined) this.startRequest(at)
  }

  failRequest(at: number, failure: PlainError): void {
    const request = this.#request
    if (request === undefined) return
    this.#request = undefined
    // Stopped by the application: neither the model nor the network failed.
    if (isAborted(failure)) {
      request.emitAnswer(at, { finish_reason: 'aborted' })
      return
    }
    this.requests.failures += 1
    request.emitFailure(at, {
      status_code: failure.statusCode,
      retryable: failure.isRetryable === true && request.retry !== this.maxRetries,
      max_retries: this.maxRetries,
      error: { type: failure.name, message: failure.message },
    })
  }

  endRequest(at: number, data: unknown, facts: LoosePayload<'post_api_request'>): void {
    const request = this.#request
    if (request === undefined) return
    this.#request = undefined
    this.requests.failures = 0
    request.emitAnswer(at, {
      ...facts,
      finish_reason: textOf(peek(data, 'finishReason'))?.replaceAll('-', '_'),
      usage: tokensOf(peek(data, 'usage')),
    })
  }

  receiveAnswer(at: number, data: unknown): void {
    const firstMillis = numberOf(peek(peek(data, 'performance'), 'timeToFirstOutputMs'))
    if (this.#request !== undefined && firstMillis !== undefined)
      this.#request.firstChunkAt = this.#request.startAt + firstMillis
    this.endRequest(at, data, {
      ...answerOf(peek(data, 'content')),
      base_url: peek(peek(data, 'request'), 'url'),
      response_model: peek(data, 'modelId'),
      response_id: peek(data, 'responseId'),
    })
  }

  get hasOpenTools(): boolean {
    return this.#tools.size > 0
  }

  startTool(at: number, asked: ModelToolCall): { readonly tool: Tool; readonly judgedAt: number | undefined } {
    const isTaken = this.#toolIds.has(asked.id)
    const tool = new Tool(this, isTaken ? `${asked.id}:${this.#toolIds.size}` : asked.id, asked.name, at)
    tool.args = asked.args
    tool.requestId = this.requests.lastId
    this.#toolIds.add(tool.id)
    this.#tools.set(asked.id, tool)
    return { tool, judgedAt: this.#toolHooks.startTool(tool, asked.id) }
  }

  endTool(at: number, asked: ModelToolCall, data: unknown): void {
    const tool = this.#tools.get(asked.id) ?? this.startTool(at, asked).tool
    this.#tools.delete(asked.id)
    tool.emitEnd(at, { ...outcomeOf(peek(data, 'toolOutput')), duration_ms: peek(data, 'toolExecutionMs') })
  }

  emitSkippedTool(at: number, asked: ModelToolCall, facts: LoosePayload<'post_tool_call'>): void {
    if (!this.#toolIds.has(asked.id)) {
      const { tool, judgedAt } = this.startTool(at, asked)
      tool.emitEnd(judgedAt ?? at, facts)
    }
    this.#tools.delete(asked.id)
  }

  receiveControlHook(hook: ControlHookName, at: number, payload: LoosePayload<'post_control_hook'>): void {
    this.#toolHooks.receive(hook, at, payload, this.#tools.get(idOf(payload.tool_call_id) ?? ''))
  }

  startStep(): void {
    this.isStepOpen = true
  }

  endStep(): void {
    this.isStepOpen = false
    this.#toolHooks.flush()
  }

  cancelOpenTools(at: number): void {
    for (const tool of this.#tools.values()) tool.emitEnd(at, { status: 'cancelled' }, 'inferred')
    this.#tools.clear()
    this.#toolHooks.flush()
  }

  /** An approval may take days: content must not stay in memory with the call. */
  releaseContent(): void {
    this.stepStart = undefined
    this.pendingApprovals.length = 0
  }

  emittedToolId(id: string): string | undefined {
    return this.#tools.get(id)?.id
  }
}

function requestFacts(data: unknown): LoosePayload<'pre_api_request'> {
  const messages = peek(data, 'messages') ?? peek(data, 'promptMessages')
  return {
    model: peek(data, 'modelId'),
    provider: providerOf(data),
    message_count: peek(messages, 'length'),
    system_prompt: peek(data, 'instructions'),
    request: messages === undefined ? undefined : new AiSdkConversation(messages, peek(data, 'tools')),
    max_tokens: peek(data, 'maxOutputTokens'),
    temperature: peek(data, 'temperature'),
    top_p: peek(data, 'topP'),
    top_k: peek(data, 'topK'),
    presence_penalty: peek(data, 'presencePenalty'),
    frequency_penalty: peek(data, 'frequencyPenalty'),
    stop: peek(data, 'stopSequences'),
    seed: peek(data, 'seed'),
    reasoning_effort: peek(data, 'reasoning'),
  }
}

/** `openai.responses` -> `openai`, `google.vertex.chat` -> `vertex`. */
export function providerOf(data: unknown): string | undefined {
  const said = idOf(peek(data, 'provider'))
  return said?.startsWith('google.vertex') === true ? 'vertex' : said?.split('.')[0]
}

function outcomeOf(output: unknown): LoosePayload<'post_tool_call'> {
  if (peek(output, 'type') === 'tool-error') {
    const { name, message } = plainError(peek(output, 'error'))
    const status = isAborted({ name }) ? 'cancelled' : name === 'TimeoutError' ? 'timeout' : 'error'
    return { status, error_type: name, error_message: message }
  }
  const result = peek(output, 'output')
  return { status: 'ok', result: wrapJson(result, { result }) }
}

const PENDING_LIMIT = 1000
const MESSAGES_LIMIT = 100

export interface UserDecision {
  readonly id: string
  readonly isGranted: boolean
  readonly reason: string | undefined
  readonly call: ModelToolCall | undefined
}

/**
 * Tool calls that need the user's approval. The SDK ends the call that wanted them. The application continues with
 * another call, whose messages end with the decisions: maybe days later, in another process.
 */
export class CallApprovals {
  readonly #pending = new LimitedMap<string, Approval>(PENDING_LIMIT)

  addRequests(call: AiSdkCall, at: number, content: unknown): void {
    for (const part of partsOf(content, 'tool-approval-request')) {
      const asked = modelToolCallOf(peek(part, 'toolCall'))
      const id = idOf(peek(part, 'approvalId'))
      if (asked === undefined || id === undefined || peek(part, 'isAutomatic') === true) continue
      const approval = new Approval(call, asked.id, asked.name, at)
      call.pendingApprovals.push({ approval, command: asked.args })
      this.#pending.set(id, approval)
    }
  }

  sessionOf(decisions: readonly UserDecision[]): string | undefined {
    return decisions.map(({ id }) => this.#pending.get(id)?.turn.sessionId).find(session => session !== undefined)
  }

  emitDecision(call: AiSdkCall, at: number, { id, isGranted, reason, call: asked }: UserDecision): void {
    const known = this.#pending.get(id)
    this.#pending.delete(id)
    const choice = isGranted ? 'once' : 'deny'
    if (known !== undefined) known.emitResponse(at, choice)
    else if (asked !== undefined) {
      // Another process requested it: the request and the response are both emitted now.
      const approval = new Approval(call, asked.id, asked.name, at)
      approval.emitRequest({ command: asked.args, surface: SURFACE }, 'inferred')
      approval.emitResponse(at, choice, 'inferred')
    }
    if (!isGranted && asked !== undefined) call.emitSkippedTool(at, asked, { status: 'blocked', error_message: reason })
  }
}

export function emitPendingRequests({ pendingApprovals: waiting }: AiSdkCall): void {
  for (const { approval, command } of waiting) approval.emitRequest({ command, surface: SURFACE })
}

const SURFACE = 'messages'

/** Only the last message counts, as in the SDK. */
export function decisionsOf(messages: unknown): readonly UserDecision[] {
  const last = elementsOf(messages, 1, 'last')[0]
  if (peek(last, 'role') !== 'tool') return []
  return partsOf(peek(last, 'content'), 'tool-approval-response').flatMap(part => {
    const id = idOf(peek(part, 'approvalId'))
    if (id === undefined) return []
    const isGranted = peek(part, 'approved') === true
    return [{ id, isGranted, reason: textOf(peek(part, 'reason')), call: requestIn(messages, id) }]
  })
}

function requestIn(messages: unknown, approvalId: string): ModelToolCall | undefined {
  const parts = elementsOf(messages, MESSAGES_LIMIT, 'last').flatMap(message =>
    elementsOf(peek(message, 'content'), 100),
  )
  const request = parts.find(part => isOf(part, 'tool-approval-request', 'approvalId', approvalId))
  const toolCallId = peek(request, 'toolCallId')
  return modelToolCallOf(parts.find(part => isOf(part, 'tool-call', 'toolCallId', toolCallId)))
}

function isOf(part: unknown, type: string, field: string, id: unknown): boolean {
  return id !== undefined && peek(part, 'type') === type && peek(part, field) === id
}
