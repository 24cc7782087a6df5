import type {
  Attributes,
  AttributeValue,
  Exception,
  HrTime,
  Link,
  Span,
  SpanContext,
  SpanKind,
  SpanStatus,
  TimeInput,
} from '@opentelemetry/api'
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { stringJson } from './json-bytes.ts'

type TimedEvent = ReadableSpan['events'][number]

const UNSET = 0
const OK = 1
const ERROR = 2
const NANOS_PER_MILLI = 1e6
const NANOS_PER_SECOND = 1e9

export interface SpanSettings {
  readonly resource: ReadableSpan['resource']
  readonly scope: ReadableSpan['instrumentationScope']
  readonly attributeCountLimit: number
  /** Maximum number of events, of links, and of the attributes of each. */
  readonly partCountLimit: number
  readonly processors: readonly Pick<SpanProcessor, 'onStart' | 'onEnd'>[]
}

/** A span whose attributes are two lists: an object with computed keys costs V8 many times as much to build and to read. */
export class ListedSpan {
  readonly keys: AttributeKey[] = []
  readonly values: AttributeValue[] = []

  /** A new object on each call. */
  get attributes(): Attributes {
    return Object.fromEntries(this.keys.map(({ name }, at) => [name, this.values[at]]))
  }

  putAttribute(name: string, value: AttributeValue, limit: number = Number.POSITIVE_INFINITY): boolean {
    const { keys, values } = this
    const cached = cachedKeys.get(name)
    const key = cached ?? createKey(name)
    const at = cached ? keys.indexOf(cached) : keys.findIndex(each => each.name === name)
    if (at >= 0) values[at] = value
    else if (keys.length >= limit) return false
    else {
      keys.push(key)
      values.push(value)
    }
    return true
  }
}

/** A span by the rules of the SDK, but cheaper. No field is private, because `TailSampler` derives spans from it. */
export class RecordedSpan extends ListedSpan implements Span, ReadableSpan {
  readonly kind: SpanKind
  readonly startTime: HrTime
  endTime: HrTime = [0, 0]
  duration: HrTime = [-1, -1]
  ended = false
  name: string
  status: SpanStatus = { code: UNSET }
  readonly parentSpanContext?: SpanContext
  readonly events: TimedEvent[] = []
  readonly links: Link[] = []
  droppedAttributesCount = 0
  droppedEventsCount = 0
  droppedLinksCount = 0
  readonly context: SpanContext
  readonly resource: ReadableSpan['resource']
  readonly instrumentationScope: ReadableSpan['instrumentationScope']
  readonly settings: SpanSettings
  readonly hasGivenStart: boolean
  readonly createdAt: number

  constructor(
    settings: SpanSettings,
    name: string,
    kind: SpanKind,
    context: SpanContext,
    parent?: SpanContext,
    startTime?: TimeInput,
  ) {
    super()
    this.settings = settings
    this.resource = settings.resource
    this.instrumentationScope = settings.scope
    this.name = name
    this.kind = kind
    this.context = context
    if (parent !== undefined) this.parentSpanContext = parent
    this.hasGivenStart = startTime !== undefined && startTime !== null
    this.createdAt = this.hasGivenStart ? 0 : performance.now()
    this.startTime = this.timeOf(startTime ?? Date.now())
  }

  spanContext(): SpanContext {
    return this.context
  }

  isRecording(): boolean {
    return !this.ended
  }

  setAttribute(name: string, value: AttributeValue): this {
    if (this.ended || value === undefined || value === null || name === '' || !isAttributeValue(value)) return this
    const own = Array.isArray(value) ? value.slice() : value
    if (!this.putAttribute(name, own, this.settings.attributeCountLimit)) this.droppedAttributesCount++
    return this
  }

  setAttributes(attributes: Attributes): this {
    for (const name of Object.keys(attributes)) this.setAttribute(name, attributes[name] as AttributeValue)
    return this
  }

  /** Sets attributes whose values are valid. */
  setAttributeLists(names: readonly string[], values: readonly AttributeValue[]): void {
    if (this.ended) return
    const { attributeCountLimit: limit } = this.settings
    for (let at = 0; at < names.length; at++) {
      if (!this.putAttribute(names[at] as string, values[at] as AttributeValue, limit)) this.droppedAttributesCount++
    }
  }

  addEvent(name: string, attributesOrTime?: Attributes | TimeInput, time?: TimeInput): this {
    if (this.ended) return this
    if (this.events.length >= this.settings.partCountLimit) {
      this.events.shift()
      this.droppedEventsCount++
    }
    const isTime = isTimeInput(attributesOrTime)
    const { attributes, dropped } = this.limited(isTime ? undefined : attributesOrTime)
    const at = isTime && !isTimeInput(time) ? attributesOrTime : time
    this.events.push({ name, attributes, time: this.timeOf(at), droppedAttributesCount: dropped })
    return this
  }

  addLink({ context, attributes: given }: Link): this {
    if (this.ended) return this
    if (this.links.length >= this.settings.partCountLimit) {
      this.links.shift()
      this.droppedLinksCount++
    }
    const { attributes, dropped } = this.limited(given)
    this.links.push({
      context,
      ...(Object.keys(attributes).length > 0 ? { attributes } : {}),
      ...(dropped > 0 ? { droppedAttributesCount: dropped } : {}),
    })
    return this
  }

  addLinks(links: Link[]): this {
    for (const link of links) this.addLink(link)
    return this
  }

