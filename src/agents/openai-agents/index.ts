import { idOf, peek } from '../../contract/foreign.ts'
import type { PluginOptions } from '../../index.ts'
import { type Attachment, attachHost } from '../attach.ts'
import type { HostEvent } from '../host-event.ts'
import { OpenAiAgentsMachine } from './events.ts'
import type { HostSpan, HostTrace, Method, TraceProcessor } from './live-sdk.ts'
import { interruptedEvent, RUNNER_EVENTS, resumedEvent, runnerEvent, spanEvent, traceEvent } from './live-sdk.ts'

export type { HostRunner, HostSpan, HostTrace, TraceProcessor } from './live-sdk.ts'

/** Marks a traced runner, for all copies of this package. */
const TRACED = Symbol.for('hookspan.openai-agents.traced')
const DONE: Promise<void> = Promise.resolve()

function attach(options: PluginOptions | undefined): Attachment {
  return attachHost('openai-agents', () => new OpenAiAgentsMachine(), options)
}

/**
 * Reads an event in the next microtask: the host fills a span right after it has announced it (a tool's input, a
 * request's model). All events wait alike, which keeps their order.
 */
function handleSoon(attachment: Attachment, scope: string, make: () => HostEvent): Promise<void> {
  queueMicrotask(() => attachment.catchErrors(() => attachment.handleEvent(make(), scope)))
  return DONE
}

/**
 * A trace processor for the OpenAI Agents SDK.
 *
 * @example
 * import { addTraceProcessor } from '@openai/agents'
 * import { createTraceProcessor } from 'hookspan/openai-agents'
 * addTraceProcessor(createTraceProcessor())
 */
export function createTraceProcessor(options?: PluginOptions): TraceProcessor {
  const attachment = attach(options)
  const scopeOf = (traced: unknown): string => idOf(peek(traced, 'traceId')) ?? ''
  const ofTrace = (event: string, trace: HostTrace): Promise<void> => {
    const seen = traceEvent(event, trace)
    return handleSoon(attachment, scopeOf(trace), () => seen)
  }
  const ofSpan = (event: string, span: HostSpan, isEnd: boolean): Promise<void> => {
    const at = Date.now()
    const make = (): HostEvent => spanEvent(event, span, isEnd, at, isEnd && isAborted(span.traceId))
    return handleSoon(attachment, scopeOf(span), make)
  }
  // Pending events are read first.
  const flush = (): Promise<void> => DONE.then(() => attachment.plugin.flush())
  return {
    start: () => undefined,
    onTraceStart: trace => ofTrace('trace_start', trace),
    onTraceEnd: trace => ofTrace('trace_end', trace),
    onSpanStart: span => ofSpan('span_start', span, false),
    onSpanEnd: span => ofSpan('span_end', span, true),
    shutdown: flush,
    forceFlush: flush,
  }
}

/**
 * Traces more of a runner: the calls that needed approval and the decisions, also across processes, and the user's
 * message at the start of the run. Returns the same runner. Repeated calls do nothing.
 *
 * @example
 * const runner = traceRunner(new Runner())
 */
export function traceRunner<Runner extends object>(runner: Runner, options?: PluginOptions): Runner {
  const attachment = attach(options)
  attachment.catchErrors(() => {
    if (Object.hasOwn(runner, TRACED)) return
    Object.defineProperty(runner, TRACED, { value: true })
    listenToRunner(attachment, runner)
    wrapRun(attachment, runner)
  })
  return runner
}

/** An exception in a listener would break the run. */
function listenToRunner(attachment: Attachment, runner: object): void {
  const on = peek(runner, 'on')
  if (typeof on !== 'function') return
  for (const [name, fieldsOf] of Object.entries(RUNNER_EVENTS)) {
    const listener = (...args: unknown[]): void =>
      attachment.catchErrors(() => handleRunnerEvent(attachment, runnerEvent(name, fieldsOf(runner, args))))
    ;(on as Method).call(runner, name, listener)
  }
}

function handleRunnerEvent(attachment: Attachment, event: HostEvent | undefined): void {
  if (event === undefined) return
  // A scope of its own: the runner and the spans may be traced by different copies of this package.
  const scope = `runner ${idOf(peek(event.data, 'trace_id')) ?? ''}`
  void handleSoon(attachment, scope, () => event)
}

function wrapRun(attachment: Attachment, runner: object): void {
  const run = peek(runner, 'run')
  if (typeof run !== 'function') return
  const ended = (result: unknown): void =>
    attachment.catchErrors(() => handleRunnerEvent(attachment, interruptedEvent(runner, result)))
  const wrapped = function (this: unknown, ...args: unknown[]): unknown {
    attachment.catchErrors(() => handleRunnerEvent(attachment, resumedEvent(runner, args[1])))
    return afterRun((run as Method).apply(this, args), ended)
  }
  Object.defineProperty(runner, 'run', { value: wrapped, writable: true, configurable: true })
}

const streaming = new Set<unknown>()

/** True if a run of this trace streams and was cancelled, by its reader or its signal. */
function isAborted(traceId: unknown): boolean {
  for (const result of streaming) {
    if (peek(result, 'cancelled') !== true) continue
    if (peek(peek(peek(result, 'state'), '_trace'), 'traceId') === traceId) return true
  }
  return false
}

/** A streamed run ends with its stream. Rejections stay unhandled here, for the caller. */
function afterRun(running: unknown, ended: (result: unknown) => void): unknown {
  if (!(running instanceof Promise)) return running
  return running.then(result => {
    const completed = peek(result, 'completed')
    if (completed instanceof Promise) {
      streaming.add(result)
      // Its last spans may be read a moment later.
      const over = (): void => void setImmediate(() => streaming.delete(result))
      const failed = (): void => undefined
      void completed.then(() => ended(result), failed).then(over)
    } else ended(result)
    return result
  })
}
