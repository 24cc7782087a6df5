import { booleanOf, elementsOf, idOf, isArray, keysOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { EventHandler, EventHandlers, TimedEvent } from '../base/event-machine.ts'
import { EventMachine, eventHandlers } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { joinTexts, LazyConversation, wrapJson } from '../base/messages.ts'
import { RecordScope, type Records, type TurnResult } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import { Approval, controlHookOf, DelegatedTask, Tool, ToolHooks } from '../base/tool.ts'
import { HostTurn } from '../base/turn.ts'
import { type UsageCounts, usageOf } from '../base/usage.ts'
import type { LoosePayload } from '../host-event.ts'
import { isAborted, isStreamLeft, type PlainError, plainError } from './types.ts'

/** One call of `generateText` or a similar function: a turn with all steps, requests and tools. */
class AiSdkCall extends HostTurn {
  readonly id: string
  readonly delegation: DelegatedTask | undefined
  readonly isStreamed: boolean
  readonly maxRetries: number | undefined
  stepStart: unknown
  isStepOpen = false
  failure: PlainError | undefined
  readonly pendingApprovals: { readonly approval: Approval; readonly command: unknown }[] = []
  readonly openTools: Map<string, Tool> = new Map()
  readonly #toolIds = new Set<string>()
  readonly toolHooks: ToolHooks = new ToolHooks(this)
  #request: ModelRequest | undefined

  constructor(records: Records, session: string, id: string, at: number, started: unknown, delegation?: DelegatedTask) {
    super(records, session, id, at)
    this.id = id
    this.delegation = delegation
    this.stepStart = started
    this.isStreamed = textOf(peek(started, 'operationId'))?.startsWith('ai.stream') === true
    this.maxRetries = numberOf(peek(started, 'maxRetries'))
  }

  /** Starts a request. One without an answer broke off and is retried. */
  startRequest(at: number, stepStart: unknown): void {
    this.stepStart = stepStart
    this.failRequest(at, { name: 'incomplete', message: undefined, statusCode: undefined, isRetryable: true })
    this.#request = this.requests.nextRequest(at)
    this.#request.emitStart({ ...requestFacts(this.stepStart), stream: this.isStreamed })
  }

  /** The SDK reports the start of a request, not of each attempt. The first attempt is that request. */
  startAttempt(at: number): void {
    if (this.#request === undefined) this.startRequest(at, this.stepStart)
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

  startTool(at: number, asked: ModelToolCall): { readonly tool: Tool; readonly judgedAt: number | undefined } {
    const isTaken = this.#toolIds.has(asked.id)
    const tool = new Tool(this, isTaken ? `${asked.id}:${this.#toolIds.size}` : asked.id, asked.name, at)
    tool.args = asked.args
    tool.requestId = this.requests.lastId
    this.#toolIds.add(tool.id)
    this.openTools.set(asked.id, tool)
    return { tool, judgedAt: this.toolHooks.startTool(tool, asked.id) }
  }

  endTool(at: number, asked: ModelToolCall, data: unknown): void {
    const tool = this.openTools.get(asked.id) ?? this.startTool(at, asked).tool
    this.openTools.delete(asked.id)
    tool.emitEnd(at, { ...outcomeOf(peek(data, 'toolOutput')), duration_ms: peek(data, 'toolExecutionMs') })
  }

  emitSkippedTool(at: number, asked: ModelToolCall | undefined, facts: LoosePayload<'post_tool_call'>): void {
    if (asked === undefined) return
    if (!this.#toolIds.has(asked.id)) {
      const { tool, judgedAt } = this.startTool(at, asked)
      tool.emitEnd(judgedAt ?? at, facts)
    }
    this.openTools.delete(asked.id)
  }

  cancelOpenTools(at: number): void {
    for (const tool of this.openTools.values()) tool.emitEnd(at, { status: 'cancelled' }, 'inferred')
    this.openTools.clear()
    this.toolHooks.flush()
  }

  openTool(id: unknown): Tool | undefined {
    return this.openTools.get(idOf(id) ?? '')
  }
}

function requestFacts(data: unknown): LoosePayload<'pre_api_request'> {
  const messages = peek(data, 'messages') ?? peek(data, 'promptMessages')
  const convert = (): readonly unknown[] => elementsOf(messages, MESSAGES_LIMIT, 'last').flatMap(asMessages)
  return {
    model: peek(data, 'modelId'),
    provider: providerOf(data),
    message_count: peek(messages, 'length'),
    system_prompt: peek(data, 'instructions'),
    request: messages === undefined ? undefined : new LazyConversation(convert, peek(data, 'tools')),
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
function providerOf(data: unknown): string | undefined {
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

const MESSAGES_LIMIT = 100

type UserDecision = ReturnType<typeof decisionsOf>[number]

const SURFACE = 'messages'

/** Only the last message counts, as in the SDK. */
function decisionsOf(messages: unknown) {
  const last = elementsOf(messages, 1, 'last')[0]
  if (peek(last, 'role') !== 'tool') return []
  return partsOf(peek(last, 'content'), 'tool-approval-response').flatMap(part => {
    const id = idOf(peek(part, 'approvalId'))
    if (id === undefined) return []
    const isGranted = peek(part, 'approved') === true
    return [{ id, isGranted, reason: peek(part, 'reason'), call: requestIn(messages, id) }]
  })
}

function blockedFor(reason: unknown): LoosePayload<'post_tool_call'> {
  return { status: 'blocked', error_message: textOf(reason) }
}

function requestIn(messages: unknown, approvalId: string): ModelToolCall | undefined {
  const recent = elementsOf(messages, MESSAGES_LIMIT, 'last').map(message => peek(message, 'content'))
  const requests = recent.flatMap(content => partsOf(content, 'tool-approval-request'))
  const request = requests.find(each => peek(each, 'approvalId') === approvalId)
  const toolCallId = peek(request, 'toolCallId')
  const calls = toolCallId === undefined ? [] : recent.flatMap(content => partsOf(content, 'tool-call'))
  return modelToolCallOf(calls.find(call => peek(call, 'toolCallId') === toolCallId))
}

const OPEN_LIMIT = 1000
/** After this time without an event or a running tool, a call is over: its stream was not read to the end. */
const STALE_MILLIS = 600_000

/** Calls that are turns. All others (`ai.embed`, `ai.rerank`, …) are one request each. */
const TURNS: ReadonlySet<string> = new Set(['ai.generateText', 'ai.streamText', 'ai.generateObject', 'ai.streamObject'])

/** Events that repeat others, and the extra lines of captures. */
const QUIET = ['onStepFinish', 'onEmbedStart', 'onEmbedEnd', 'onRerankStart', 'onRerankEnd', 'RESULT', 'THROWN']

export class AiSdkMachine extends EventMachine {
  readonly #calls = new LimitedMap<string, AiSdkCall>(OPEN_LIMIT)
  readonly #sideCalls = new LimitedMap<string, ModelRequest>(OPEN_LIMIT)
  readonly #turns = new LimitedMap<string, AiSdkCall>(OPEN_LIMIT)
  /**
   * Tool calls that need the user's approval. The SDK ends the call that wanted them. The application continues with
   * another call, whose messages end with the decisions: maybe days later, in another process.
   */
  readonly #approvals = new LimitedMap<string, Approval>(1000)

  protected readonly events: EventHandlers = eventHandlers(
    {
      onStart: ({ at, data, context }) => {
        const id = idOf(peek(data, 'callId'))
        // Two registered integrations report every event twice.
        if (id === undefined || this.#calls.has(id) || this.#sideCalls.has(id)) return
        const caller = this.#calls.get(idOf(peek(context, 'callId')) ?? '')
        const operation = textOf(peek(data, 'operationId')) ?? 'ai.generateText'
        if (!TURNS.has(operation)) this.#startSideCall(id, at, operation, data, caller)
        else if (caller === undefined) this.#startTurn(id, at, data)
        else this.#openCall(id, at, data, id, delegate(caller, peek(context, 'toolCallId'), id, at, data))
      },
      onStepStart: this.#inCall(call => {
        call.isStepOpen = true
      }),
      // `generateObject` reports a step, but not the request in it.
      onObjectStepStart: this.#inCall((call, { at, data }) => {
        call.isStepOpen = true
        call.startRequest(at, data)
      }),
      onLanguageModelCallStart: this.#inCall((call, { at, data }) => call.startRequest(at, data)),
      attemptStart: this.#inCall((call, { at }) => call.startAttempt(at)),
      attemptError: this.#inCall((call, moment) => call.failRequest(moment.at, errorOf(moment))),
      onLanguageModelCallEnd: this.#inCall((call, { at, data }) => call.receiveAnswer(at, data)),
      onToolExecutionStart: this.#ofTool((call, asked, { at }) => call.startTool(at, asked)),
      onToolExecutionEnd: this.#ofTool((call, asked, { at, data }) => call.endTool(at, asked, data)),
      onStepEnd: this.#inCall((call, { at, data }) => {
        const content = peek(data, 'content')
        for (const part of partsOf(content, 'tool-approval-request')) this.#addApproval(call, at, part)
        for (const part of partsOf(content, 'tool-approval-response'))
          if (booleanOf(peek(part, 'approved')) === false)
            call.emitSkippedTool(at, modelToolCallOf(peek(part, 'toolCall')), blockedFor(peek(part, 'reason')))
        for (const part of partsOf(content, 'tool-error')) {
          const { name, message } = plainError(peek(part, 'error'))
          const facts = { status: 'error', error_type: name, error_message: message }
          call.emitSkippedTool(at, modelToolCallOf(part), facts)
        }
        call.isStepOpen = false
        call.toolHooks.flush()
      }),
      onObjectStepEnd: this.#inCall((call, { at, data }) => {
        const response = peek(data, 'response')
        call.isStepOpen = false
        call.endRequest(at, data, {
          response: { assistant_message: { role: 'assistant', content: peek(data, 'objectText') } },
          response_model: peek(response, 'modelId'),
          response_id: peek(response, 'id'),
        })
      }),
      onStepError: this.#inCall((call, moment) => this.#failCall(call, moment.at, call.failure ?? errorOf(moment))),
      onEnd: ({ at, data }) => {
        const id = idOf(peek(data, 'callId')) ?? ''
        this.#endedSideCall(id)?.emitAnswer(at, { usage: tokensOf(peek(data, 'usage')) })
        const call = this.#calls.get(id)
        if (call === undefined) return
        const error = peek(data, 'error') ?? call.failure
        if (error !== undefined) this.#failCall(call, at, plainError(error))
        else if (call.pendingApprovals.length > 0) this.#closeCall(call, at, 'interrupted', 'approval')
        else this.#closeCall(call, at, 'completed', undefined, peek(data, 'text') ?? peek(data, 'object'))
      },
      pre_control_hook: moment => this.#receiveControlHook(moment),
      post_control_hook: moment => this.#receiveControlHook(moment),
      onAbort: this.#inCall((call, { at }) => this.#failCall(call, at, ABORTED)),
      // While a step is open, its own end or that of the call follows.
      onError: moment => {
        const { at, data } = moment
        const id = idOf(peek(data, 'callId')) ?? ''
        const failure = errorOf(moment)
        const { name, message } = failure
        this.#endedSideCall(id)?.emitFailure(at, { error: { type: name, message }, error_type: name })
        const call = this.#calls.get(id)
        if (call === undefined) return
        call.failure ??= failure
        if (call.isStepOpen) call.failRequest(at, failure)
        else this.#failCall(call, at, call.failure)
      },
    },
    QUIET,
  )

  /** Nested calls end first: the newest is the deepest. */
  protected endSessions(at: number): void {
    for (const call of [...this.#calls.values()].reverse())
      this.#closeCall(call, Math.max(at, call.lastAt), 'interrupted', 'cut_off')
  }

  #startTurn(id: string, at: number, data: unknown): void {
    const decisions = decisionsOf(peek(data, 'messages'))
    const session = this.#sessionOf(id, at, data, decisions)
    const call = this.#openCall(id, at, data, session)
    this.#turns.set(session, call)
    for (const decision of decisions) this.#emitDecision(call, at, decision)
  }

  #addApproval(call: AiSdkCall, at: number, part: unknown): void {
    const asked = modelToolCallOf(peek(part, 'toolCall'))
    const id = idOf(peek(part, 'approvalId'))
    if (asked === undefined || id === undefined || peek(part, 'isAutomatic') === true) return
    const approval = new Approval(call, asked.id, asked.name, at)
    call.pendingApprovals.push({ approval, command: asked.args })
    this.#approvals.set(id, approval)
  }

  #emitDecision(call: AiSdkCall, at: number, { id, isGranted, reason, call: asked }: UserDecision): void {
    const known = this.#approvals.get(id)
    this.#approvals.delete(id)
    const choice = isGranted ? 'once' : 'deny'
    if (known !== undefined) known.emitResponse(at, choice)
    else if (asked !== undefined) {
      // Another process requested it: the request and the response are both emitted now.
      const approval = new Approval(call, asked.id, asked.name, at)
      approval.emitRequest({ command: asked.args, surface: SURFACE }, 'inferred')
      approval.emitResponse(at, choice, 'inferred')
    }
    if (!isGranted) call.emitSkippedTool(at, asked, blockedFor(reason))
  }

  #endedSideCall(id: string): ModelRequest | undefined {
    const request = this.#sideCalls.get(id)
    this.#sideCalls.delete(id)
    return request
  }

  #openCall(id: string, at: number, data: unknown, session: string, delegation?: DelegatedTask): AiSdkCall {
    const call = new AiSdkCall(this.records, session, id, at, data, delegation)
    this.#calls.set(id, call)
    call.emit('on_session_start', at, { agent_name: textOf(peek(data, 'functionId')), ...turnMetadataOf(data) })
    call.emit('pre_llm_call', at, {
      user_message: promptOf(data),
      conversation_history: peek(data, 'messages'),
      model: peek(data, 'modelId'),
      provider: providerOf(data),
    })
    return call
  }

  #startSideCall(id: string, at: number, operation: string, data: unknown, caller: AiSdkCall | undefined): void {
    const scope = caller ?? new RecordScope(this.records, sessionIn(data) ?? id)
    const request = new ModelRequest(scope, at, { id, task: operation.replace(/^ai\./, '') })
    this.#sideCalls.set(id, request)
    const input = peek(data, 'value') ?? peek(data, 'query')
    request.emitStart({
      model: peek(data, 'modelId'),
      provider: providerOf(data),
      messages: input === undefined ? undefined : [{ role: 'user', content: input }],
    })
  }

  #receiveControlHook(moment: TimedEvent): void {
    const record = controlHookOf(moment)
    const { hook, at, payload } = record
    const call = this.#calls.get(idOf(payload.turn_id) ?? '')
    if (call === undefined) this.records.addRecord(hook, at, payload)
    else call.toolHooks.receive(record, call.openTool(payload.tool_call_id))
  }

  #failCall(call: AiSdkCall, at: number, failure: PlainError): void {
    call.failRequest(at, failure)
    if (isStreamLeft(failure)) this.#closeCall(call, at, 'interrupted', 'stream_left')
    else if (isAborted(failure)) this.#closeCall(call, at, 'interrupted', 'aborted')
    else this.#closeCall(call, at, 'failed', call.requests.failures > 0 ? 'model_error' : (failure.name ?? 'error'))
  }

  #closeCall(call: AiSdkCall, at: number, outcome: TurnResult, reason?: string, answer?: unknown): void {
    this.#calls.delete(call.id)
    const session = call.sessionId ?? ''
    if (this.#turns.get(session) === call) this.#turns.delete(session)
    call.cancelOpenTools(at)
    call.emitAnswer(at, answer)
    call.emitEnd(at, { outcome, reason })
    call.delegation?.emitEnd(at, { status: outcome, summary: answer })
    for (const { approval, command } of call.pendingApprovals) approval.emitRequest({ command, surface: SURFACE })
    // An approval may take days: content must not stay in memory with the call.
    call.stepStart = undefined
    call.pendingApprovals.length = 0
  }

  /** Concurrent calls in one session do not interrupt each other: all but the first get a session of their own. */
  #sessionOf(id: string, at: number, data: unknown, decisions: readonly UserDecision[]): string {
    const asking = decisions.map(decision => this.#approvals.get(decision.id)?.turn.sessionId)
    const session = sessionIn(data) ?? asking.find(known => known !== undefined) ?? id
    const open = this.#turns.get(session)
    if (open === undefined) return session
    if (open.openTools.size > 0 || at - open.lastAt <= STALE_MILLIS) return `${session}:${id}`
    this.#closeCall(open, open.lastAt, 'interrupted', 'cut_off')
    return session
  }

  #inCall(handle: (call: AiSdkCall, moment: TimedEvent) => void): EventHandler {
    return moment => {
      const call = this.#calls.get(idOf(peek(moment.data, 'callId')) ?? '')
      if (call === undefined) return
      call.lastAt = Math.max(call.lastAt, moment.at)
      handle(call, moment)
    }
  }

  #ofTool(handle: (call: AiSdkCall, asked: ModelToolCall, moment: TimedEvent) => void): EventHandler {
    return this.#inCall((call, moment) => {
      const asked = modelToolCallOf(peek(moment.data, 'toolCall'))
      if (asked !== undefined) handle(call, asked, moment)
    })
  }
}

