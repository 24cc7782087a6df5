import type { Context, SpanContext } from '@opentelemetry/api'
import type { HookMeta } from '../contract/index.ts'
import type { Core } from '../tracker/core.ts'
import type { HostLine } from '../tracker/log-events.ts'
import type { CoreStats } from '../tracker/stats.ts'
import type { RecordCopier, RecordCopy } from './record-copy.ts'

/** Longest slice of processing before the event loop runs again. */
const SLICE_MILLIS = 2
/** A record that has waited longer is not postponed again: a host that blocks the loop may delay the next turn for long. */
const PATIENCE_MILLIS = 10
/** The same limit while the code is loaded, piece by piece. A host that is killed meanwhile loses these records. */
const LOADING_MILLIS = 100
/** If the queue is larger, `emit()` processes the oldest records synchronously. */
const MAX_RECORDS = 128
const MAX_CHARS = 4 * 1024 * 1024

interface QueuedRecord {
  /** Undefined for a log line. */
  readonly hook: string | undefined
  readonly copy: RecordCopy
  /** Time of the call, epoch milliseconds. */
  readonly at: number
  /** The span that was active in the host at that time, if it matters. */
  readonly caller: SpanContext | undefined
}

/** The environment of the core. For a queued record, the values at the time of the call. */
export interface CoreEnvironment {
  readonly now: () => number
  readonly activeSpan: () => SpanContext | undefined
  /** Processes queued records before state is read that they may change. */
  readonly catchUp: () => void
}

/** Loads one piece per step, and calls `open` when the core can be created. */
export type Pieces = (open: () => unknown) => Iterator<void>

export interface IntakeOptions extends Pick<CoreEnvironment, 'now' | 'activeSpan'> {
  /** Called once, before the first record or query. Returns undefined after a failure. */
  readonly createCore: (outside: CoreEnvironment) => Core | undefined
  /** Undefined if nothing has to be loaded. The core is then created at once. */
  readonly pieces: Pieces | undefined
  readonly copier: RecordCopier
  /** Processes each record inline: `log_flush_ms` is 0, or user code observes each span. */
  readonly isDirect: boolean
  /** Processes the end of a session inline: many processes exit right after their answer. */
  readonly flushesAtEnd: boolean
  /** Longest time in milliseconds that a record stays unwritten while the event loop is blocked. Infinity = no limit. */
  readonly unwrittenMillis: number
  /** Writes everything recorded to the trace log, synchronously. */
  readonly save: () => void
}

export const NOTHING_TAKEN: CoreStats = {
  hooks: { ok: 0, ignored: 0, duplicate: 0, error: 0 },
  spansOpen: 0,
  turnsOpen: 0,
  openSince: undefined,
  unread: { hooks: 0, fields: 0, types: 0 },
}

/**
 * Queues records in front of the core. The host waits only for the copy. Records are processed between turns of the event
 * loop. They are processed in order, and before any query to the core, so that only the timing differs.
 */
export class Intake {
  readonly #options: IntakeOptions
  readonly #waiting: QueuedRecord[] = []
  #core: Core | undefined
  #isOpen = false
  #pieces: Iterator<void> | undefined
  #chars = 0
  #slice: NodeJS.Immediate | undefined
  #current: QueuedRecord | undefined
  /** Time of the first hook since the event loop turned, or since a hook wrote the log. */
  #unwrittenSince: number | undefined
  #inlineAt: number | undefined
  #isOver = false

  constructor(options: IntakeOptions) {
    this.#options = options
    this.#pieces = options.pieces?.(() => this.#open())
    if (this.#pieces === undefined) this.#open()
    else this.#putOff()
  }

  /** True if no record was received and there is nothing to end. */
  get isUntouched(): boolean {
    return !this.#isOpen && this.#waiting.length === 0
  }

  /** Like `Core.on`. The end of a session may always be awaited. */
  on(hook: string, payload: unknown, meta: HookMeta | undefined): Promise<void> | undefined {
    const at = this.#options.now()
    const flushed = this.#take(at, hook, payload, meta)
    if (!this.#isOver) this.#saveIfLoopIsHeld(at)
    return flushed
  }

  #take(at: number, hook: string, payload: unknown, meta: HookMeta | undefined): Promise<void> | undefined {
    const { copier, isDirect, flushesAtEnd } = this.#options
    const isFlushed = flushesAtEnd && hook === 'on_session_end'
    const canWait = !isDirect && !isFlushed && !this.#isOver && typeof hook === 'string'
    const copy = canWait ? copier.copyOf(payload, meta) : undefined
    if (copy === undefined) return this.#inline(at, () => this.#caughtUp()?.handleHook(hook, payload, meta))
    this.#keep(hook, copy, at)
    return undefined
  }

  /** Queues a log line in order with the hooks, because they determine the span beside it. */
  log(line: HostLine): void {
    const { copier, isDirect, now } = this.#options
    const at = now()
    const copy = isDirect || this.#isOver ? undefined : copier.copyOf(line, undefined)
    if (copy === undefined) this.#inline(at, () => this.#caughtUp()?.log(line))
    else this.#keep(undefined, copy, at)
  }

  flush(): Promise<void> {
    return this.#caughtUp()?.flush() ?? Promise.resolve()
  }

  endAll(): void {
    this.#inline(this.#options.now(), () => this.#leave()?.endAll())
  }

  /** Stops recording. Open spans stay open for the process that continues them. */
  leaveOpen(): void {
    this.#leave()?.leaveOpen()
  }

  #leave(): Core | undefined {
    const core = this.#caughtUp()
    this.#isOver = true
    this.#pieces = undefined
    return core
  }

