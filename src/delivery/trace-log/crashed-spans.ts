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
/** The kind of a turn's root span. */
const ROOT_KIND = 'session'
export const CRASHED = 'crashed'

const NO_MARKS: SegmentMarks = { incomplete: '', finalStatus: '', spanKind: '' }

/** The open spans of one trace in a killed process. */
export interface RecoveredTrace {
  readonly traceId: string
  /** Id of the outermost span */
  readonly spanId: string
  readonly spans: number
}

/** The facts of a dead process outside its segment. */
export interface CrashFacts {
  /** Latest heartbeat of the process, epoch milliseconds. */
  readonly heartbeatAt: number
  /** Newer segments of the same process, or of one that continued it. Spans mentioned there are not handled here. */
  readonly laterPaths: readonly string[]
  /** True if another process may still continue the open spans. */
  readonly mayBeContinued: boolean
  /** True if this process continues the span: trace id and span id. */
  readonly isContinuedHere: (key: string) => boolean
}

/**
 * Ends the open spans of a killed process in the segment itself. They keep their true start, and end at the last time at
 * which the process was known to be alive.
 *
 * @returns the affected traces; undefined if some spans stay open
 * @throws the error of the file system
 */
export async function endCrashedSpans(path: string, death: CrashFacts): Promise<readonly RecoveredTrace[] | undefined> {
  const { heartbeatAt, laterPaths, mayBeContinued, isContinuedHere } = death
  const scan = await openSpansIn(path, laterPaths)
  for (const key of scan.open.keys()) if (isContinuedHere(key)) scan.open.delete(key)
  if (scan.open.size === 0) return []
  if (mayBeContinued) return undefined
  const lastAt = lastKnownAt(scan.lastAt, (await stat(path)).mtimeMs, heartbeatAt)
  const spans = [...scan.open.values()].sort((a, b) => millis(b.startTime) - millis(a.startTime))
  await append(
    path,
    spans.map(span => endedSpan(span, Math.max(millis(span.startTime), lastAt), marksOf(span, scan.marks))),
  )
  return tracesOf(spans)
}

/** @param spans the innermost first */
function tracesOf(spans: readonly ReadableSpan[]): RecoveredTrace[] {
  const traces = new Map<string, RecoveredTrace>()
  for (const span of spans) {
    const { traceId, spanId } = span.spanContext()
    traces.set(traceId, { traceId, spanId, spans: (traces.get(traceId)?.spans ?? 0) + 1 })
  }
  return [...traces.values()]
}

/**
 * The last time at which the process was known to be alive. For live records, the times of the file and the heartbeat are
 * more accurate than the records. In a replay of old records only their own times count. A record may lie in the future.
 */
function lastKnownAt(recordedAt: number, writtenAt: number, heartbeatAt: number): number {
  const isLive = recordedAt > writtenAt - LIVE_WITHIN_MILLIS
  return isLive ? Math.max(writtenAt, heartbeatAt) : recordedAt
}

interface OpenSpanScan {
  readonly open: Map<string, ReadableSpan>
  readonly marks: SegmentMarks
  readonly lastAt: number
}

async function openSpansIn(path: string, laterPaths: readonly string[]): Promise<OpenSpanScan> {
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
    for await (const line of reader.spanLines(0, (await stat(path)).size)) visit(line)
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
    // If the process died in the middle of a line, the remainder must not merge with the next line.
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