function delegate(caller: AiSdkCall, toolCallId: unknown, id: string, at: number, data: unknown): DelegatedTask {
  const child = { child_session_id: id, child_role: textOf(peek(data, 'functionId')) }
  const task = new DelegatedTask(caller, at, { ...child, tool_call_id: caller.openTool(toolCallId)?.id })
  task.emitStart(promptOf(data))
  return task
}

const ABORTED: PlainError = { name: 'AbortError', message: undefined, statusCode: undefined, isRetryable: false }

function errorOf({ data }: TimedEvent): PlainError {
  return plainError(peek(data, 'error'))
}

/** The user includes the session in the SDK's runtime context by this name. */
function sessionIn(data: unknown): string | undefined {
  return idOf(peek(peek(data, 'runtimeContext'), 'sessionId'))
}

const NAMED: ReadonlySet<string> = new Set(['sessionId', 'userId', 'tags'])
const SCALARS: ReadonlySet<string> = new Set(['string', 'number', 'boolean'])
const METADATA_LIMIT = 32

function turnMetadataOf(data: unknown): { user_id: unknown; tags: unknown; metadata: unknown } {
  const context = peek(data, 'runtimeContext')
  const others = keysOf(context, METADATA_LIMIT).flatMap(key => {
    const value = peek(context, key)
    return NAMED.has(key) || !SCALARS.has(typeof value) ? [] : [[key, value]]
  })
  const tags = elementsOf(peek(context, 'tags'), METADATA_LIMIT).filter(tag => textOf(tag) !== undefined)
  return {
    user_id: idOf(peek(context, 'userId')),
    tags: tags.length === 0 ? undefined : tags,
    metadata: others.length === 0 ? undefined : Object.fromEntries(others),
  }
}