  stats(): CoreStats {
    return this.#caughtUp()?.stats() ?? NOTHING_TAKEN
  }

  traceparent(ids: unknown, host: string): string | undefined {
    return this.#caughtUp(true)?.traceparent(ids, host)
  }

  context(ids: unknown, host: string, base: Context): Context {
    return this.#caughtUp(true)?.context(ids, host, base) ?? base
  }

  #open(): Core | undefined {
    if (this.#isOpen) return this.#core
    this.#isOpen = true
    const { now, activeSpan, createCore } = this.#options
    this.#core = createCore({
      now: () => this.#current?.at ?? this.#inlineAt ?? now(),
      activeSpan: () => (this.#current === undefined ? activeSpan() : this.#current.caller),
      catchUp: () => this.#workOff(),
    })
    return this.#core
  }

  #caughtUp(needsSpanContextOnly = false): Core | undefined {
    this.#workOff(needsSpanContextOnly)
    return this.#open()
  }

  /** Handles a call with the time of its arrival, because its code may have to be loaded first. */
  #inline<Result>(at: number, run: () => Result): Result {
    const before = this.#inlineAt
    this.#inlineAt = at
    try {
      return run()
    } finally {
      this.#inlineAt = before
    }
  }

  #keep(hook: string | undefined, copy: RecordCopy, at: number): void {
    this.#waiting.push({ hook, copy, at, caller: this.#options.activeSpan() })
    this.#chars += copy.chars
    this.#putOff()
    const isFull = (): boolean => this.#waiting.length > MAX_RECORDS || this.#chars > MAX_CHARS
    while (this.#current === undefined && isFull()) this.#workOffNext()
  }

  /** If the host blocks the event loop, no timer can write the log. This hook then does, so that a kill loses nothing older. */
  #saveIfLoopIsHeld(at: number): void {
    const limit = this.#options.unwrittenMillis
    if (limit === Number.POSITIVE_INFINITY) return
    if (this.#unwrittenSince === undefined) {
      this.#unwrittenSince = at
      this.#putOff()
    }
    if (at - this.#unwrittenSince < (this.#isOpen ? limit : Math.max(limit, LOADING_MILLIS))) return
    this.#unwrittenSince = at
    this.#workOff()
    this.#options.save()
  }

  #putOff(): void {
    this.#slice ??= setImmediate(this.#workOffSlice)
    // Queued records keep the process alive until they are recorded. Loading alone does not.
    if (this.#waiting.length > 0) this.#slice.ref()
    else this.#slice.unref()
  }

  readonly #workOffSlice = (): void => {
    this.#slice = undefined
    this.#unwrittenSince = undefined
    this.#core?.setDeferredAttributes()
    const hasTime = this.#isOpen ? this.#waiting.length === 0 : !this.#hasWaitedFor(LOADING_MILLIS)
    if (this.#pieces !== undefined && hasTime) this.#loadNext(this.#pieces)
    else this.#workOffUntil(performance.now() + SLICE_MILLIS)
    if (this.#pieces !== undefined || this.#waiting.length > 0) this.#putOff()
  }

  #workOffUntil(endAt: number): void {
    const now = this.#options.now()
    while (this.#hasWaitedFor(PATIENCE_MILLIS, now) || performance.now() < endAt) {
      if (!this.#workOffNext()) return
    }
  }

  /** True if the oldest record has waited longer. False if the queue is empty. */
  #hasWaitedFor(millis: number, now = this.#options.now()): boolean {
    const [first] = this.#waiting
    return first !== undefined && first.at < now - millis
  }

  /** A failed load is retried when the core is opened, and reported then. */
  #loadNext(pieces: Iterator<void>): void {
    try {
      if (pieces.next().done === true) this.#pieces = undefined
    } catch {
      this.#pieces = undefined
      this.#open()
    }
  }

  /** @param needsSpanContextOnly the caller only needs span positions; the next slice does the rest */
  #workOff(needsSpanContextOnly = false): void {
    // A user callback asks in the middle of a record, and gets the state at that point.
    if (this.#current !== undefined) return
    while (this.#workOffNext(needsSpanContextOnly));
    if (!needsSpanContextOnly) this.#core?.setDeferredAttributes()
  }

  #workOffNext(needsSpanContextOnly = false): boolean {
    const record = this.#waiting.shift()
    if (record === undefined) return false
    const { hook, copy } = record
    this.#chars -= copy.chars
    this.#current = record
    // A queued end of a session has no promise that a caller could await.
    const core = this.#open()
    if (hook === undefined) core?.log(copy.payload as HostLine)
    else void core?.handleHook(hook, copy.payload, copy.meta, needsSpanContextOnly)
    this.#current = undefined
    return true
  }
}
