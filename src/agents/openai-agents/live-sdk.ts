import { elementsOf, idOf, peek, pickFields, textOf } from '../../contract/foreign.ts'
import type { HookIds } from '../../guards/index.ts'
import type { HostEvent } from '../host-event.ts'

/**
 * The subset of the OpenAI Agents SDK that this adapter uses, read from `@openai/agents` 0.20.0 (`agents-core`:
 * tracing/processor, tracing/spans, tracing/traces, lifecycle, result, runState), which is not a dependency.
 *
 * The raw events, one a line in captures:
 * - `trace_start`, `trace_end`: a trace's `toJSON`.
 * - `span_start`, `span_end`: a span's `toJSON`, except `span_data`: the host's own object, with the fields that begin
 *   with an underscore (`_input`, `_response`). Its JSON turns the types `task` and `turn` into `custom` with a
 *   `data.sdk_span_type`.
 * - `runner.agent_start` {agent, model, turnInput}, `runner.agent_end` {agent, output}, `runner.agent_tool_start`
 *   {agent, tool, details}: a runner's events, with names instead of objects, and with the current `trace_id` and
 *   `span_id`.
 * - `runner.interrupted`, `runner.resumed` {trace_id, group_id, calls: [{call_id, name, arguments, agent, choice?}],
 *   model?, input?}: our own. The result of `run`, and the state that it is called again with.
 */
export interface HostTrace {
  readonly traceId: string
  readonly name: string
  readonly groupId: string | null
  readonly metadata?: Record<string, unknown>
}

/** A span of the SDK's own tracing. */
export interface HostSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | null
  readonly spanData: { readonly type: string }
  /** ISO 8601. */
  readonly startedAt: string | null
  readonly endedAt: string | null
  readonly error: { readonly message: string; readonly data?: Record<string, unknown> } | null
}

/** The host's `TracingProcessor`. No method throws, and no promise rejects. */
export interface TraceProcessor {
  start(): void
  onTraceStart(trace: HostTrace): Promise<void>
  onTraceEnd(trace: HostTrace): Promise<void>
  onSpanStart(span: HostSpan): Promise<void>
  onSpanEnd(span: HostSpan): Promise<void>
  /** Sends everything recorded. Does not end the plugin, which other processors may share. */
  shutdown(timeout?: number): Promise<void>
  forceFlush(): Promise<void>
}

/** The subset of `Runner` that is used. */
export interface HostRunner {
  on(event: string, listener: (...args: never[]) => void): unknown
  run(...args: never[]): unknown
}

const DEPTH_LIMIT = 100

/**
 * The run of the current async context, by the ids of the SDK's trace, which are ours too. `agentName` is undefined if the run
 * is not traced.
 */
export function currentRun(): { readonly ids: HookIds; readonly agentName: string | undefined } {
  const { trace, span: innermost, outer } = sdkContext()
  let agent: unknown
  let task: unknown
  let span = innermost ?? outer
  for (let depth = 0; span !== undefined && span !== null && task === undefined && depth < DEPTH_LIMIT; depth++) {
    const type = peek(peek(span, 'spanData'), 'type')
    if (type === 'agent') agent ??= span
    if (type === 'task') task = span
    span = peek(span, 'previousSpan') ?? (depth === 0 && innermost !== undefined ? outer : undefined)
  }
  const turnId = idOf(peek(task ?? agent, 'spanId'))
  const sessionId = idOf(peek(trace, 'groupId')) ?? idOf(peek(trace, 'traceId'))
  return { ids: { sessionId, turnId: turnId ?? sessionId }, agentName: textOf(peek(peek(agent, 'spanData'), 'name')) }
}

export function markAsFailed(message: string): void {
  callMethod(sdkContext().span, 'setError', { message })
}

/** The error of the SDK's current span: a new object for each failure. */
export function currentError(): unknown {
  return peek(sdkContext().span, 'error')
}

/** The SDK's async context with the current trace and span, shared by all copies of the SDK. */
const CONTEXT = Symbol.for('openai.agents.core.asyncLocalStorage')
const INTERRUPTIONS_LIMIT = 100
/** An id that no call has: its approval status is that of the tool as a whole. */
const NO_CALL = 'hookspan: any call'

export type Method = (this: unknown, ...args: unknown[]) => unknown

function callMethod(target: unknown, name: string, ...args: unknown[]): unknown {
  const method = peek(target, name)
  return typeof method === 'function' ? (method as Method).call(target, ...args) : undefined
}

export function traceEvent(event: string, trace: unknown): HostEvent {
  return {
    event,
    at: Date.now(),
    data: {
      object: 'trace',
      id: peek(trace, 'traceId'),
      workflow_name: peek(trace, 'name'),
      group_id: peek(trace, 'groupId'),
      metadata: peek(trace, 'metadata'),
    },
  }
}

const OF_RUNS: ReadonlySet<unknown> = new Set(['agent', 'task'])
const ABORTED = { message: 'AbortError: the caller has aborted the stream' }

