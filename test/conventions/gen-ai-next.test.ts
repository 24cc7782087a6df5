/** The set `gen_ai_next`: its names against those that were transcribed, what it makes us write, and the page that says so. */
import { describe, expect, test } from 'vitest'
import { GEN_AI, GEN_AI_NEXT, GEN_AI_NEXT_METRIC, type NextMetricKey } from '../../src/contract/semconv/index.ts'
import { createTestPlugin } from '../../src/testing.ts'
import { NEXT_INSTRUMENTS } from '../../src/tracker/instrument-table.ts'
import { feedSteps, type Step, told } from '../support/feed.ts'
import { read, section } from '../support/pages.ts'
import { SAMPLED, sample } from '../support/sample.ts'
import { answered, asked, attributes, began, used } from '../traces/scenes.ts'
import { NEXT_EXCEPTIONS } from './exceptions.ts'
import {
  GEN_AI_NEXT_ATTRIBUTES,
  GEN_AI_NEXT_METRICS,
  GEN_AI_NEXT_SPANS,
  GEN_AI_NEXT_STABILITY,
  GEN_AI_NEXT_VERSION,
  GEN_AI_RENAMED,
} from './gen-ai-next-table.ts'
import { type AttributeRow, GEN_AI_ATTRIBUTES, GEN_AI_OPERATIONS } from './gen-ai-table.ts'
import { Lint } from './lint.ts'
import { CAPTURED_RUNS, MADE_RUNS, RUNS } from './runs.ts'
import { type OtlpSpan, type OtlpValue, record } from './telemetry.ts'

/** Of one request: 100 input tokens and 30 more that were written to a cache, 20 output tokens with 5 for reasoning. */
const RECORDED: readonly string[] = [
  'gen_ai.client.inference.duration 0.1',
  'gen_ai.client.inference.operation.input_tokens 130',
  'gen_ai.client.inference.operation.output_tokens 20',
  'gen_ai.client.inference.usage.cache_write.input_tokens 30',
  'gen_ai.client.inference.usage.input_tokens 130',
  'gen_ai.client.inference.usage.output_tokens 20',
  'gen_ai.client.inference.usage.reasoning.output_tokens 5',
  'gen_ai.invoke_agent.inference_calls 1',
  'gen_ai.invoke_agent.tool_calls 1',
]

const ALL = ['own', 'gen_ai', 'gen_ai_next', 'openinference'] as const

/** The type that each name is written with. */
const TYPES: { readonly [Key in keyof typeof GEN_AI_NEXT]: AttributeRow['type'] } = {
  reasoningEffort: 'string',
  requestPreviousResponseId: 'string',
  cacheWriteTokens: 'int',
  toolAgentName: 'string',
}

function rowOf(name: string): AttributeRow | undefined {
  return GEN_AI_NEXT_ATTRIBUTES[name.replace(/^gen_ai\./, '')]
}

describe('the set of names', () => {
  test.each(Object.entries(GEN_AI_NEXT))('has %s as %s, with the type that we write', (key, name) => {
    expect(rowOf(name)?.type).toBe(TYPES[key as keyof typeof GEN_AI_NEXT])
  })

  test('excludes those of v1.41, or those on this span', () => {
    const gained = Object.values(GEN_AI_NEXT_SPANS).flatMap(row => row.gained)
    expect(Object.values(GEN_AI_NEXT).filter(name => !gained.includes(name.replace('gen_ai.', '')))).toEqual([])
  })

  test('has every other name of v1.41, and writes each new name beside the old one', () => {
    const gone = Object.keys(GEN_AI_ATTRIBUTES).filter(name => rowOf(name) === undefined)
    expect(gone.sort()).toEqual(Object.keys(GEN_AI_RENAMED).sort())
    const written = gone.filter(name => Object.values<string>(GEN_AI).includes(`gen_ai.${name}`))
    const heirs = written.map(name => `gen_ai.${GEN_AI_RENAMED[name]}`)
    expect(heirs.filter(name => !Object.values<string>(GEN_AI_NEXT).includes(name))).toEqual([])
  })

  test('has the new span of each operation that we write', () => {
    expect(Object.keys(GEN_AI_NEXT_SPANS).sort()).toEqual(Object.keys(GEN_AI_OPERATIONS).sort())
    const named = Object.values(GEN_AI_NEXT_SPANS).flatMap(row => [...row.gained, ...row.lost])
    const isKnown = (name: string): boolean => rowOf(name) !== undefined || Object.hasOwn(GEN_AI_RENAMED, name)
    expect(named.filter(name => !isKnown(name))).toEqual([])
    expect(Object.keys(GEN_AI_OPERATIONS).filter(name => !rowOf('operation.name')?.values?.includes(name))).toEqual([])
  })
})

