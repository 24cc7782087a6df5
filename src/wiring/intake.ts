import type { Context, SpanContext } from '@opentelemetry/api'
import type { HookMeta } from '../contract/index.ts'
import type { Core } from '../core/core.ts'
import type { HostLine } from '../core/log-events.ts'
import type { CoreStats } from '../core/stats.ts'
import type { RecordCopier, RecordCopy } from './record-copy.ts'

/** How long the event loop is held at a time. */
const SLICE_MILLIS = 2
/** What has waited for so long is not put off any more: where the host holds the loop itself, its next turn may be far. */
const PATIENCE_MILLIS = 10
/** The same while what works it off is loaded, piece by piece: a host that is killed now loses it. */
const LOADING_MILLIS = 100
/** Beyond this, who tells something works off what has waited longest. */
const MOST_RECORDS = 128
const MOST_CHARS = 4 * 1024 * 1024

interface Waiting {
  /** Undefined for a line of the host's log. */
  readonly hook: string | undefined
  readonly copy: RecordCopy
  /** When it was told, epoch milliseconds. */
  readonly at: number
  /** The span that was active in the host then, where that counts. */
  readonly caller: SpanContext | undefined
}

/** What the core asks of its surroundings. Of a record that has waited: what they were when it was told. */
export interface Outside {
  readonly now: () => number
  readonly activeSpan: () => SpanContext | undefined
  /** Before something is read that a record may change. */
  readonly catchUp: () => void
}

/** Loads what is needed, a piece each time that it is asked, and calls `open` when the core can be made of it. */
export type Pieces = (open: () => unknown) => Iterator<void>

export interface IntakeOptions extends Pick<Outside, 'now' | 'activeSpan'> {
  /** Called once, when a record is worked off first, or something is asked; undefined where it could not be started. */
  readonly createCore: (outside: Outside) => Core | undefined
  /** Undefined: there is nothing to load, and the core is made at once. */
  readonly pieces: Pieces | undefined
  readonly copier: RecordCopier
  /** Each record is worked off while its host waits: it is to be safe then, or is seen by code of somebody else's. */
  readonly isDirect: boolean
  /** The end of a session is worked off while its host waits: many a process is ended right behind its answer. */
  readonly flushesAtEnd: boolean
  /** How long a record may stay unwritten if the event loop does not turn, in milliseconds; infinite if that is not limited. */
  readonly unwrittenMillis: number
  /** Writes what the core has recorded to the trace log, before it returns. */
  readonly save: () => void
}

/** Of a plugin that has taken nothing. */
export const NOTHING_TAKEN: CoreStats = {
  hooks: { ok: 0, ignored: 0, duplicate: 0, error: 0 },
  spansOpen: 0,
  turnsOpen: 0,
  openSince: undefined,
  unread: { hooks: 0, fields: 0, types: 0 },
}

/**
 * Stands before the core. A host waits until its record is copied; worked off it is between two turns of the event loop. In
 * order, and before anything else is asked of the core: nothing can be told from it but the time.
 */
export class Intake {
  readonly #options: IntakeOptions
  readonly #waiting: Waiting[] = []
  #core: Core | undefined
  #isOpen = false
  /** Until all is loaded. */
  #pieces: Iterator<void> | undefined
  #chars = 0
  #slice: NodeJS.Immediate | undefined
  /** The record that is worked off. */
  #current: Waiting | undefined
  /** The time of the first hook since the event loop turned, or since the log was written in a hook. */
  #unwrittenSince: number | undefined
  /** When the call arrived that is handled inline. */
  #inlineAt: number | undefined
  #isOver = false

  constructor(options: IntakeOptions) {
    this.#options = options
    this.#pieces = options.pieces?.(() => this.#open())
    if (this.#pieces === undefined) this.#open()
    else this.#putOff()
  }

  /** Nothing has been told, and nothing is there yet that would have to be ended. */
  get isUntouched(): boolean {
    return !this.#isOpen && this.#waiting.length === 0
  }

  /** As `Core.on`; an end of a session may be awaited whatever comes of it. */
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
    if (copy === undefined) return this.#inline(at, () => this.#caughtUp()?.on(hook, payload, meta))
    this.#keep(hook, copy, at)
    return undefined
  }

  /** A line of the host's log: in order with its hooks, because they say beside which span it stands. */
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

  /** Takes no more. What is open stays so, for a process that goes on with it. */
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

  #caughtUp(isAskedFor = false): Core | undefined {
    this.#workOff(isAskedFor)
    return this.#open()
  }

  /** Handles a call at the time of its arrival: what handles it may have to be loaded first. */
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
    const isFull = (): boolean => this.#waiting.length > MOST_RECORDS || this.#chars > MOST_CHARS
    while (this.#current === undefined && isFull()) this.#workOffNext()
  }

  /** If the host holds the event loop, no timer writes the log: then this hook does, and nothing older is lost by a kill. */
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
    // What has been told is recorded before the process is at its end; what is only made ready does not hold it.
    if (this.#waiting.length > 0) this.#slice.ref()
    else this.#slice.unref()
  }

  readonly #workOffSlice = (): void => {
    this.#slice = undefined
    this.#unwrittenSince = undefined
    this.#core?.drawRest()
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

  /** What waits longest; false when nothing waits. */
  #hasWaitedFor(millis: number, now = this.#options.now()): boolean {
    const [first] = this.#waiting
    return first !== undefined && first.at < now - millis
  }

  /** What cannot be loaded is tried again when everything is opened, and told then. */
  #loadNext(pieces: Iterator<void>): void {
    try {
      if (pieces.next().done === true) this.#pieces = undefined
    } catch {
      this.#pieces = undefined
      this.#open()
    }
  }

  /** @param isAskedFor for somebody who waits for where spans stand, and for no more; the slice that is to come does the rest */
  #workOff(isAskedFor = false): void {
    // Somebody's callback asks in the middle of a record, and is told how things stand there.
    if (this.#current !== undefined) return
    while (this.#workOffNext(isAskedFor));
    if (!isAskedFor) this.#core?.drawRest()
  }

  /** False when nothing waits. */
  #workOffNext(isAskedFor = false): boolean {
    const record = this.#waiting.shift()
    if (record === undefined) return false
    const { hook, copy } = record
    this.#chars -= copy.chars
    this.#current = record
    // An end that waits is none that is flushed: nothing comes back that somebody waits for.
    const core = this.#open()
    if (hook === undefined) core?.log(copy.payload as HostLine)
    else void core?.on(hook, copy.payload, copy.meta, isAskedFor)
    this.#current = undefined
    return true
  }
}
