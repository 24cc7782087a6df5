import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { expect, test } from 'vitest'
import { ConsoleSpanSink } from '../../../src/delivery/pipeline/console-sink.ts'
import { SpanLine } from '../../../src/delivery/trace-log/span-line.ts'

const ids: Record<string, number> = { root: 1, api: 2, tool: 3 }

function span(name: string, parent: string | undefined, startSecond: number, more: object = {}): ReadableSpan {
  const idOf = (of: string): string => String(ids[of] ?? 9).padStart(16, '0')
  const context = { traceId: 'a'.repeat(32), spanId: idOf(name), traceFlags: 1 }
  return {
    name,
    spanContext: () => context,
    ...(parent === undefined ? {} : { parentSpanContext: { ...context, spanId: idOf(parent) } }),
    startTime: [startSecond, 0],
    duration: [1, 500_000_000],
    status: { code: 1 },
    ...more,
  } as ReadableSpan
}

function exportTo(sink: ConsoleSpanSink, spans: readonly ReadableSpan[]): Promise<unknown> {
  return sink.export([new SpanLine(spans)])
}

function printed(): { sink: ConsoleSpanSink; text: () => string } {
  let text = ''
  const sink = new ConsoleSpanSink(more => {
    text += more
  })
  return { sink, text: () => text }
}

test('prints a trace as a tree once its root has ended', async () => {
  const { sink, text } = printed()
  await exportTo(sink, [
    span('tool', 'api', 3, { status: { code: 2, message: 'no\nsuch\u001b[31m file' } }),
    span('api', 'root', 2),
  ])
  expect(text()).toBe('')
  await exportTo(sink, [span('root', undefined, 1)])
  expect(text()).toBe(
    [
      `trace ${'a'.repeat(32)}`,
      '  root  1.500 s',
      '    api  1.500 s',
      '      tool  1.500 s  ERROR no such [31m file',
      '',
    ].join('\n'),
  )
})

test('prints a trace without a root at the end', async () => {
  const { sink, text } = printed()
  await exportTo(sink, [span('api', 'root', 2)])
  await sink.close()
  expect(text()).toContain('\n  api  1.500 s\n')
})

test('prints a trace of two thousand levels', async () => {
  const { sink, text } = printed()
  const names = Array.from({ length: 2000 }, (_, at) => `level${at}`)
  for (const [at, name] of names.entries()) ids[name] = at + 10
  await exportTo(
    sink,
    names.map((name, at) => span(name, names[at - 1], at)),
  )
  expect(text().trimEnd().split('\n')).toHaveLength(2001)
})
