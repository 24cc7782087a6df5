import { eachField } from './protobuf-fields.mjs'

/** The spans of an OTLP trace request, JSON or protobuf, in one shape: who compares need not know how they came. */
export function spansOfRequest(body, isJson) {
  return isJson ? spansOfJson(JSON.parse(body.toString('utf8'))) : spansOfProtobuf(body)
}

/** The same of a request that is parsed already, such as a line of a trace log. */
export function spansOfJson({ resourceSpans = [] }) {
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) => {
    const resourceAttributes = jsonAttributes(resource?.attributes)
    return scopeSpans.flatMap(({ scope, spans = [] }) =>
      spans.map(span => ({ ...jsonSpan(span), resource: resourceAttributes, scope: scope?.name ?? '' })),
    )
  })
}

function jsonSpan(span) {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId || undefined,
    name: span.name,
    kind: span.kind ?? 0,
    flags: span.flags ?? 0,
    status: { code: span.status?.code ?? 0, message: span.status?.message || undefined },
    startTimeUnixNano: String(span.startTimeUnixNano),
    endTimeUnixNano: String(span.endTimeUnixNano),
    attributes: jsonAttributes(span.attributes),
    events: (span.events ?? []).map(({ name, timeUnixNano, attributes }) => ({
      name,
      timeUnixNano: String(timeUnixNano),
      attributes: jsonAttributes(attributes),
    })),
    links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
  }
}

function jsonAttributes(list = []) {
  return Object.fromEntries(list.map(({ key, value }) => [key, jsonValue(value)]))
}

function jsonValue(value = {}) {
  if ('stringValue' in value) return value.stringValue
  if ('boolValue' in value) return value.boolValue
  if ('intValue' in value) return Number(value.intValue)
  if ('doubleValue' in value) return value.doubleValue
  if ('arrayValue' in value) return (value.arrayValue.values ?? []).map(jsonValue)
  if ('kvlistValue' in value) return jsonAttributes(value.kvlistValue.values)
  return value.bytesValue
}

function spansOfProtobuf(body) {
  const spans = []
  eachField(body, (field, group) => {
    if (field === 1) readResourceSpans(group, spans)
  })
  return spans
}

function readResourceSpans(message, spans) {
  const attributes = {}
  const scopes = []
  eachField(message, (field, value) => {
    if (field === 1) readAttributes(value, 1, attributes)
    else if (field === 2) scopes.push(value)
  })
  for (const scope of scopes) readScopeSpans(scope, attributes, spans)
}

function readScopeSpans(message, resource, spans) {
  let scope = ''
  const found = []
  eachField(message, (field, value) => {
    if (field === 1) scope = readName(value)
    else if (field === 2) found.push(readSpan(value))
  })
  for (const span of found) spans.push({ ...span, resource, scope })
}

function readName(message) {
  let name = ''
  eachField(message, (field, value) => {
    if (field === 1) name = text(value)
  })
  return name
}

const hex = value => value.toString('hex')
const text = value => value.toString('utf8')
const nanos = value => String(value.readBigUInt64LE())

/** Field number → name and reader of what a span has once. */
const SPAN_FIELDS = new Map([
  [1, ['traceId', hex]],
  [2, ['spanId', hex]],
  [4, ['parentSpanId', value => hex(value) || undefined]],
  [5, ['name', text]],
  [6, ['kind', value => value]],
  [7, ['startTimeUnixNano', nanos]],
  [8, ['endTimeUnixNano', nanos]],
  [15, ['status', readStatus]],
  [16, ['flags', value => value.readUInt32LE()]],
])

function readSpan(message) {
  const span = {
    traceId: '',
    spanId: '',
    parentSpanId: undefined,
    name: '',
    kind: 0,
    flags: 0,
    status: { code: 0, message: undefined },
    startTimeUnixNano: '0',
    endTimeUnixNano: '0',
    attributes: {},
    events: [],
    links: [],
  }
  eachField(message, (field, value) => {
    const [name, read] = SPAN_FIELDS.get(field) ?? []
    if (name !== undefined) span[name] = read(value)
    else if (field === 9) readPair(value, span.attributes)
    else if (field === 11) span.events.push(readEvent(value))
    else if (field === 13) span.links.push(readLink(value))
  })
  return span
}

function readStatus(message) {
  const status = { code: 0, message: undefined }
  eachField(message, (field, value) => {
    if (field === 2) status.message = text(value) || undefined
    else if (field === 3) status.code = value
  })
  return status
}

function readEvent(message) {
  const event = { name: '', timeUnixNano: '0', attributes: {} }
  eachField(message, (field, value) => {
    if (field === 1) event.timeUnixNano = nanos(value)
    else if (field === 2) event.name = text(value)
    else if (field === 3) readPair(value, event.attributes)
  })
  return event
}

function readLink(message) {
  const link = { traceId: '', spanId: '' }
  eachField(message, (field, value) => {
    if (field === 1) link.traceId = hex(value)
    else if (field === 2) link.spanId = hex(value)
  })
  return link
}

/** The pairs that a message has under this field. */
function readAttributes(message, wanted, attributes = {}) {
  eachField(message, (field, value) => {
    if (field === wanted) readPair(value, attributes)
  })
  return attributes
}

function readPair(message, attributes) {
  let key = ''
  let found
  eachField(message, (field, value) => {
    if (field === 1) key = text(value)
    else if (field === 2) found = readValue(value)
  })
  attributes[key] = found
}

const VALUE_FIELDS = {
  1: text,
  2: value => value !== 0,
  3: value => value,
  4: value => value.readDoubleLE(),
  5: readValues,
  6: message => readAttributes(message, 1),
  7: value => value.toString('base64'),
}

function readValue(message) {
  let found
  eachField(message, (field, value) => {
    found = VALUE_FIELDS[field]?.(value)
  })
  return found
}

function readValues(message) {
  const values = []
  eachField(message, (field, value) => {
    if (field === 1) values.push(readValue(value))
  })
  return values
}
