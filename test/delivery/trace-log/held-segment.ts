import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { BasicTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { lineOf } from './any-span.ts'
import { leave } from './checkpoint-fixture.ts'

const PID = 4711

/**
 * What a process that was killed while it held a trace has left: nobody has judged it, and nothing in it is open any more. Its
 * segment says of itself what the one says that is in this state directory already.
 *
 * @param names of the spans of the trace
 * @returns the segment
 */
export function leaveHeld(state: string, ...names: readonly string[]): string {
  const traces = join(state, 'traces')
  const [like = ''] = readdirSync(traces)
  const [header = ''] = readFileSync(join(traces, like), 'utf8').split('\n')
  // Segments of this process may be named after a later time than now: after a clock of another test.
  const segment = `${Number(like.split('-')[0]) + 1}-${PID}`
  writeFileSync(join(traces, `${segment}.jsonl`), `${header}\n${lineOf(oneTrace(names))}\n`, { mode: 0o600 })
  leave(state, { segment, text: '{"open":true,"delivered":{}}' })
  return segment
}

function oneTrace(names: readonly string[]): ReadableSpan[] {
  const tracer = new BasicTracerProvider().getTracer('test')
  const root = tracer.startSpan(names[0] ?? '', {}, ROOT_CONTEXT)
  const inRoot = trace.setSpan(ROOT_CONTEXT, root)
  const spans = [root, ...names.slice(1).map(name => tracer.startSpan(name, {}, inRoot))]
  for (const span of spans) span.end()
  return spans as unknown as ReadableSpan[]
}
