/**
 * What we need to know of the OpenAI Agents SDK, read from `@openai/agents` 0.20.0 (`agents-core`: tracing/processor,
 * tracing/spans, tracing/traces, lifecycle, result, runState). Structure only: the package is no dependency of ours.
 *
 * The raw events that are made of it, and that captures hold one a line, are
 * - `trace_start`, `trace_end`: a trace, as its `toJSON` gives it;
 * - `span_start`, `span_end`: a span, as its `toJSON` gives it, but for `span_data`, which is the host's own object: with
 *   the fields that begin with an underscore (`_input`, `_response`), and of the types `task` and `turn`, which its JSON
 *   calls `custom` with a `data.sdk_span_type`;
 * - `runner.agent_start` {agent, model, turnInput}, `runner.agent_end` {agent, output}, `runner.agent_tool_start`
 *   {agent, tool, details}: what a runner emits, with the names instead of the objects, and with the `trace_id` and
 *   `span_id` that it was emitted in;
 * - `runner.interrupted`, `runner.resumed` {trace_id, group_id, calls: [{call_id, name, arguments, agent, choice?}],
 *   model?, input?}: ours. What `run` came back with, and what it was called again with.
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

/** The host's `TracingProcessor`. None of its methods throws, no promise of it rejects. */
export interface TraceProcessor {
  start(): void
  onTraceStart(trace: HostTrace): Promise<void>
  onTraceEnd(trace: HostTrace): Promise<void>
  onSpanStart(span: HostSpan): Promise<void>
  onSpanEnd(span: HostSpan): Promise<void>
  /** Sends what was recorded; does not end the plugin, which other processors may share. */
  shutdown(timeout?: number): Promise<void>
  forceFlush(): Promise<void>
}

/** As much of a `Runner` as we touch. */
export interface HostRunner {
  on(event: string, listener: (...args: never[]) => void): unknown
  run(...args: never[]): unknown
}