describe(`all data with the set, ${SAMPLED}`, () => {
  const used = new Set<string>()
  const names = new Set<string>()

  test.each([
    ['full', 'hermes', [...sample(CAPTURED_RUNS, 40), ...MADE_RUNS]],
    ['off', 'semconv', sample(RUNS, 15)],
  ] as const)(
    'has only known names, content_capture: %s, span_names: %s',
    async (content_capture, span_names, runs) => {
      const lint = new Lint(true)
      for (const { host, tell } of runs) {
        const telemetry = await record({ host, conventions: ALL, content_capture, span_names }, tell)
        lint.telemetry(telemetry, span_names)
        for (const span of telemetry.spans) for (const { key } of span.attributes) names.add(key)
      }
      expect(lint.problems).toEqual([])
      for (const name of lint.exceptions) used.add(name)
    },
  )

  test('has each of its names', () => {
    expect(Object.values(GEN_AI_NEXT).filter(name => !names.has(name))).toEqual([])
  })

  test('needs every exception', () => {
    expect(Object.keys(NEXT_EXCEPTIONS).filter(name => !used.has(name))).toEqual([])
  })
})

describe('the lint of it', () => {
  const problemsOf = (isNext: boolean, operation: string, key: string, value: OtlpValue): readonly string[] => {
    const lint = new Lint(isNext)
    const said = { key: 'gen_ai.operation.name', value: { stringValue: operation } }
    const kind = operation === 'chat' ? 3 : 1
    lint.span({ name: operation, kind, attributes: [said, { key, value }] } satisfies OtlpSpan, 'hermes')
    return lint.problems
  }

  test.each<[string, boolean, string, string, OtlpValue, readonly string[]]>([
    ['a new name', true, 'chat', 'gen_ai.request.reasoning.level', { stringValue: 'low' }, []],
    [
      'a new name without the set',
      false,
      'chat',
      'gen_ai.request.reasoning.level',
      { stringValue: 'low' },
      ['span: gen_ai.request.reasoning.level is in no registry, and in no table of ours'],
    ],
    [
      'a new name of another type',
      true,
      'chat',
      'gen_ai.request.reasoning.level',
      { intValue: '1' },
      ['span: gen_ai.request.reasoning.level is int, not string'],
    ],
    [
      'a new name on the wrong span',
      true,
      'execute_tool',
      'gen_ai.request.reasoning.level',
      { stringValue: 'low' },
      ['span execute_tool has gen_ai.request.reasoning.level, which is not its own'],
    ],
    [
      'a name that a span has no more',
      true,
      'invoke_agent',
      'gen_ai.agent.version',
      { stringValue: '1' },
      ['span invoke_agent has gen_ai.agent.version no more'],
    ],
    [
      'a name of nobody',
      true,
      'execute_tool',
      'gen_ai.skill.guessed',
      { stringValue: 'x' },
      ['span: gen_ai.skill.guessed is in no registry, and in no table of ours'],
    ],
  ])('checks %s', (_, isNext, operation, key, value, expected) => {
    expect(problemsOf(isNext, operation, key, value)).toEqual(expected)
  })
})