/**
 * @param isEnd false hides fields of the end, which a reused span object already has
 * @param isAborted the streamed run was aborted: the SDK ends its spans as if it had succeeded
 */
export function spanEvent(event: string, span: unknown, isEnd: boolean, at: number, isAborted = false): HostEvent {
  const isCutOff = isAborted && OF_RUNS.has(peek(peek(span, 'spanData'), 'type'))
  return {
    event,
    at,
    data: {
      object: 'trace.span',
      id: peek(span, 'spanId'),
      trace_id: peek(span, 'traceId'),
      parent_id: peek(span, 'parentId'),
      started_at: peek(span, 'startedAt'),
      ended_at: isEnd ? peek(span, 'endedAt') : null,
      span_data: peek(span, 'spanData'),
      error: isEnd ? (peek(span, 'error') ?? (isCutOff ? ABORTED : null)) : null,
    },
  }
}

function sdkContext() {
  const store = callMethod((globalThis as Record<symbol, unknown>)[CONTEXT], 'getStore')
  const trace = peek(store, 'trace')
  const span = peek(store, 'span')
  const outer = peek(store, 'previousSpan')
  return { trace, span, outer, ids: { trace_id: peek(trace, 'traceId'), span_id: peek(span, 'spanId') } }
}

/** If a runner must not trace content, neither do we. */
function ifTraced(runner: unknown, content: object): object {
  return peek(peek(runner, 'config'), 'traceIncludeSensitiveData') === false ? {} : content
}

function modelOf(runner: unknown): string | undefined {
  return textOf(peek(peek(runner, 'config'), 'model'))
}

/** The fields of a runner's events, from the arguments of its listeners. */
export const RUNNER_EVENTS: Readonly<Record<string, (runner: unknown, args: readonly unknown[]) => object>> = {
  agent_start: (runner, [, agent, turnInput]) => {
    const model = modelOf(runner) ?? textOf(peek(agent, 'model'))
    return { agent: peek(agent, 'name'), model, ...ifTraced(runner, { turnInput }) }
  },
  agent_end: (runner, [, agent, output]) => ({ agent: peek(agent, 'name'), ...ifTraced(runner, { output }) }),
  agent_tool_start: (runner, [, agent, tool, details]) => {
    const said = peek(details, 'toolCall')
    const content = ifTraced(runner, { arguments: peek(said, 'arguments') })
    const toolCall = { ...pickFields(said, ['id', 'callId', 'name']), ...content }
    return { agent: peek(agent, 'name'), tool: peek(tool, 'name'), details: { toolCall } }
  },
}

/** An event of a runner, with the ids of the SDK's current trace and span. */
export function runnerEvent(name: string, data: object): HostEvent {
  return { event: `runner.${name}`, at: Date.now(), data: { ...data, ...sdkContext().ids } }
}

export function interruptedEvent(runner: unknown, result: unknown): HostEvent | undefined {
  return callsEvent('runner.interrupted', runner, peek(result, 'state'))
}

export function resumedEvent(runner: unknown, state: unknown): HostEvent | undefined {
  const event = callsEvent('runner.resumed', runner, state, item => ({ choice: choiceOf(state, item) }))
  if (event === undefined) return undefined
  const content = ifTraced(runner, { input: peek(state, '_originalInput') })
  return { ...event, data: { ...event.data, model: modelOf(runner), ...content } }
}

function callsEvent(event: string, runner: unknown, state: unknown, more?: (item: unknown) => object) {
  const items = elementsOf(callMethod(state, 'getInterruptions'), INTERRUPTIONS_LIMIT)
  if (items.length === 0) return undefined
  const trace = peek(state, '_trace')
  const calls = items.map(item => ({ ...describeCall(runner, item), ...more?.(item) }))
  const data = { trace_id: peek(trace, 'traceId'), group_id: peek(trace, 'groupId'), calls }
  return { event, at: Date.now(), data }
}

function describeCall(runner: unknown, item: unknown): object {
  const raw = peek(item, 'rawItem')
  const content = ifTraced(runner, { arguments: peek(raw, 'arguments') })
  return { call_id: callIdOf(raw), name: nameOf(item), agent: peek(peek(item, 'agent'), 'name'), ...content }
}

function callIdOf(raw: unknown): unknown {
  return peek(raw, 'callId') ?? peek(raw, 'id')
}

function nameOf(item: unknown): unknown {
  return peek(item, 'toolName') ?? peek(item, 'name') ?? peek(peek(item, 'rawItem'), 'name')
}

/** The host stores the approval of each call, and of a tool as a whole. */
function choiceOf(state: unknown, item: unknown): string | undefined {
  const context = peek(state, '_context')
  const isApproved = (callId: unknown): unknown =>
    callMethod(context, 'isToolApproved', { toolName: nameOf(item), callId, agent: peek(item, 'agent') })
  const answer = isApproved(callIdOf(peek(item, 'rawItem')))
  if (answer === false) return 'deny'
  if (answer !== true) return undefined
  return isApproved(NO_CALL) === true ? 'always' : 'once'
}
