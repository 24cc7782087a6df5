import { stat } from 'node:fs/promises'
import type { Attributes, HrTime } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { SegmentFile } from './segment-file.ts'
import { SegmentReader } from './segment-reader.ts'
import { SpanLine } from './span-line.ts'
import { endedSpan, type SegmentMarks, type StoredLine } from './stored-line.ts'

const SPANS_PER_LINE = 128
const LINE_END: Buffer = Buffer.from('\n')
const NANO_DIGITS = 9
const LIVE_WITHIN_MILLIS = 60_000
/** What the segments of a turn's root say its kind is. */
const ROOT_KIND = 'session'
export const CRASHED = 'crashed'

const NO_MARKS: SegmentMarks = { incomplete: '', finalStatus: '', spanKind: '' }

/** What was open of one trace in a process that was killed. */
export interface CrashedTrace {
  readonly traceId: string
  /** Of the outermost span */
  readonly spanId: string
  readonly spans: number
}

/** What is known of a process that has died, beside its segment. */
export interface Death {
  /** When the process said last that it lived, epoch milliseconds. */
  readonly heartbeatAt: number
  /** Segments of the same process, or of one that has gone on with it, that were begun later: what is said there is not ours. */
  readonly laterPaths: readonly string[]
  /** Whether another process may still go on with what is open. */
  readonly isLeftToOthers: boolean
  /** Whether this process has gone on with a span: trace id and span id. */
  readonly isTakenUp: (key: string) => boolean
}

/**
 * Ends, in the segment itself, what was open in it when its process was killed: with its true start, and the last time that
 * the process is known to have lived.
 *
 * @returns what that was; undefined when some stay open
 * @throws the error of the file system
 */
export async function endCrashedSpans(path: string, death: Death): Promise<readonly CrashedTrace[] | undefined> {
  const { heartbeatAt, laterPaths, isLeftToOthers, isTakenUp } = death
  const scan = await openSpansIn(path, laterPaths)
  for (const key of scan.open.keys()) if (isTakenUp(key)) scan.open.delete(key)
  if (scan.open.size === 0) return []
  if (isLeftToOthers) return undefined
  const lastAt = lastKnownAt(scan.lastAt, (await stat(path)).mtimeMs, heartbeatAt)
  const spans = [...scan.open.values()].sort((a, b) => millis(b.startTime) - millis(a.startTime))
  await append(
    path,
    spans.map(span => endedSpan(span, Math.max(millis(span.startTime), lastAt), marksOf(span, scan.marks))),
  )
  return tracesOf(spans)
}

/** @param spans the innermost first */
function tracesOf(spans: readonly ReadableSpan[]): CrashedTrace[] {
  const traces = new Map<string, CrashedTrace>()
  for (const span of spans) {
    const { traceId, spanId } = span.spanContext()
    traces.set(traceId, { traceId, spanId, spans: (traces.get(traceId)?.spans ?? 0) + 1 })
  }
  return [...traces.values()]
}

/**
 * Until when the process is known to have lived. The clock knows it better than the records, if they were made as things
 * happened: in a replay of old ones, their own time is all that counts. A record may carry a time to come.
 */
function lastKnownAt(recordedAt: number, writtenAt: number, heartbeatAt: number): number {
  const isLive = recordedAt > writtenAt - LIVE_WITHIN_MILLIS
  return isLive ? Math.max(writtenAt, heartbeatAt) : recordedAt
}

interface Scan {
  readonly open: Map<string, ReadableSpan>
  readonly marks: SegmentMarks
  readonly lastAt: number
}

async function openSpansIn(path: string, laterPaths: readonly string[]): Promise<Scan> {
  const open = new Map<string, ReadableSpan>()
  let [marks, lastAt] = [NO_MARKS, 0]
  await eachLine(path, line => {
    if (line instanceof SpanLine) {
      for (const { key, start, end } of line.stamps()) {
        lastAt = Math.max(lastAt, millisOf(start), millisOf(end))
        open.delete(key)
      }
    } else if (line.kind === 'open') {
      for (const span of line.spans) {
        lastAt = Math.max(lastAt, millis(span.startTime))
        open.set(keyOf(span), span)
      }
    } else if (line.kind === 'header') marks = line.marks
  })
  for (const later of open.size === 0 ? [] : laterPaths) {
    await eachLine(later, line => {
      if (line instanceof SpanLine) for (const { key } of line.stamps()) open.delete(key)
      else if (line.kind === 'open') for (const span of line.spans) open.delete(keyOf(span))
    })
  }
  return { open, marks, lastAt }
}

async function eachLine(path: string, visit: (line: SpanLine | StoredLine) => void): Promise<void> {
  const reader = new SegmentReader(path)
  try {
    for await (const line of reader.found(0, (await stat(path)).size)) visit(line)
  } finally {
    await reader.close()
  }
}

function marksOf(span: ReadableSpan, { incomplete, finalStatus, spanKind }: SegmentMarks): Attributes {
  const isRoot = spanKind === '' ? span.parentSpanContext === undefined : span.attributes[spanKind] === ROOT_KIND
  return {
    ...(incomplete === '' ? {} : { [incomplete]: CRASHED }),
    ...(isRoot && finalStatus !== '' ? { [finalStatus]: CRASHED } : {}),
  }
}

async function append(path: string, spans: readonly ReadableSpan[]): Promise<void> {
  const file = SegmentFile.open(path)
  try {
    // The process may have died in the middle of a line, which must not swallow the next one.
    if (file.bytes > 0 && !file.endsWithLineEnd()) await file.append(Buffer.from('\n'))
    for (let at = 0; at < spans.length; at += SPANS_PER_LINE) {
      const { json } = SpanLine.of(spans.slice(at, at + SPANS_PER_LINE))
      await file.append(Buffer.concat([json, LINE_END]))
    }
  } finally {
    file.close()
  }
}

function keyOf(span: ReadableSpan): string {
  const { traceId, spanId } = span.spanContext()
  return `${traceId}${spanId}`
}

function millisOf(nanos: string): number {
  return millis([Number(nanos.slice(0, -NANO_DIGITS)), Number(nanos.slice(-NANO_DIGITS))])
}

function millis([seconds, nanos]: HrTime): number {
  return seconds * 1000 + nanos / 1e6
}