describe('the values', () => {
  const turn = (start: object, agent: object = { agent_name: 'scout' }): readonly Step[] => [
    ...began(agent),
    ...asked(100, start),
    ...used(210),
    ...answered(300),
  ]
  const REQUEST = 'api.qwen3'
  const TOOL = 'tool.terminal'
  const body = (said: object): object => ({ request: { method: 'POST', body: said } })

  test.each<[string, object, string | undefined]>([
    ['the host', { reasoning_effort: 'high' }, 'high'],
    ['a request of chat completions', body({ reasoning_effort: 'low' }), 'low'],
    ['a request of responses', body({ reasoning: { effort: 'medium' } }), 'medium'],
    ['a request of messages', body({ output_config: { effort: 'max' } }), 'max'],
    ['the host, before the request', { reasoning_effort: 'high', ...body({ reasoning: { effort: 'low' } }) }, 'high'],
    ['nobody', {}, undefined],
  ])('includes the reasoning effort, set by %s', (_, start, level) => {
    const span = attributes(told(turn(start), { conventions: ALL }), REQUEST)
    expect(span['gen_ai.request.reasoning.level']).toBe(level)
    expect(span['hermes.request.reasoning_effort']).toBe(level)
  })

  test.each<[string, object, string | undefined]>([
    ['responses', { previous_response_id: 'resp_7' }, 'resp_7'],
    ['interactions', { previous_interaction_id: 'int_7' }, 'int_7'],
    ['no such thing', { model: 'qwen3' }, undefined],
  ])('includes the previous response of a request: %s', (_, said, id) => {
    const span = attributes(told(turn(body(said)), { conventions: ALL }), REQUEST)
    expect(span['gen_ai.request.previous_response.id']).toBe(id)
  })

  test('includes the agent of a tool, also if its start was never seen', () => {
    expect(attributes(told(turn({}), { conventions: ALL }), TOOL)['gen_ai.agent.name']).toBe('scout')
    const plugin = createTestPlugin({ conventions: ALL, host: 'crush' })
    const [, end] = used(210, {}, { duration_ms: 20 })
    feedSteps(plugin, [...began(), ...asked(100), end as Step, ...answered(300)])
    expect(attributes(plugin, TOOL)['gen_ai.agent.name']).toBe('crush')
  })

  test('is absent by default, and excludes v1.41 if only this set is on', () => {
    const said = turn({ reasoning_effort: 'high', ...body({ previous_response_id: 'resp_7' }) })
    const plain = told(said)
    for (const name of Object.values(GEN_AI_NEXT)) {
      expect({ ...attributes(plain, REQUEST), ...attributes(plain, TOOL) }).not.toHaveProperty([name])
    }
    const alone = told(said, { conventions: ['own', 'gen_ai_next'] })
    const isGenAi = (name: string): boolean => name.startsWith('gen_ai.') && !name.startsWith('gen_ai.response.')
    expect(Object.keys(attributes(alone, REQUEST)).filter(isGenAi).sort()).toEqual([
      'gen_ai.request.previous_response.id',
      'gen_ai.request.reasoning.level',
    ])
  })
})

describe('the metrics', () => {
  const rows = Object.entries(GEN_AI_NEXT_METRIC) as [NextMetricKey, string][]

  test.each(rows)('includes %s as %s, with that kind, unit and labels', (key, name) => {
    const { kind, unit, labels } = NEXT_INSTRUMENTS[key]
    const row = GEN_AI_NEXT_METRICS[name]
    expect([kind, unit]).toEqual([row?.kind, row?.unit])
    expect(labels.filter(label => !row?.attributes.includes(label))).toEqual([])
  })

  const usage = { input_tokens: 100, output_tokens: 20, cache_write_tokens: 30, reasoning_tokens: 5 }
  const steps = [...began({ agent_name: 'scout' }), ...asked(100, {}, { usage }), ...used(210), ...answered(300)]
  const valuesOf = async (config: object): Promise<string[]> => {
    const names = rows.map(([, name]) => name)
    const metrics = await told(steps, { keep: true, ...config } as object).metrics()
    return metrics.filter(({ name }) => names.includes(name)).map(({ name, value }) => `${name} ${value}`)
  }

  test('records them with the set, and none of them without it', async () => {
    expect(await valuesOf({})).toEqual([])
    expect((await valuesOf({ conventions: ALL })).sort()).toEqual(RECORDED)
  })
})

