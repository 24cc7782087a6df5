import { LOG_ATTRIBUTE, LOG_EVENT, resolveNamespace } from '../../contract/semconv/index.ts'
import type { LogQueue } from './log-queue.ts'
import type { LogEvent } from './log-sink.ts'

/** Losses come in bursts. Each burst becomes one event. */
const BURST_MILLIS = 1000

export class LogEmitter {
  readonly #queues: LogQueue[] = []
  readonly #losses = new Map<string, { readonly backend: string; readonly reason: string; spans: number }>()
  readonly #lossEvent: string
  #timer: NodeJS.Timeout | undefined

  constructor(namespace: string) {
    this.#lossEvent = resolveNamespace(LOG_EVENT.spansLost.name, namespace)
  }

  get hasQueues(): boolean {
    return this.#queues.length > 0
  }

  addQueue(queue: LogQueue): void {
    this.#queues.push(queue)
  }

  emit(event: LogEvent): void {
    if (!this.hasQueues) return
    const queued = { ...event, observedAt: Date.now() }
    for (const queue of this.#queues) queue.enqueueEvent(queued)
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
