import type { Context, SpanContext } from '@opentelemetry/api'
import { elementsOf, idOf, ownValue } from '../contract/foreign.ts'
import type { HookMeta } from '../contract/index.ts'
import { OnDemand } from '../contract/on-demand.ts'
import type { Core } from '../tracker/core.ts'
import type { HostLine } from '../tracker/log-events.ts'
import type { SessionView } from '../tracker/session-view.ts'
import type { CoreStats } from '../tracker/stats.ts'
import type { EarlyContexts, ForeseeableRecord } from './early-context.ts'

/** Longest slice of processing before the event loop runs again. */
const SLICE_MILLIS = 2
/**
 * A record that has waited longer is not postponed again: a host that blocks the loop may delay the next turn for long. The
 * limit is higher while the code is loaded, step by step. A host that is killed meanwhile loses these records.
 */
const PATIENCE_MILLIS = 10
const LOADING_MILLIS = 100
/** If the queue is larger, `emit()` processes the oldest records synchronously. */
const MAX_RECORDS = 128
const MAX_CHARS = 4 * 1024 * 1024

interface QueuedRecord extends ForeseeableRecord {
  /** Approximate memory in characters. Strings are shared with the original, because they cannot change. */
  readonly chars: number
  readonly caller: SpanContext | undefined
  /** The flush that the end of a session requests when it is processed. */
  flushed: Promise<void> | undefined
}

export interface RecordContext {
  readonly now: () => number
  /** Undefined if the active span is never the parent of a turn. */
  readonly activeSpan: (() => SpanContext | undefined) | undefined
  readonly catchUp: () => void
}

export interface RecordQueueOptions extends Pick<RecordContext, 'now' | 'activeSpan'> {
  /** Called once, before the first record or query. Returns undefined after a failure. */
  readonly openCore: (context: RecordContext) => Core | undefined
  readonly loadSteps: ((open: () => unknown) => Iterator<void>) | undefined
  readonly captureScope: CaptureScope
  /** Processes each record inline: `log_flush_ms` is 0, or user code observes each span. */
  readonly isInline: boolean
  readonly flushesSessionEnd: boolean
  /** Processes a flushed end of a session inline: the process may end right after it, without exit listeners. */
  readonly isSessionEndInline: boolean
  /** Answers `traceparent` without processing the queue; undefined if ids cannot be given out early. */
  readonly earlyContexts: EarlyContexts | undefined
  /** Longest time in milliseconds that a record stays unwritten while the event loop is blocked. Infinity = no limit. */
  readonly maxUnwrittenMillis: number
  readonly save: () => void
}