describe('docs/opentelemetry.md', () => {
  const page = section(read('docs/opentelemetry.md'), 'Newer GenAI conventions')
  const cells = [...page.matchAll(/^\| (.+) \|$/gm)].map(([, row = '']) => row.split(' | '))
  const rowsUnder = (change: string): string[][] => cells.filter(([, said]) => said === change)
  const namesUnder = (change: string): string[] =>
    rowsUnder(change)
      .flatMap(([names = '']) => [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
      .sort()

  const added = Object.keys(GEN_AI_NEXT_ATTRIBUTES).filter(name => GEN_AI_ATTRIBUTES[name] === undefined)
  const both = Object.entries(GEN_AI_ATTRIBUTES).flatMap(([name, before]) => {
    const after = rowOf(name)
    return after === undefined ? [] : [{ name, before, after }]
  })

  test('names the release, and its stability', () => {
    expect(page).toContain(GEN_AI_NEXT_VERSION)
    expect(page).toMatch(new RegExp(GEN_AI_NEXT_STABILITY, 'i'))
  })

  test('has a row for each attribute that is new, with its type', () => {
    expect(namesUnder('new')).toEqual(added.map(name => `gen_ai.${name}`).sort())
    const wrong = rowsUnder('new').filter(([names = '', , type]) =>
      [...names.matchAll(/`gen_ai\.([^`]+)`/g)].some(([, name = '']) => rowOf(name)?.type !== type),
    )
    expect(wrong).toEqual([])
  })

  test('has a row for each removed attribute, with the new name', () => {
    expect(rowsUnder('renamed').map(([name, , type]) => [name, type])).toEqual(
      Object.entries(GEN_AI_RENAMED).map(([name, heir]) => [`\`gen_ai.${name}\``, heir ? `\`gen_ai.${heir}\`` : '–']),
    )
  })

  test('has a row for each metric, with its kind and unit', () => {
    const rows = rowsUnder('metric').map(([name, , type]) => [name, type])
    expect(rows).toEqual(
      Object.entries(GEN_AI_NEXT_METRICS).map(([name, { kind, unit }]) => [`\`${name}\``, `${kind}, \`${unit}\``]),
    )
  })

  test('has a row for each that has another type', () => {
    const changed = both.filter(({ before, after }) => before.type !== after.type)
    expect(rowsUnder('type').map(([name, , type]) => [name, type])).toEqual(
      changed.map(({ name, before, after }) => [`\`gen_ai.${name}\``, `${before.type} → ${after.type}`]),
    )
  })

  test('has a row for each value that is new, and no removed one', () => {
    const fresh = both.flatMap(({ name, before, after }) =>
      (after.values ?? []).filter(value => !before.values?.includes(value)).map(value => `gen_ai.${name}=${value}`),
    )
    expect(namesUnder('value')).toEqual(fresh.sort())
    expect(both.flatMap(({ before, after }) => before.values?.filter(value => !after.values?.includes(value)))).toEqual(
      both.flatMap(({ before }) => (before.values === undefined ? [undefined] : [])),
    )
  })

  test('has a row for the added and the removed attributes of a span', () => {
    const moves = (which: 'gained' | 'lost'): string[] =>
      Object.entries(GEN_AI_NEXT_SPANS).flatMap(([operation, row]) =>
        row[which].filter(name => GEN_AI_ATTRIBUTES[name] !== undefined).map(name => `${operation} gen_ai.${name}`),
      )
    expect(namesUnder('on more spans')).toEqual(moves('gained').sort())
    expect(namesUnder('on fewer spans')).toEqual(moves('lost').sort())
  })

  test('marks exactly the names of the set as written with it', () => {
    const written = cells.filter(([, , , what]) => what?.startsWith('**with the set**')).map(([name = '']) => name)
    const expected = [GEN_AI_NEXT.reasoningEffort, GEN_AI_NEXT.requestPreviousResponseId, GEN_AI_NEXT.cacheWriteTokens]
    expect(written.sort()).toEqual(
      [...expected.map(name => `\`${name}\``), `\`execute_tool ${GEN_AI_NEXT.toolAgentName}\``].sort(),
    )
    expect(written).toHaveLength(Object.keys(GEN_AI_NEXT).length)
  })

  test('has a reason in each row', () => {
    const rows = ['new', 'type', 'value', 'on more spans', 'on fewer spans'].flatMap(rowsUnder)
    expect(rows.filter(([, , , what = '']) => what.length < 10)).toEqual([])
  })
})
