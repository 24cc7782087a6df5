/** The lint finds what it is there for: each mistake alone, in telemetry that is otherwise as it should be. */
import { describe, expect, test } from 'vitest'
import { Lint } from './lint.ts'
import type { OtlpMetric, OtlpSpan, OtlpValue } from './telemetry.ts'

const text = (stringValue: string): OtlpValue => ({ stringValue })
const int = (intValue: number): OtlpValue => ({ intValue })

const REQUEST: OtlpSpan = {
  name: 'chat qwen3',
  kind: 3,
  attributes: [
    { key: 'hermes.span.kind', value: text('api') },
    { key: 'gen_ai.operation.name', value: text('chat') },
    { key: 'gen_ai.request.model', value: text('qwen3') },
    { key: 'gen_ai.usage.input_tokens', value: int(11) },
  ],
}

const USAGE: OtlpMetric = {
  name: 'gen_ai.client.token.usage',
  unit: '{token}',
  histogram: {
    dataPoints: [
      {
        attributes: [{ key: 'gen_ai.token.type', value: text('input') }],
        explicitBounds: Array.from({ length: 14 }, (_, power) => 4 ** power),
      },
    ],
  },
}

function spanProblems(change: Partial<OtlpSpan>, added: Readonly<Record<string, OtlpValue>> = {}): string[] {
  const lint = new Lint()
  const attributes = [...(change.attributes ?? REQUEST.attributes)]
  for (const [key, value] of Object.entries(added)) attributes.push({ key, value })
  lint.span({ ...REQUEST, ...change, attributes }, 'semconv')
  return lint.problems
}

function metricProblems(change: Partial<OtlpMetric>): string[] {
  const lint = new Lint()
  lint.metric({ ...USAGE, ...change })
  return lint.problems
}

const [POINT] = USAGE.histogram?.dataPoints ?? []
const pointed = (change: object): Partial<OtlpMetric> => ({ histogram: { dataPoints: [{ ...POINT, ...change }] } })