export const NO_STATS: CoreStats = {
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
export class RecordQueue {
  readonly #options: RecordQueueOptions
  readonly #copier: RecordCopier
  readonly #records: QueuedRecord[] = []
  #core: Core | undefined
  #isOpen = false
  #loadSteps: Iterator<void> | undefined
  #chars = 0
  #slice: NodeJS.Immediate | undefined
  #current: QueuedRecord | undefined
  /** Time of the first hook since the event loop turned, or since a hook wrote the log. */
  #unwrittenSince: number | undefined
  #inlineAt: number | undefined
  #isClosed = false

  constructor(options: RecordQueueOptions) {
    this.#options = options
    this.#copier = new RecordCopier(options.captureScope)
    this.#loadSteps = options.loadSteps?.(() => this.#open())
    if (this.#loadSteps === undefined) this.#open()
    else this.#schedule()
  }

  get isUnused(): boolean {
    return !this.#isOpen && this.#records.length === 0
  }

  handleHook(hook: string, payload: unknown, meta: HookMeta | undefined): Promise<void> | undefined {
    const { isInline, flushesSessionEnd, isSessionEndInline, now } = this.#options
    const at = now()
    const isFlushed = flushesSessionEnd && hook === 'on_session_end'
    const canWait = !isInline && !(isFlushed && isSessionEndInline) && typeof hook === 'string'
    const record = canWait ? this.#enqueue(hook, payload, meta, at) : undefined
    const flushed =
      record === undefined
        ? this.#runAt(at, () => this.#drainedCore()?.handleHook(hook, payload, meta))
        : isFlushed
          ? this.#flushOnDemand(record)
          : undefined
    if (!this.#isClosed) this.#saveIfLoopIsBlocked(at)
    return flushed
  }

  /** A caller that awaits the flush has the record processed at once. */
  #flushOnDemand(record: QueuedRecord): Promise<void> {
    return new OnDemand(async () => {
      this.#drain()
      await record.flushed
    })
  }

  /** Queues a log line in order with the hooks, because they determine the span beside it. */
  handleLogLine(line: HostLine): void {
    const { isInline, now } = this.#options
    const at = now()
    const record = isInline ? undefined : this.#enqueue(undefined, line, undefined, at)
    if (record === undefined) this.#runAt(at, () => this.#drainedCore()?.log(line))
  }

  flush(): Promise<void> {
    return this.#drainedCore()?.flush() ?? Promise.resolve()
  }

  endAll(): void {
    this.#runAt(this.#options.now(), () => this.#close()?.endAll())
  }

  /** Stops recording. Open spans stay open for the process that continues them. */
  leaveOpen(): void {
    this.#close()?.leaveOpen()
  }

  #close(): Core | undefined {
    const core = this.#drainedCore()
    this.#isClosed = true
    this.#loadSteps = undefined
    return core
  }

  stats(): CoreStats {
    return this.#drainedCore()?.stats() ?? NO_STATS
  }

  traceparent(ids: unknown, host: string): string | undefined {
    const earlyContexts = this.#current === undefined && !this.#isClosed ? this.#options.earlyContexts : undefined
    const early = earlyContexts?.traceparent(ids, this.#records, this.#viewSession)
    return early ?? this.#drainedCore(true)?.traceparent(ids, host)
  }

  readonly #viewSession = (sessionId: string): SessionView | undefined =>
    this.#isOpen ? this.#core?.viewSession(sessionId) : UNKNOWN_SESSION

  context(ids: unknown, host: string, base: Context): Context {
    return this.#drainedCore(true)?.context(ids, host, base) ?? base
  }

  #open(): Core | undefined {
    if (this.#isOpen) return this.#core
    this.#isOpen = true
    const { now, activeSpan, openCore } = this.#options
    this.#core = openCore({
      now: () => this.#current?.at ?? this.#inlineAt ?? now(),
      activeSpan: activeSpan && (() => (this.#current === undefined ? activeSpan() : this.#current.caller)),
      catchUp: () => this.#drain(),
    })
    return this.#core
  }

  #drainedCore(needsSpanContextOnly = false): Core | undefined {
    this.#drain(needsSpanContextOnly)
    return this.#open()
  }

  /** Handles a call with the time of its arrival, because its code may have to be loaded first. */
  #runAt<Result>(at: number, run: () => Result): Result {
    const before = this.#inlineAt
    this.#inlineAt = at
    try {
      return run()
    } finally {
      this.#inlineAt = before
    }
  }

  /** Returns undefined if the record cannot be copied. */
  #enqueue(hook: string | undefined, payload: unknown, meta: HookMeta | undefined, at: number) {
    if (this.#isClosed) return undefined
    const record = this.#copier.copyOf(hook, payload, meta, at, this.#options.activeSpan?.())
    if (record === undefined) return undefined
    this.#records.push(record)
    this.#chars += record.chars
    this.#schedule()
    if (this.#current !== undefined) return record
    while (this.#records.length > MAX_RECORDS || this.#chars > MAX_CHARS) this.#processNext()
    return record
  }

  /** If the host blocks the event loop, no timer can write the log. This hook then does, so that a kill loses nothing older. */
  #saveIfLoopIsBlocked(at: number): void {
    const limit = this.#options.maxUnwrittenMillis
    if (limit === Number.POSITIVE_INFINITY) return
    if (this.#unwrittenSince === undefined) {
      this.#unwrittenSince = at
      this.#schedule()
    }
    if (at - this.#unwrittenSince < (this.#isOpen ? limit : Math.max(limit, LOADING_MILLIS))) return
    this.#unwrittenSince = at
    this.#drain()
    this.#options.save()
  }

  #schedule(): void {
    this.#slice ??= setImmediate(this.#processSlice)
    // Queued records keep the process alive until they are recorded. Loading alone does not.
    if (this.#records.length > 0) this.#slice.ref()
    else this.#slice.unref()
  }

  readonly #processSlice = (): void => {
    this.#slice = undefined
    this.#unwrittenSince = undefined
    this.#core?.setDeferredAttributes()
    const hasTime = this.#isOpen ? this.#records.length === 0 : !this.#hasWaited(LOADING_MILLIS)
    if (this.#loadSteps !== undefined && hasTime) this.#loadStep(this.#loadSteps)
    else {
      const now = this.#options.now()
      const endAt = performance.now() + SLICE_MILLIS
      while (this.#hasWaited(PATIENCE_MILLIS, now) || performance.now() < endAt) if (!this.#processNext()) break
    }
    if (this.#loadSteps !== undefined || this.#records.length > 0) this.#schedule()
  }

  #hasWaited(millis: number, now = this.#options.now()): boolean {
    const [first] = this.#records
    return first !== undefined && first.at < now - millis
  }

  /** A failed load is retried when the core is opened, and reported then. */
  #loadStep(steps: Iterator<void>): void {
    try {
      if (steps.next().done === true) this.#loadSteps = undefined
    } catch {
      this.#loadSteps = undefined
      this.#open()
    }
  }

  /**
   * A user callback that asks in the middle of a record gets the state at that point. @param needsSpanContextOnly the
   * caller only needs a span context; the next slice does the rest
   */
  #drain(needsSpanContextOnly = false): void {
    if (this.#current !== undefined) return
    while (this.#processNext(needsSpanContextOnly));
    if (!needsSpanContextOnly) this.#core?.setDeferredAttributes()
  }

  #processNext(needsSpanContextOnly = false): boolean {
    const record = this.#records.shift()
    if (record === undefined) return false
    const { hook, payload, meta } = record
    this.#chars -= record.chars
    this.#current = record
    const core = this.#core ?? this.#open()
    if (hook === undefined) core?.log(payload as HostLine)
    else record.flushed = core?.handleHook(hook, payload, meta, needsSpanContextOnly, record.reserved)
    this.#current = undefined
    return true
  }
}

const UNKNOWN_SESSION: SessionView = { turn: undefined, isNewTurn: () => true }

/** Limits the objects, elements and fields of one record. Building attributes inline is cheaper than copying more. */
const MAX_PARTS = 500
const MAX_PARTS_IN_FULL = 5000
const MAX_DEPTH = 16
const PART_CHARS = 32

const CONTENT = new Set(['request_messages', 'messages', 'system_prompt'])
/**
 * Exchanges between agent and model: only their plain fields are read in other modes. Messages of an answer: the ids of their
 * tool calls are read in every mode.
 */
const EXCHANGES = new Set(['request', 'response'])
const READ_INSIDE = new Set(['stop', 'stop_sequences', 'reasoning', 'output_config'])
const MESSAGES = new Set(['assistant_message', 'message'])
const MAX_TOOLS = 10_000
const MAX_CALLS = 100

const NO_FIELDS = Object.freeze({})
const NO_ELEMENTS: readonly unknown[] = Object.freeze([])

type Fields = Record<string, unknown>

interface CaptureScope {
  readonly isFull: boolean
  readonly conversationHistory: boolean
}

class NotPlain extends Error {}

/**
 * Copies records, so that later changes by their host have no effect. Returns undefined if the copy might read differently or
 * costs too much: not plain data, too large, too deep.
 */
class RecordCopier {
  readonly #scope: CaptureScope
  readonly #maxParts: number
  #partsLeft = 0
  #chars = 0

  constructor(scope: CaptureScope) {
    this.#scope = scope
    this.#maxParts = scope.isFull ? MAX_PARTS_IN_FULL : MAX_PARTS
  }

  copyOf(
    hook: string | undefined,
    given: unknown,
    givenMeta: HookMeta | undefined,
    at: number,
    caller: SpanContext | undefined,
  ): QueuedRecord | undefined {
    this.#partsLeft = this.#maxParts
    this.#chars = 0
    // A getter or a Proxy may throw at every step. The record is then processed inline, by code that handles it.
    try {
      if (given !== undefined && (typeof given !== 'object' || given === null)) return undefined
      const payload = given && this.#fields(given, this.#field)
      const meta = givenMeta && this.#meta(givenMeta)
      const chars = this.#chars + PART_CHARS * (this.#maxParts - this.#partsLeft)
      return { hook, payload, meta, chars, at, caller, flushed: undefined, reserved: undefined }
    } catch {
      return undefined
    }
  }

  #meta({ at, host, delivery_id, correlation }: HookMeta): HookMeta {
    this.#plain(at)
    this.#plain(host)
    this.#plain(delivery_id)
    this.#plain(correlation)
    return { at, host, delivery_id, correlation }
  }

  #plain(value: unknown): void {
    if (typeof value === 'string') this.#chars += value.length
    else if (value !== undefined && typeof value !== 'number') throw new NotPlain()
  }

  readonly #field = (value: object, name: string): unknown => {
    const { isFull, conversationHistory } = this.#scope
    if (name === 'conversation_history' && !conversationHistory) return unread(value)
    if (!isFull && CONTENT.has(name)) return unread(value)
    return !isFull && EXCHANGES.has(name) ? this.#exchange(value) : this.#object(value, name, 1)
  }

  #exchange(exchange: object): unknown {
    return Array.isArray(exchange) ? this.#list(exchange, 1) : this.#fields(exchange, this.#inside)
  }

  readonly #inside = (value: object, name: string): unknown => {
    if (READ_INSIDE.has(name)) return this.#object(value, name, 2)
    if (name === 'body') return this.#exchange(value)
    if (MESSAGES.has(name)) {
      return {
        tool_calls: this.#idsIn(ownValue(value, 'tool_calls')),
        content: this.#idsIn(ownValue(value, 'content')),
      }
    }
    if (name === 'tools' && Array.isArray(value) && value.length <= MAX_TOOLS) return new Array(value.length)
    return unread(value)
  }

  #idsIn(list: unknown): unknown {
    return elementsOf(list, MAX_CALLS).map(part => {
      const id = idOf(ownValue(part, 'id'))
      this.#chars += id?.length ?? 0
      return { id }
    })
  }

  readonly #object = (value: object, _name: string, depth: number): unknown => {
    if (depth > MAX_DEPTH) throw new NotPlain()
    return Array.isArray(value) ? this.#list(value, depth) : this.#fields(value, this.#object, depth + 1)
  }

  #fields(object: object, copied: (value: object, name: string, depth: number) => unknown, depth = 1): Fields {
    const prototype: unknown = Object.getPrototypeOf(object)
    if (prototype !== Object.prototype && prototype !== null) throw new NotPlain()
    const copy: Fields = {}
    let count = 0
    for (const name in object) {
      if (++count > this.#partsLeft || name === '__proto__' || name === 'toJSON') throw new NotPlain()
      const value = (object as Fields)[name]
      if (typeof value === 'string') this.#chars += value.length
      copy[name] = typeof value === 'object' && value !== null ? copied(value, name, depth) : value
    }
    this.#partsLeft -= count
    // The object has hidden properties, or inherited ones.
    if (Object.getOwnPropertyNames(object).length !== count) throw new NotPlain()
    return copy
  }

  #list(list: readonly unknown[], depth: number): unknown[] {
    this.#partsLeft -= list.length
    if (this.#partsLeft < 0 || Object.getPrototypeOf(list) !== Array.prototype) throw new NotPlain()
    const copy = list.slice()
    for (let at = 0; at < copy.length; at++) {
      const element = copy[at]
      if (typeof element === 'string') this.#chars += element.length
      else if (typeof element === 'object' && element !== null) copy[at] = this.#object(element, '', depth + 1)
    }
    return copy
  }
}

function unread(value: object): unknown {
  return Array.isArray(value) ? NO_ELEMENTS : NO_FIELDS
}
