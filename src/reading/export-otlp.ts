import { isRecord, parseJson } from './attribute-value.ts'
import { readFileLines } from './line-reader.ts'
import { lineFilter } from './trace-log.ts'

/**
 * The stored OTLP/JSON lines of some traces, without the spans of other traces. Running spans are not included: they are not
 * written yet.
 * @param onRead as in `readFileLines`
 */
export async function* exportOtlp(
  paths: readonly string[],
  traceIds: ReadonlySet<string>,
  onRead?: (bytes: number) => void,
): AsyncGenerator<string, void> {
  const mayHold = lineFilter(traceIds)
  for (const path of paths) {
    for await (const line of readFileLines(path, onRead)) {
      const text = 'text' in line && mayHold(line.text) ? keepTraces(line.text, traceIds) : undefined
      if (text !== undefined) yield text
    }
  }
}

function keepTraces(text: string, traceIds: ReadonlySet<string>): string | undefined {
  const request = parseJson(text)
  const resourceSpans = isRecord(request) ? lists(request['resourceSpans'], 'scopeSpans') : []
  const kept = resourceSpans.flatMap(({ own, inner }) => {
    const scopeSpans = inner.flatMap(scope => {
      const spans = Array.isArray(scope['spans']) ? (scope['spans'] as readonly unknown[]) : []
      const wanted = spans.filter(span => isRecord(span) && traceIds.has(String(span['traceId'])))
      return wanted.length === 0 ? [] : [{ ...scope, spans: wanted }]
    })
    return scopeSpans.length === 0 ? [] : [{ ...own, scopeSpans }]
  })
  return kept.length === 0 ? undefined : JSON.stringify({ resourceSpans: kept })
}

function lists(value: unknown, inner: string): { own: Record<string, unknown>; inner: Record<string, unknown>[] }[] {
  const records = Array.isArray(value) ? value.filter(isRecord) : []
  return records.map(own => ({ own, inner: Array.isArray(own[inner]) ? own[inner].filter(isRecord) : [] }))
}
