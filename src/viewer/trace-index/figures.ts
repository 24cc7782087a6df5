import { displayKind, SpanAttributes } from '../../reading/span-attributes.ts'
import { approvalWaitMillis, costOf, isRequest, tokensOf } from '../../reading/span-facts.ts'
import type { StoredSpan } from '../../reading/stored-span.ts'
import { boundedTokens, cachedTokensOf, nanodollars, type PlacedSpan, type TraceRow } from './trace-row.ts'

/** The kinds of spans summed up by day. `turn` also has the tokens of a trace that none of its requests records. */
export type FigureKind = 'request' | 'tool' | 'turn'

/** A row of `figure`. Figures with the same key are added into one row. */
export interface Figure {
  /** Days since the epoch, in UTC. */
  readonly day: number
  readonly kind: FigureKind
  readonly agent: string
  readonly name: string
  readonly outcome: string
  readonly bucket: number
  readonly count: number
  readonly failed: number
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly nanodollars: number
}

export const DAY_MILLIS = 86_400_000
const MAX_CHARS = 60
const STEP = Math.log(1.1)

/** Each bucket is a tenth wider than the one before, so percentiles are accurate to a tenth. */
function bucketOf(millis: number): number {
  return Math.round(Math.log(Math.max(1, millis)) / STEP)
}

export function millisOfBucket(bucket: number): number {
  return Math.exp(bucket * STEP)
}

export function dayOf(at: number): number {
  return Math.floor(at / DAY_MILLIS)
}

/** The contribution of a trace to the figures. Deterministic for the same spans, so that it can be subtracted again. */
export function figuresOf(placed: ReadonlyMap<string, PlacedSpan>, row: TraceRow): Figure[] {
  const figures: Figure[] = []
  const waits = waitsBelow(placed, row.namespace)
  for (const { span } of placed.values()) {
    const attributes = new SpanAttributes(span, row.namespace)
    const kind = displayKind(attributes)
    if (!isRequest(kind) && (kind !== 'tool' || span.running === true)) continue
    const waited = approvalWaitMillis(waits.get(span.spanId) ?? [], row.namespace)
    const figure = isRequest(kind) ? requestFigure(attributes, row) : toolFigure(attributes, row, waited)
    figures.push(figure)
  }
  figures.push(turnFigure(row, figures))
  return figures
}

/** Span id → the approvals below it, whose waiting time is not the tool's own. */
function waitsBelow(placed: ReadonlyMap<string, PlacedSpan>, namespace: string): ReadonlyMap<string, StoredSpan[]> {
  const waits = new Map<string, StoredSpan[]>()
  for (const { span } of placed.values()) {
    if (span.parentSpanId === undefined || displayKind(new SpanAttributes(span, namespace)) !== 'approval') continue
    const siblings = waits.get(span.parentSpanId)
    if (siblings === undefined) waits.set(span.parentSpanId, [span])
    else siblings.push(span)
  }
  return waits
}

const NO_USAGE = { input: 0, output: 0, cached: 0, nanodollars: 0 }

function requestFigure(attributes: SpanAttributes, { agent }: TraceRow): Figure {
  const { span } = attributes
  const isOver = span.running !== true
  const kind = displayKind(attributes)
  const { input = 0, output = 0 } = tokensOf(kind, attributes) ?? {}
  const failure = attributes.text('error.type', 'http.response.status_code') || 'error'
  return {
    day: dayOf(span.startAt),
    kind: 'request',
    agent,
    name: attributes.text('gen_ai.request.model', 'gen_ai.response.model', 'llm.model_name').slice(0, MAX_CHARS),
    outcome: span.status === 'error' ? failure.slice(0, MAX_CHARS) : '',
    bucket: bucketOf(span.endAt - span.startAt),
    count: Number(isOver),
    failed: Number(isOver && span.status === 'error'),
    input: Math.round(boundedTokens(input)),
    output: Math.round(boundedTokens(output)),
    cached: Math.round(cachedTokensOf(attributes)),
    nanodollars: nanodollars(costOf(attributes) ?? 0),
  }
}

function toolFigure(attributes: SpanAttributes, { agent }: TraceRow, waited: number): Figure {
  const { span } = attributes
  const word = attributes.text('.tool.outcome').slice(0, MAX_CHARS)
  return {
    day: dayOf(span.startAt),
    kind: 'tool',
    agent,
    name: attributes.text('gen_ai.tool.name', 'tool.name').slice(0, MAX_CHARS),
    outcome: word || (span.status === 'error' ? 'error' : 'ok'),
    bucket: bucketOf(span.endAt - span.startAt - waited),
    count: 1,
    failed: Number(span.status === 'error'),
    ...NO_USAGE,
  }
}

function turnFigure(row: TraceRow, requests: readonly Figure[]): Figure {
  const sum = (key: 'input' | 'output' | 'nanodollars'): number => requests.reduce((all, each) => all + each[key], 0)
  return {
    day: dayOf(row.start_at),
    kind: 'turn',
    agent: row.agent,
    name: row.model.slice(0, MAX_CHARS),
    outcome: row.running > 0 ? '' : (row.outcome ?? '').slice(0, MAX_CHARS),
    bucket: bucketOf(row.duration - row.waited),
    count: Number(row.running === 0),
    failed: Number(row.running === 0 && row.tone === 'error'),
    ...NO_USAGE,
    input: Math.round(row.input - sum('input')),
    output: Math.round(row.output - sum('output')),
    nanodollars: row.nanodollars - sum('nanodollars'),
  }
}
