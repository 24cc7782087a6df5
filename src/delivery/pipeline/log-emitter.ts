import type { Attributes } from '@opentelemetry/api'
import { LOG_ATTRIBUTE, LOG_EVENT, resolveNamespace, SEVERITY } from '../../contract/semconv/index.ts'
import { attributesJson, type PlainResource, stringJson } from '../trace-log/index.ts'
import type { LogQueue } from './log-queue.ts'
import type { PipelineSettings } from './settings.ts'

/** Losses come in bursts. Each burst becomes one event. */
const BURST_MILLIS = 1000
const SCOPE = 'hookspan'

interface Loss {
  readonly backend: string
  readonly reason: string
  spans: number
}

export class LogEmitter {
  readonly #queues: LogQueue[] = []
  readonly #losses = new Map<string, Loss>()
  readonly #lossEvent: string
  readonly #version: string
  readonly #resource: PlainResource
  #head: string | undefined
  #timer: NodeJS.Timeout | undefined

  constructor({ namespace, version }: Pick<PipelineSettings, 'namespace' | 'version'>, resource: PlainResource) {
    this.#lossEvent = resolveNamespace(LOG_EVENT.spansLost.name, namespace)
    this.#version = version
    this.#resource = resource
  }

  get hasQueues(): boolean {
    return this.#queues.length > 0
  }

  get head(): string {
    this.#head ??= requestHead(this.#resource.attributes, SCOPE, this.#version)
    return this.#head
  }

  addQueue(queue: LogQueue): void {
    this.#queues.push(queue)
  }

  emit(event: LogEvent): void {
    if (!this.hasQueues) return
    const record = recordJson(event, Date.now())
    for (const queue of this.#queues) queue.enqueueRecord(record)
  }

  /** @param reason one of few fixed texts */
  countLostSpans(backend: string, spans: number, reason: string): void {
    if (!this.hasQueues) return
    const key = `${backend}\n${reason}`
    const loss = this.#losses.get(key) ?? { backend, reason, spans: 0 }
    loss.spans += spans
    this.#losses.set(key, loss)
    this.#timer ??= setTimeout(() => this.#emitLosses(), BURST_MILLIS).unref()
  }

  async flush(): Promise<void> {
    this.#emitLosses()
    await Promise.all(this.#queues.map(queue => queue.forceFlush()))
  }

  shutdown(): readonly { readonly queue: LogQueue; readonly sent: Promise<void> }[] {
    this.#emitLosses()
    return this.#queues.map(queue => ({ queue, sent: queue.shutdown() }))
  }

  #emitLosses(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const losses = [...this.#losses.values()]
    this.#losses.clear()
    for (const { backend, reason, spans } of losses) {
      this.emit({
        name: this.#lossEvent,
        severity: LOG_EVENT.spansLost.severity,
        at: Date.now(),
        attributes: {
          [LOG_ATTRIBUTE.eventName]: this.#lossEvent,
          [LOG_ATTRIBUTE.backend]: backend,
          [LOG_ATTRIBUTE.reason]: reason,
          [LOG_ATTRIBUTE.spans]: spans,
        },
      })
    }
  }
}

/** An event worth searching for or alerting on, or a log line of the agent. */
export interface LogEvent {
  /** One of few fixed names, without ids. Absent for a log line. */
  readonly name?: string
  /** Text of a log line: masked and cut like content on spans */
  readonly body?: string
  /** `ERROR`: something went wrong; `WARN`: it may matter; `INFO`: a decision was made */
  readonly severity: 'TRACE' | 'DEBUG' | 'INFO' | 'WARN' | 'ERROR' | 'FATAL'
  /** Epoch milliseconds. */
  readonly at: number
  /** The related span. */
  readonly span?: { readonly traceId: string; readonly spanId: string; readonly traceFlags: number }
  /** Masked and cut, as on spans */
  readonly attributes: Attributes
}

function recordJson({ name, body, severity, at, span, attributes }: LogEvent, observedAt: number): string {
  const event = name === undefined ? '' : `,"eventName":${stringJson(name)}`
  const text = body === undefined ? '' : `,"body":{"stringValue":${stringJson(body)}}`
  const about =
    span === undefined ? '' : `,"traceId":"${span.traceId}","spanId":"${span.spanId}","flags":${span.traceFlags}`
  return (
    `{"timeUnixNano":"${nanos(at)}","observedTimeUnixNano":"${nanos(observedAt)}"` +
    `,"severityNumber":${SEVERITY[severity]},"severityText":"${severity}"${event}${text}` +
    `,"attributes":${attributesJson(attributes)}${about}}`
  )
}

function requestHead(resource: Attributes, scope: string, version: string): string {
  return (
    `{"resourceLogs":[{"resource":{"attributes":${attributesJson(resource)}},"scopeLogs":[{"scope":` +
    `{"name":${stringJson(scope)},"version":${stringJson(version)}},"logRecords":[`
  )
}

function nanos(millis: number): string {
  return String(BigInt(Math.max(0, Math.trunc(millis * 1000))) * 1000n)
}