describe('a span', () => {
  test('is valid as it should be', () => {
    expect(spanProblems({})).toEqual([])
  })

  test.each<[string, string, OtlpValue, RegExp]>([
    ['of no registry', 'gen_ai.usage.everything', int(1), /is in no registry/],
    ['of a namespace that is not ours', 'acme.turn', text('1'), /is in no registry/],
    ['of our own namespace that is not in our table', 'hermes.turn.mood', text('good'), /is in no registry/],
    ['marked as deprecated', 'gen_ai.system', text('openai'), /is deprecated: Replaced by `gen_ai.provider.name`/],
    ['of the usage as it was called before', 'gen_ai.usage.prompt_tokens', int(1), /is deprecated/],
    ['of a registry that we have no type of', 'url.full', text('http://x'), /has no type/],
    ['of a message that no message has', 'llm.input_messages.0.message.mood', text('good'), /is in no registry/],
    ['of a list that is none', 'llm.other_messages.0.message.role', text('user'), /is in no registry/],
  ])('is invalid with a name %s', (_what, key, value, problem) => {
    expect(spanProblems({}, { [key]: value })).toEqual([expect.stringMatching(problem)])
  })

  test.each<[string, string, OtlpValue, RegExp]>([
    ['text for a number', 'gen_ai.usage.output_tokens', text('7'), /is string, not int/],
    ['a fraction for a count', 'gen_ai.request.max_tokens', { doubleValue: 1.5 }, /is double, not int/],
    ['an int that JSON cannot hold', 'gen_ai.request.seed', int(2 ** 80), /no reader can hold/],
    ['a number for text', 'gen_ai.response.id', int(5), /is int, not string/],
    ['text for a list', 'gen_ai.response.finish_reasons', text('stop'), /is string, not string\[\]/],
    ['a list of numbers', 'gen_ai.response.finish_reasons', list(int(1)), /is int\[\], not string\[\]/],
    ['text that is no JSON', 'gen_ai.input.messages', text('hello'), /not json/],
    ['JSON that was cut', 'llm.invocation_parameters', text('{"a":'), /not json/],
    ['a structure where text is due', 'gen_ai.tool.call.arguments', { kvlistValue: {} }, /is kvlistValue/],
    ['a value that is not well known', 'gen_ai.tool.type', text('hammer'), /none of function/],
    ['a kind that OpenInference has not', 'openinference.span.kind', text('API'), /none of LLM/],
    ['text for a duration of ours', 'hermes.turn.duration_ms', text('1'), /is string, not double/],
    ['text for what is so or not', 'hermes.session.failed', text('yes'), /is string, not boolean/],
  ])('is invalid with %s', (_what, key, value, problem) => {
    expect(spanProblems({}, { [key]: value })).toEqual([expect.stringMatching(problem)])
  })

  test('may have a custom value if the registry allows it', () => {
    expect(spanProblems({}, { 'gen_ai.provider.name': text('my-own-server') })).toEqual([])
  })

  test('is invalid with the wrong kind', () => {
    expect(spanProblems({ kind: 1 })).toEqual(['span chat is INTERNAL'])
    expect(spanProblems({ attributes: [{ key: 'hermes.span.kind', value: text('llm') }] })).toEqual([
      'span llm is CLIENT, without an operation',
    ])
  })

  test('is invalid with the wrong name, or an unknown operation', () => {
    expect(spanProblems({ name: 'qwen3' })).toEqual(['span chat is called "qwen3", not "chat qwen3"'])
    const attributes = [{ key: 'gen_ai.operation.name', value: text('ponder') }]
    expect(spanProblems({ attributes })).toEqual(['span ponder is an operation that has no row'])
  })

  test('is invalid with an unknown event or link', () => {
    const attributes = [{ key: 'acme.x', value: text('1') }]
    expect(spanProblems({ events: [{ name: 'exception', attributes }] })).toEqual([
      expect.stringMatching(/^event: acme/),
    ])
    expect(spanProblems({ events: [{ name: 'acme.event' }] })).toEqual([
      expect.stringMatching(/^event acme.event is no/),
    ])
    expect(spanProblems({ links: [{ attributes }] })).toEqual([expect.stringMatching(/^link: acme/)])
  })
})

describe('a metric', () => {
  test('is valid as it should be', () => {
    expect(metricProblems({})).toEqual([])
  })

  test.each<[string, Partial<OtlpMetric>, RegExp]>([
    ['of no registry', { name: 'gen_ai.client.tokens' }, /is in no registry/],
    ['in another unit', { unit: 'tokens' }, /has the unit tokens, not \{token\}/],
    ['of another kind', { histogram: undefined, sum: { isMonotonic: true, dataPoints: [] } } as never, /is a counter/],
    ['with other buckets', pointed({ explicitBounds: [1, 2, 3] }), /has the buckets 1 2 3/],
    [
      'with an attribute of another',
      pointed({ attributes: [{ key: 'gen_ai.tool.name', value: text('x') }] }),
      /not its/,
    ],
    ['with a value of another type', pointed({ attributes: [{ key: 'gen_ai.token.type', value: int(1) }] }), /is int/],
  ])('is invalid %s', (_what, change, problem) => {
    expect(metricProblems(change)).toEqual([expect.stringMatching(problem)])
  })

  test('is invalid if it falls and may only rise', () => {
    const sum = { isMonotonic: false, dataPoints: [] }
    const { histogram: _none, ...rest } = USAGE
    const lint = new Lint()
    lint.metric({ ...rest, name: 'hermes.tool.calls', unit: '{call}', sum })
    expect(lint.problems).toEqual(['metric hermes.tool.calls is a up_down_counter, not a counter'])
  })
})

function list(...values: OtlpValue[]): OtlpValue {
  return { arrayValue: { values } }
}
