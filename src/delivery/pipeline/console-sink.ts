import type { HrTime } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { type SpanLine, spansOf } from '../trace-log/index.ts'
import type { ExportResult, SpanSink } from './delivery.ts'

const STATUS_ERROR = 2
/** Traces whose root has not ended. Beyond the limit the oldest is printed incomplete. */
const MAX_OPEN_TRACES = 100

export class ConsoleSpanSink implements SpanSink {
  readonly #write: (text: string) => void
  readonly #open = new Map<string, ReadableSpan[]>()

  constructor(write: (text: string) => void) {
    this.#write = write
  }

  async export(lines: readonly SpanLine[]): Promise<ExportResult> {
    const finished = new Set<string>()
    for (const span of spansOf(lines)) {
      const { traceId } = span.spanContext()
      const known = this.#open.get(traceId)
      if (known) known.push(span)
      else this.#open.set(traceId, [span])
      if (!span.parentSpanContext || span.parentSpanContext.isRemote) finished.add(traceId)
    }
    for (const traceId of finished) this.#print(traceId)
    for (const traceId of this.#open.keys()) if (this.#open.size > MAX_OPEN_TRACES) this.#print(traceId)
    return { lost: 0 }
  }

  async close(): Promise<void> {
    for (const traceId of [...this.#open.keys()]) this.#print(traceId)
  }

  #print(traceId: string): void {
    const spans = this.#open.get(traceId) ?? []
    this.#open.delete(traceId)
    this.#write(`trace ${traceId}\n${treeLines(spans).join('\n')}\n`)
  }
}

function treeLines(spans: readonly ReadableSpan[]): string[] {
  const ids = new Set(spans.map(span => span.spanContext().spanId))
  const children = new Map<string | undefined, ReadableSpan[]>()
  for (const span of spans) {
    const parentId = span.parentSpanContext?.spanId
    const under = parentId !== undefined && ids.has(parentId) ? parentId : undefined
    children.set(under, [...(children.get(under) ?? []), span])
  }
  const lines: string[] = []
  const addBelow = (parentId: string | undefined, indent: string): void => {
    const spans = children.get(parentId) ?? []
    for (const span of spans.sort((one, other) => seconds(one.startTime) - seconds(other.startTime))) {
      lines.push(indent + spanLine(span))
      addBelow(span.spanContext().spanId, `${indent}  `)
    }
  }
  addBelow(undefined, '  ')
  return lines
}

function spanLine(span: ReadableSpan): string {
  const problem = span.status.code === STATUS_ERROR ? `  ERROR ${span.status.message ?? ''}` : ''
  const line = `${span.name}  ${seconds(span.duration).toFixed(3)} s${problem}`.trimEnd()
  // Names and descriptions are untrusted. Control characters could steer the terminal or break the line.
  return line.replace(/\p{Cc}+/gu, ' ')
}

function seconds([whole, nanos]: HrTime): number {
  return whole + nanos / 1e9
}
