import { isRecord, parseJson } from './attribute-value.ts'
import { type OnRead, readFileLines } from './line-reader.ts'
import { lineFilter } from './trace-log.ts'

/**
 * The stored OTLP/JSON lines of some traces, without the spans of other traces. Running spans are not included: they are not
 * written yet.
 * @param onRead as in `readFileLines`
 */
export async function* exportOtlp(
  paths: readonly string[],
  traceIds: ReadonlySet<string>,
  onRead?: OnRead,
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
  const kept = recordsIn(request, 'resourceSpans').flatMap(own => {
    const scopeSpans = recordsIn(own, 'scopeSpans').flatMap(scope => {
      const spans = recordsIn(scope, 'spans').filter(span => traceIds.has(String(span['traceId'])))
      return spans.length === 0 ? [] : [{ ...scope, spans }]
    })
    return scopeSpans.length === 0 ? [] : [{ ...own, scopeSpans }]
  })
  return kept.length === 0 ? undefined : JSON.stringify({ resourceSpans: kept })
}

function recordsIn(holder: unknown, name: string): Record<string, unknown>[] {
  const list = isRecord(holder) ? holder[name] : undefined
  return Array.isArray(list) ? list.filter(isRecord) : []
}
