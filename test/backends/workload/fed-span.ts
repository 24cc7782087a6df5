import { readFileSync } from 'node:fs'

export type PlainValue =
  | string
  | number
  | boolean
  | null
  | readonly PlainValue[]
  | { readonly [key: string]: PlainValue }
export type Attributes = Readonly<Record<string, PlainValue>>

export type StatusName = 'UNSET' | 'OK' | 'ERROR'
export type KindName = 'UNSPECIFIED' | 'INTERNAL' | 'SERVER' | 'CLIENT' | 'PRODUCER' | 'CONSUMER'

/** A span as our trace log has it: what every backend was given. */
export interface FedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: KindName
  readonly status: { readonly code: StatusName; readonly message?: string }
  readonly startUnixNano: bigint
  readonly endUnixNano: bigint
  readonly attributes: Attributes
  readonly events: readonly FedEvent[]
  readonly links: readonly FedLink[]
  readonly resource: Attributes
}

export interface FedEvent {
  readonly name: string
  readonly timeUnixNano: bigint
  readonly attributes: Attributes
}

export interface FedLink {
  readonly traceId: string
  readonly spanId: string
  readonly attributes: Attributes
}

const KINDS: readonly KindName[] = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER']
const STATUSES: readonly StatusName[] = ['UNSET', 'OK', 'ERROR']

interface OtlpAttribute {
  readonly key: string
  readonly value: OtlpValue
}

interface OtlpValue {
  readonly stringValue?: string
  readonly boolValue?: boolean
  readonly intValue?: string | number
  readonly doubleValue?: number
  readonly arrayValue?: { readonly values?: readonly OtlpValue[] }
  readonly kvlistValue?: { readonly values?: readonly OtlpAttribute[] }
}

interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind?: number
  readonly status?: { readonly code?: number; readonly message?: string }
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes?: readonly OtlpAttribute[]
  readonly events?: readonly {
    readonly name: string
    readonly timeUnixNano: string
    readonly attributes?: readonly OtlpAttribute[]
  }[]
  readonly links?: readonly {
    readonly traceId: string
    readonly spanId: string
    readonly attributes?: readonly OtlpAttribute[]
  }[]
}

interface OtlpLine {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly OtlpAttribute[] }
    readonly scopeSpans?: readonly { readonly spans?: readonly OtlpSpan[] }[]
  }[]
}

function plain(value: OtlpValue): PlainValue {
  if (value.intValue !== undefined) return Number(value.intValue)
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(plain)
  if (value.kvlistValue !== undefined) return plainAttributes(value.kvlistValue.values)
  return value.stringValue ?? value.boolValue ?? value.doubleValue ?? null
}

function plainAttributes(attributes: readonly OtlpAttribute[] | undefined): Attributes {
  return Object.fromEntries((attributes ?? []).map(({ key, value }) => [key, plain(value)]))
}

function fedSpan(span: OtlpSpan, resource: Attributes): FedSpan {
  const { traceId, spanId, parentSpanId = '', name, kind = 0, status = {} } = span
  return {
    traceId,
    spanId,
    ...(parentSpanId === '' ? {} : { parentSpanId }),
    name,
    kind: KINDS[kind] ?? 'UNSPECIFIED',
    status: {
      code: STATUSES[status.code ?? 0] ?? 'UNSET',
      ...(status.message === undefined || status.message === '' ? {} : { message: status.message }),
    },
    startUnixNano: BigInt(span.startTimeUnixNano),
    endUnixNano: BigInt(span.endTimeUnixNano),
    attributes: plainAttributes(span.attributes),
    events: (span.events ?? []).map(event => ({
      name: event.name,
      timeUnixNano: BigInt(event.timeUnixNano),
      attributes: plainAttributes(event.attributes),
    })),
    links: (span.links ?? []).map(link => ({ ...link, attributes: plainAttributes(link.attributes) })),
    resource,
  }
}

/**
 * The spans of OTLP/JSON lines, ours or what a server answers. Lines of another kind, such as the notes of what is open,
 * hold none.
 */
export function spansOfLines(text: string): FedSpan[] {
  return text
    .split('\n')
    .filter(line => line !== '')
    .flatMap(line => (JSON.parse(line) as OtlpLine).resourceSpans ?? [])
    .flatMap(({ resource, scopeSpans = [] }) => {
      const described = plainAttributes(resource?.attributes)
      return scopeSpans.flatMap(({ spans = [] }) => spans.map(span => fedSpan(span, described)))
    })
}

export function spansOfFiles(paths: readonly string[]): FedSpan[] {
  return paths.flatMap(path => spansOfLines(readFileSync(path, 'utf8')))
}
