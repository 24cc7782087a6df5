import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LogLineReader } from '../../src/reading/line-reader.ts'
import { ExportLineError, readExportLine, readTraceFile, type StoredSpan } from '../../src/reading/stored-span.ts'
import { exportLine, SAMPLE_TURN } from './sample-turn.ts'

function line(span: Record<string, unknown>): string {
  const whole = {
    traceId: 't1',
    spanId: 's1',
    name: 'x',
    startTimeUnixNano: '1000000',
    endTimeUnixNano: '3500000',
    ...span,
  }
  return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [whole] }] }] })
}

function read(span: Record<string, unknown>): StoredSpan {
  const [only] = readExportLine(line(span))
  if (only === undefined) throw new Error('no span')
  return only
}

describe('a line of OTLP/JSON', () => {
  test('becomes spans with their resource, scope, events and links', () => {
    const [span] = readExportLine(
      JSON.stringify({
        resourceSpans: [
          {
            resource: { attributes: [{ key: 'service.name', value: { stringValue: 'pi' } }] },
            scopeSpans: [
              {
                scope: { name: 'hookspan', version: '1.2.3' },
                spans: [
                  {
                    traceId: 'aa',
                    spanId: 'bb',
                    parentSpanId: 'cc',
                    name: 'tool.ls',
                    kind: 3,
                    startTimeUnixNano: '1795256100000250000',
                    endTimeUnixNano: '1795256100412000000',
                    status: { code: 2, message: 'no such file' },
                    events: [{ name: 'exception', timeUnixNano: '1795256100001000000' }],
                    links: [{ traceId: 'dd', spanId: 'ee', attributes: [{ key: 'k', value: { boolValue: true } }] }],
                  },
                ],
              },
            ],
          },
        ],
      }),
    )
    expect(span).toEqual({
      traceId: 'aa',
      spanId: 'bb',
      parentSpanId: 'cc',
      name: 'tool.ls',
      kind: 'client',
      startAt: 1795256100000.25,
      endAt: 1795256100412,
      status: 'error',
      statusMessage: 'no such file',
      attributes: {},
      events: [{ name: 'exception', at: 1795256100001, attributes: {} }],
      links: [{ traceId: 'dd', spanId: 'ee', attributes: { k: true } }],
      resource: { 'service.name': 'pi' },
      scope: { name: 'hookspan', version: '1.2.3' },
    })
  })

  test.each([
    [{ stringValue: 'a' }, 'a'],
    [{ boolValue: false }, false],
    [{ intValue: '42' }, 42],
    [{ intValue: 42 }, 42],
    [{ intValue: '9223372036854775807' }, '9223372036854775807'],
    [{ doubleValue: 0.5 }, 0.5],
    [{ doubleValue: 'NaN' }, Number.NaN],
    [{ bytesValue: 'aGk=' }, 'aGk='],
    [{ arrayValue: { values: [{ intValue: 1 }, { stringValue: 'b' }] } }, [1, 'b']],
    [{ kvlistValue: { values: [{ key: 'a', value: { arrayValue: {} } }] } }, { a: [] }],
    [{}, null],
    ['garbage', null],
  ])('reads the value %j', (value, expected) => {
    expect(read({ attributes: [{ key: 'k', value }] }).attributes['k']).toEqual(expected)
  })

  test('keeps hostile keys as keys', () => {
    const { attributes } = read({
      attributes: [
        { key: '__proto__', value: { kvlistValue: { values: [{ key: 'polluted', value: { boolValue: true } }] } } },
        { key: 'constructor', value: { stringValue: 'c' } },
      ],
    })
    expect(Object.keys(attributes)).toEqual(['__proto__', 'constructor'])
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  test('survives values of any depth', () => {
    const depth = 3_000
    const value = `${'{"arrayValue":{"values":['.repeat(depth)}{"intValue":1}${']}}'.repeat(depth)}`
    const text = line({}).replace('"name":"x"', `"name":"x","attributes":[{"key":"k","value":${value}}]`)
    expect(JSON.stringify(readExportLine(text)[0]?.attributes['k'])).toContain('…')
  })

  test('accepts numbers for times and names for enums, and knows no parent of zeros', () => {
    const span = read({
      startTimeUnixNano: 2_000_000,
      kind: 'SPAN_KIND_SERVER',
      status: { code: 'STATUS_CODE_OK' },
      parentSpanId: '0000000000000000',
    })
    expect(span).toMatchObject({ startAt: 2, kind: 'server', status: 'ok' })
    expect(span).not.toHaveProperty('parentSpanId')
  })

  test('ends a span without an end at its start', () => {
    expect(read({ endTimeUnixNano: undefined })).toMatchObject({ startAt: 1, endAt: 1 })
  })

  test.each(['{}', '{"resourceMetrics":[{}]}', '{"resourceSpans":[]}', '{"resourceSpans":[{"scopeSpans":[{}]}]}'])(
    'has no spans: %s',
    text => {
      expect(readExportLine(text)).toEqual([])
    },
  )

  test.each([
    ['{"resourceSpans":', 'not valid JSON'],
    ['[]', 'not a JSON object'],
    ['{"resourceSpans":{}}', 'resourceSpans is not a list of objects'],
    ['{"resourceSpans":[{"scopeSpans":[7]}]}', 'scopeSpans is not a list of objects'],
    [line({ spanId: '' }), 'a span without spanId'],
    [line({ traceId: 7 }), 'a span without traceId'],
    [line({ startTimeUnixNano: 'soon' }), 'a span without startTimeUnixNano'],
  ])('is refused: %s', (text, reason) => {
    expect(() => readExportLine(text)).toThrow(new ExportLineError(reason))
  })
})

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

describe('a file of such lines', () => {
  let directory = ''
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'hookspan-viewer-'))
  })
  afterAll(() => rm(directory, { recursive: true }))

  async function written(name: string, content: string): Promise<string> {
    await writeFile(join(directory, name), content)
    return join(directory, name)
  }

  test('is read line by line, and unreadable lines are reported by number', async () => {
    const separator = '\u2028'
    const content = `\ufeff${line({ name: separator })}\r\n\n{"oops\n${line({ name: 'last' })}`
    const entries = await collect(readTraceFile(await written('mixed.jsonl', content)))
    expect(entries).toEqual([
      { spans: [expect.objectContaining({ name: separator })], running: [] },
      { line: 3, problem: 'not valid JSON' },
      { spans: [expect.objectContaining({ name: 'last' })], running: [] },
    ])
  })

  test('may have lines of many chunks', async () => {
    const long = 'é'.repeat(300_000)
    const path = await written('long.jsonl', `${line({ name: long })}\n${line({ name: 'short' })}\n`)
    const names = (await collect(readTraceFile(path))).flatMap(entry => ('spans' in entry ? entry.spans : []))
    expect(names.map(({ name }) => name)).toEqual([long, 'short'])
  })

  test('skips a line above the limit without buffering it', async () => {
    const reader = new LogLineReader(await written('huge.jsonl', `${'x'.repeat(200_000)}\nok\n`), 1_000)
    expect(await collect(reader.readLines())).toEqual([
      { line: 1, problem: 'longer than 1000 bytes' },
      { line: 2, text: 'ok' },
    ])
  })

  test('continues where it stopped when the file grows, and starts over when it was truncated', async () => {
    const path = await written('growing.jsonl', 'one\ntw')
    const reader = new LogLineReader(path)
    expect(await collect(reader.readLines())).toEqual([{ line: 1, text: 'one' }])
    await writeFile(path, 'o\nthree\n', { flag: 'a' })
    expect(await collect(reader.readLines())).toEqual([
      { line: 2, text: 'two' },
      { line: 3, text: 'three' },
    ])
    await writeFile(path, 'new\n')
    expect(await collect(reader.readLines())).toEqual([{ line: 1, text: 'new' }])
  })

  test("has the file system's error if it does not exist", async () => {
    await expect(collect(readTraceFile(join(directory, 'none')))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('contains the sample', async () => {
    const path = await written('sample.jsonl', SAMPLE_TURN.map(note => exportLine(note)).join('\n'))
    expect(await collect(readTraceFile(path))).toHaveLength(SAMPLE_TURN.length)
  })
})
