import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FedSpan } from '../workload/fed-span.ts'
import { type Fed, treeSpan, treeText } from '../workload/feed.ts'
import type { PageSpan } from './query.ts'
import { Scene, serviceOf } from './scene.ts'

const WAYS = [
  { protocol: 'http/json', compression: 'none' },
  { protocol: 'http/json', compression: 'gzip' },
  { protocol: 'http/protobuf', compression: 'none' },
  { protocol: 'http/protobuf', compression: 'gzip' },
] as const

const idOf = ({ traceId, spanId }: Pick<FedSpan, 'traceId' | 'spanId'>): string => `${traceId}/${spanId}`
const byId = (spans: readonly FedSpan[]): Map<string, FedSpan> => new Map(spans.map(span => [idOf(span), span]))
const traceIds = (spans: readonly FedSpan[]): string[] => [...new Set(spans.map(({ traceId }) => traceId))].toSorted()

describe.each(WAYS)('the workload by $protocol, compression $compression', way => {
  let scene: Scene
  let fed: Fed
  let answered: readonly FedSpan[]

  beforeAll(async () => {
    scene = await Scene.start()
    fed = await scene.feed(way)
    answered = await scene.query.spans(serviceOf(fed))
  })

  afterAll(() => scene?.stop())

  test('is all there, and nothing twice', async () => {
    expect(fed.spans.length).toBeGreaterThan(1_000)
    expect(traceIds(answered)).toEqual(traceIds(fed.spans))
    expect(answered.map(idOf).toSorted()).toEqual(fed.spans.map(idOf).toSorted())
    // As it lies in the store: nothing has been put right for the answer.
    const stored = await scene.query.spans(serviceOf(fed), { raw: true })
    expect(stored.map(idOf).toSorted()).toEqual(fed.spans.map(idOf).toSorted())
  })

  test('has the same trees, kinds, states and durations', () => {
    const text = (spans: readonly FedSpan[]): string => treeText(spans.map(treeSpan), { durations: true })
    expect(text(answered)).toBe(text(fed.spans))
  })

  test('has every field as it was sent, to the nanosecond', () => {
    const found = byId(answered)
    for (const span of fed.spans) {
      const answer = found.get(idOf(span))
      expect(answer && comparable(answer), `${span.name} ${idOf(span)}`).toEqual(asStored(comparable(span)))
    }
  })

  test('shows the same parents, times and marks on the page', async () => {
    const sent = byId(fed.spans)
    let count = 0
    for (const traceId of traceIds(fed.spans)) {
      const trace = await scene.query.pageTrace(traceId)
      expect(trace.warnings).toBeNull()
      for (const span of trace.spans) {
        const original = sent.get(`${traceId}/${span.spanID}`)
        expect(original === undefined ? undefined : pageSpanOf(span), span.operationName).toEqual(
          original === undefined
            ? 'a span that was not sent'
            : expectedOnPage(original, sent.get(`${traceId}/${original.parentSpanId}`)),
        )
        count += 1
      }
    }
    expect(count).toBe(fed.spans.length)
  })
})

/** Without what OTLP may leave out: counts that are zero, and the flags of links. */
function comparable({ links, ...span }: FedSpan): FedSpan {
  return { ...span, links: links.map(({ traceId, spanId, attributes }) => ({ traceId, spanId, attributes })) }
}

/** Jaeger has no spans without a duration: it makes them a nanosecond long, and calls that a negative duration. */
function asStored(span: FedSpan): FedSpan {
  const { startUnixNano, endUnixNano, attributes } = span
  if (startUnixNano < endUnixNano) return span
  const warning = { '@jaeger@warnings': [expect.stringMatching(/^Negative duration detected/)] }
  return { ...span, endUnixNano: startUnixNano + 1n, attributes: { ...attributes, ...warning } }
}

/** What matters of a span on the page, in one shape for both sides. */
interface OnPage {
  readonly name: string
  readonly parents: readonly string[]
  readonly links: readonly string[]
  readonly startMicros: number
  readonly durationMicros: number
  readonly kind: unknown
  readonly isError: unknown
  readonly status: unknown
  readonly session: unknown
  readonly events: number
  /** Their first words. */
  readonly warnings: readonly string[]
}

function pageSpanOf(span: PageSpan): OnPage {
  const tag = (key: string): unknown => span.tags.find(each => each.key === key)?.value
  const references = (type: string): string[] =>
    span.references.filter(each => each.refType === type).map(each => `${each.traceID}/${each.spanID}`)
  return {
    name: span.operationName,
    parents: references('CHILD_OF'),
    links: references('FOLLOWS_FROM'),
    startMicros: span.startTime,
    durationMicros: span.duration,
    kind: tag('span.kind'),
    isError: tag('error'),
    status: tag('otel.status_code'),
    session: tag('session.id'),
    events: span.logs.length,
    warnings: (span.warnings ?? []).map(warning => warning.split(/ detected|;/)[0] ?? '').toSorted(),
  }
}

function expectedOnPage(span: FedSpan, parent: FedSpan | undefined): OnPage {
  const { traceId, parentSpanId, kind, status, links } = span
  const isError = status.code === 'ERROR'
  return {
    name: span.name,
    parents: parentSpanId === undefined ? [] : [`${traceId}/${parentSpanId}`],
    links: links.map(idOf),
    startMicros: Number(span.startUnixNano / 1000n),
    durationMicros: Number((span.endUnixNano - span.startUnixNano) / 1000n),
    kind: kind.toLowerCase(),
    isError: isError ? true : undefined,
    status: status.code === 'UNSET' ? undefined : status.code,
    session: span.attributes['session.id'],
    events: span.events.length,
    warnings: [
      ...(span.endUnixNano > span.startUnixNano ? [] : ['Negative duration']),
      ...(parent !== undefined && isMisplaced(asStored(span), asStored(parent))
        ? ['clock skew adjustment disabled']
        : []),
    ],
  }
}

/**
 * Whether the page thinks that another clock was used: for a span that does not lie within its parent, as tools that run
 * after the request that asked for them. It would know better by a resource attribute `ip`, and looks at no other.
 */
function isMisplaced(span: FedSpan, parent: FedSpan): boolean {
  const isLonger = span.endUnixNano - span.startUnixNano > parent.endUnixNano - parent.startUnixNano
  const isBefore = span.startUnixNano < parent.startUnixNano
  return isLonger ? isBefore : isBefore || span.endUnixNano > parent.endUnixNano
}
