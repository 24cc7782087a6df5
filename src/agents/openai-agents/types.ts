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