const PARTS_LIMIT = 100
const SEARCH_LIMIT = 50

type ModelToolCall = NonNullable<ReturnType<typeof modelToolCallOf>>

function partsOf(content: unknown, type: string): readonly unknown[] {
  return elementsOf(content, PARTS_LIMIT).filter(part => peek(part, 'type') === type)
}

function textIn(content: unknown): string | undefined {
  if (typeof content === 'string') return textOf(content)
  return joinTexts(partsOf(content, 'text').map(part => textOf(peek(part, 'text'))))
}

function modelToolCallOf(part: unknown) {
  const id = idOf(peek(part, 'toolCallId'))
  return id === undefined ? undefined : { id, name: peek(part, 'toolName'), args: peek(part, 'input') }
}

/** The last user message, searched from the end, or the prompt. Parts that are not all text are returned unchanged. */
function promptOf(data: unknown): unknown {
  const recent = elementsOf(peek(data, 'messages'), SEARCH_LIMIT, 'last')
  const asked = recent.findLast(message => peek(message, 'role') === 'user')
  const content = asked === undefined ? peek(data, 'prompt') : peek(asked, 'content')
  const isText = elementsOf(content, PARTS_LIMIT).every(part => peek(part, 'type') === 'text')
  return isText ? (textIn(content) ?? content) : content
}