  setStatus({ code, message }: SpanStatus): this {
    if (this.ended || code === UNSET || this.status.code === OK) return this
    this.status = code === ERROR && typeof message === 'string' ? { code, message } : { code }
    return this
  }

  updateName(name: string): this {
    if (!this.ended) this.name = name
    return this
  }

  recordException(exception: Exception, time?: TimeInput): void {
    const attributes: Attributes = {}
    if (typeof exception === 'string') attributes['exception.message'] = exception
    else if (exception) {
      const type = exception.code ? exception.code.toString() : exception.name
      if (type) attributes['exception.type'] = type
      if (exception.message) attributes['exception.message'] = exception.message
      if (exception.stack) attributes['exception.stacktrace'] = exception.stack
    }
    if (attributes['exception.type'] || attributes['exception.message']) this.addEvent('exception', attributes, time)
  }

  end(endTime?: TimeInput): void {
    if (this.ended) return
    this.endTime = this.timeOf(endTime)
    this.duration = durationOf(this.startTime, this.endTime)
    if (this.duration[0] < 0) {
      this.endTime = [...this.startTime]
      this.duration = [0, 0]
    }
    this.ended = true
    for (const processor of this.settings.processors) processor.onEnd(this)
  }

  /** A small number is a time of `performance.now()`, as in the SDK. */
  timeOf(time: TimeInput | undefined): HrTime {
    if (typeof time === 'number')
      return hrTimeOf(time <= performance.now() ? time + (Date.now() - performance.now()) : time)
    if (time instanceof Date) return hrTimeOf(time.getTime())
    if (isHrTime(time)) return time
    if (this.hasGivenStart) return hrTimeOf(Date.now())
    return sumOf(this.startTime, hrTimeOf(performance.now() - this.createdAt))
  }

  limited(given: Attributes | undefined): { readonly attributes: Attributes; readonly dropped: number } {
    const attributes: Attributes = {}
    let count = 0
    for (const name of typeof given === 'object' && given !== null ? Object.keys(given) : []) {
      const value = given?.[name]
      if (name === '' || !isAttributeValue(value)) continue
      if (count++ < this.settings.partCountLimit) attributes[name] = Array.isArray(value) ? value.slice() : value
    }
    return { attributes, dropped: Math.max(0, count - this.settings.partCountLimit) }
  }
}

function isPrimitive(type: string): boolean {
  return type === 'string' || type === 'number' || type === 'boolean'
}

/** A list may contain absent elements, and otherwise elements of one type. */
function isAttributeValue(value: unknown): value is AttributeValue | undefined {
  if (value === undefined || value === null) return true
  if (!Array.isArray(value)) return isPrimitive(typeof value)
  const types = new Set(Array.from(value, element => (element === null ? 'undefined' : typeof element)))
  types.delete('undefined')
  return types.size === 0 || (types.size === 1 && [...types].every(isPrimitive))
}

function isHrTime(time: unknown): time is HrTime {
  return Array.isArray(time) && time.length === 2 && time.every(part => typeof part === 'number')
}

function isTimeInput(time: unknown): time is TimeInput {
  return typeof time === 'number' || time instanceof Date || isHrTime(time)
}

function hrTimeOf(millis: number): HrTime {
  return [Math.trunc(millis / 1000), Math.round((millis % 1000) * NANOS_PER_MILLI)]
}

function sumOf([seconds, nanos]: HrTime, [moreSeconds, moreNanos]: HrTime): HrTime {
  const sum = nanos + moreNanos
  const carry = sum >= NANOS_PER_SECOND ? 1 : 0
  return [seconds + moreSeconds + carry, sum - carry * NANOS_PER_SECOND]
}

export function durationOf(start: HrTime, end: HrTime): HrTime {
  const [seconds, nanos] = [end[0] - start[0], end[1] - start[1]]
  return nanos < 0 ? [seconds - 1, nanos + NANOS_PER_SECOND] : [seconds, nanos]
}

export function attributeOf(span: ReadableSpan, name: string): AttributeValue | undefined {
  if (!(span instanceof ListedSpan)) return span.attributes[name]
  return span.values[span.keys.findIndex(key => key.name === name)]
}

const MAX_KEYS = 2000
/** Maximum length of a cached key or value: content must not stay in memory. */
export const MAX_KNOWN_CHARS = 128
const NOTHING = Symbol('nothing')

/** The encodings of an attribute's key. The spans of a process share most of their keys, and many values with the previous span. */
export interface AttributeKey {
  readonly name: string
  readonly head: Buffer
  readonly textHead: Buffer
  value: unknown
  /** JSON of key and value, once `value` occurred twice in a row. In protobuf: the field of the key, the whole attribute. */
  pair: Buffer | undefined
  wireKey: Uint8Array | undefined
  wireValue: unknown
  wirePair: Uint8Array | undefined
}

export const cachedKeys: Map<string, AttributeKey> = new Map()

/** Keys are never evicted, so that a cached key identifies its name. When the cache is full, keys are not cached. */
export function createKey(name: string): AttributeKey {
  const head = Buffer.from(`{"key":${stringJson(name)},"value":`)
  const json = { head, textHead: Buffer.from(`${head}{"stringValue":`), value: NOTHING, pair: undefined }
  const key = { name, ...json, wireKey: undefined, wireValue: NOTHING, wirePair: undefined }
  if (cachedKeys.size < MAX_KEYS && name.length <= MAX_KNOWN_CHARS) cachedKeys.set(name, key)
  return key
}