/** The SDK's tool calls and results are content parts. */
function asMessages(message: unknown): readonly unknown[] {
  const content = peek(message, 'content')
  if (!isArray(content)) return [message]
  const results = partsOf(content, 'tool-result').map(part => ({
    role: 'tool',
    tool_call_id: peek(part, 'toolCallId'),
    content: peek(peek(part, 'output'), 'value') ?? peek(part, 'output'),
  }))
  const calls = callsIn(content)
  if (results.length + calls.length === 0) return [message]
  const text = textIn(content)
  const said = { role: peek(message, 'role'), content: text, tool_calls: calls }
  return calls.length > 0 || text !== undefined ? [said, ...results] : results
}

function callsIn(content: unknown): readonly object[] {
  return partsOf(content, 'tool-call').map(part => ({
    id: peek(part, 'toolCallId'),
    name: peek(part, 'toolName'),
    arguments: peek(part, 'input'),
  }))
}

function answerOf(content: unknown): { readonly response: object; readonly assistant_tool_call_count: number } {
  const calls = callsIn(content)
  const message = { role: 'assistant', content: textIn(content), ...(calls.length > 0 ? { tool_calls: calls } : {}) }
  return { response: { assistant_message: message }, assistant_tool_call_count: calls.length }
}

/** The SDK counts the cache inside the input and reasoning inside the output, for every provider. */
function tokensOf(usage: unknown): UsageCounts | undefined {
  const input = peek(usage, 'inputTokenDetails')
  return usageOf({
    input: peek(usage, 'inputTokens') ?? peek(usage, 'tokens'),
    output: peek(usage, 'outputTokens'),
    cacheRead: peek(input, 'cacheReadTokens') ?? peek(usage, 'cachedInputTokens'),
    cacheWrite: peek(input, 'cacheWriteTokens'),
    reasoning: peek(peek(usage, 'outputTokenDetails'), 'reasoningTokens') ?? peek(usage, 'reasoningTokens'),
  })
}
