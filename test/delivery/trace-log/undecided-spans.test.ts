/** What is to be sent of a process that was killed while it held traces: its log against that of what is kept. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { headerJson } from '../../../src/delivery/trace-log/line-parser.ts'
import { undecidedSpans } from '../../../src/delivery/trace-log/undecided-spans.ts'
import { deepTest } from '../../support/sample.ts'

const REASON = 'x.sampling.reason'
const MARKS = { incomplete: 'x.incomplete', finalStatus: '', spanKind: '' }
const NOW = Date.now()
const [PID, OTHER_PID] = [4711, 4712]

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hookspan-held-'))
  for (const name of ['traces', 'kept/traces']) mkdirSync(join(directory, name), { recursive: true })
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

type Told = readonly [name: string, said?: Readonly<Record<string, string>>, from?: number, to?: number]

/** `1.2` is span 2 of trace 1; what follows is what it says, and when it was. */
function line(...spans: readonly Told[]): string {
  const stored = spans.map(([name, said = {}, from = 0, to = from + 1]) => ({
    ...ids(name),
    name,
    kind: 1,
    startTimeUnixNano: `${NOW + from}000000`,
    endTimeUnixNano: `${NOW + to}000000`,
    attributes: Object.entries(said).map(([key, value]) => ({ key, value: { stringValue: value } })),
    status: {},
  }))
  const scopeSpans = [{ scope: { name: 'x' }, spans: stored }]
  return JSON.stringify({ resourceSpans: [{ resource: { attributes: [] }, scopeSpans }] })
}

function ids(name: string): { readonly traceId: string; readonly spanId: string } {
  const [trace = '', span = ''] = name.split('.')
  return { traceId: trace.padStart(32, '0'), spanId: span.padStart(16, '0') }
}

/** @param age which segment of its process it is: 2 was begun after 1 */
function segment(age: number, pid: number, ...lines: readonly string[]): string {
  return begunWith(headerJson(MARKS, new Map(), 0, REASON), age, pid, lines)
}

/** Of a process that leaves what is open to the next one, which goes on with it. */
function continued(age: number, pid: number, ...lines: readonly string[]): string {
  return begunWith(headerJson(MARKS, new Map(), 1000, REASON), age, pid, lines)
}

function begunWith(header: string, age: number, pid: number, lines: readonly string[]): string {
  const path = join(directory, 'traces', `${NOW + age}-${pid}.jsonl`)
  writeFileSync(path, [header, ...lines, ''].join('\n'))
  return path
}

function kept(...lines: readonly string[]): void {
  const path = join(directory, 'kept', 'traces', `${NOW}-${PID}.jsonl`)
  writeFileSync(path, [headerJson(MARKS, new Map()), ...lines, ''].join('\n'))
}

async function heldBack(path: string, isContinuedHere: (key: string) => boolean = () => false): Promise<string[]> {
  const names: string[] = []
  const settings = { directory, continued: { withinMillis: 0, isContinuedHere } }
  for await (const spans of undecidedSpans(path, REASON, settings)) names.push(...spans.map(({ name }) => name))
  return names
}

const ROOT = (reason: string): Readonly<Record<string, string>> => ({ [REASON]: reason })
const CRASHED = { [MARKS.incomplete]: 'crashed' }

test('returns kept and undecided spans, and no dropped ones', async () => {
  const path = segment(1, PID, line(['1.1'], ['1.2', ROOT('error')]), line(['2.1'], ['2.2', ROOT('none')], ['3.1']))
  expect(await heldBack(path)).toEqual(['1.1', '1.2', '3.1'])
})

test('returns a trace as undecided whose turn is not kept but had an open span', async () => {
  const path = segment(1, PID, line(['1.1', ROOT('none')], ['1.2', CRASHED]), line(['2.1', ROOT('none')]))
  expect(await heldBack(path)).toEqual(['1.1', '1.2'])
})

test('returns the open one of several turns of a trace, and the kept ones', async () => {
  const path = segment(
    1,
    PID,
    line(['1.1', {}, 0, 5], ['1.2', ROOT('none'), 0, 10], ['1.3', {}, 10, 12], ['1.4', ROOT('error'), 10, 20]),
    line(['1.5', ROOT('none'), 21, 30], ['1.6', {}, 40, 45], ['1.7', CRASHED, 40, 50]),
  )
  expect(await heldBack(path)).toEqual(['1.3', '1.4', '1.6', '1.7'])
})

test('distinguishes turns of one millisecond, and adjacent ones, by the order of their ends', async () => {
  const kept = line(['1.1', {}, 0, 5], ['1.2', ROOT('error'), 0, 5])
  const short = line(['1.3', {}, 6, 6], ['1.4', {}, 6, 6], ['1.5', ROOT('none'), 6, 6])
  const next = line(['1.6', {}, 9, 9], ['1.7', ROOT('none'), 8, 9], ['1.8', ROOT('slow'), 9, 12])
  expect(await heldBack(segment(1, PID, kept, short, next))).toEqual(['1.1', '1.2', '1.8'])
})

test('omits spans of no turn between turns, and nowhere else', async () => {
  const [late, early] = [['1.2', {}, 11, 12] as const, ['1.3', {}, 13, 14] as const]
  const between = (before: string, after: string): string =>
    line(['1.1', ROOT(before), 0, 10], late, early, ['1.4', ROOT(after), 15, 20])
  expect(await heldBack(segment(1, PID, between('none', 'none')))).toEqual([])
  expect(await heldBack(segment(1, PID, between('error', 'none')))).toEqual(['1.1', '1.2', '1.3'])
  expect(await heldBack(segment(1, PID, between('none', 'error')))).toEqual(['1.2', '1.3', '1.4'])
  expect(await heldBack(segment(1, PID, line(early, ['1.4', ROOT('none'), 15, 20], ['1.5', {}, 21, 22])))).toEqual([])
})

test('returns spans open beside an ended turn, because they would have been decided with it', async () => {
  const turns = [['1.1', ROOT('none'), 0, 10] as const, ['1.2', ROOT('none'), 20, 30] as const]
  expect(await heldBack(segment(1, PID, line(...turns, ['1.3', CRASHED, 25, 40])))).toEqual(['1.2', '1.3'])
})

test('returns the missing spans of a trace that was being sent', async () => {
  const path = segment(1, PID, line(['1.1'], ['1.2']), line(['1.3', ROOT('cost')]))
  kept(line(['1.1'], ['9.9']))
  expect(await heldBack(path)).toEqual(['1.2', '1.3'])
  kept(line(['1.1'], ['1.2']), line(['1.3', ROOT('cost')]))
  expect(await heldBack(path)).toEqual([])
})

test('includes earlier segments of the same process, decided by later ones, and none of other processes', async () => {
  segment(1, PID, line(['1.1'], ['2.1'], ['8.1']))
  segment(1, OTHER_PID, line(['1.8']))
  const path = segment(2, PID, line(['1.2'], ['2.2']))
  segment(3, PID, line(['1.3', ROOT('slow')], ['2.3', ROOT('none')]))
  expect(await heldBack(path)).toEqual(['1.1', '1.2'])
})

test('includes spans that ended in the previous process of a continued turn, which may have decided them, too', async () => {
  continued(1, PID, line(['1.1'], ['2.1', ROOT('none')], ['3.1', ROOT('error')], ['8.1']))
  const path = continued(2, OTHER_PID, line(['1.2', CRASHED], ['2.2'], ['3.2']))
  kept(line(['3.1']))
  expect(await heldBack(path)).toEqual(['1.1', '1.2', '3.2'])
})

test('excludes spans of the previous process that the next one has decided', async () => {
  const path = continued(1, PID, line(['1.1'], ['2.1'], ['3.1']))
  continued(2, OTHER_PID, line(['1.2', ROOT('none')], ['2.2', ROOT('error')], ['3.2']))
  expect(await heldBack(path)).toEqual(['2.1', '3.1'])
})

test('excludes a previous process that sent all spans, or whose turns no process continues', async () => {
  begunWith(headerJson(MARKS, new Map(), 1000), 1, PID, [line(['1.1'])])
  segment(1, PID + 2, line(['1.3']))
  expect(await heldBack(continued(2, OTHER_PID, line(['1.2'])))).toEqual(['1.2'])
})

test('excludes spans of turns that another process has continued', async () => {
  const path = segment(1, PID, line(['1.1'], ['1.2']), line(['2.1']))
  const { traceId, spanId } = ids('1.2')
  expect(await heldBack(path, key => key === `${traceId}${spanId}`)).toEqual(['2.1'])
})

test('treats a missing log of kept traces as empty', async () => {
  rmSync(join(directory, 'kept'), { recursive: true })
  expect(await heldBack(segment(1, PID, line(['1.1'])))).toEqual(['1.1'])
})

deepTest(
  'returns a trace of more spans than the stack has room for',
  async () => {
    const starts = Array.from({ length: 130 }, (_, at) => at * 1000)
    const lines = starts.map(from => line(...Array.from({ length: 1000 }, (_, at): Told => [`1.${from + at + 1}`])))
    const path = segment(1, PID, ...lines)
    let count = 0
    for await (const spans of undecidedSpans(path, REASON, { directory })) count += spans.length
    expect(count).toBe(130_000)
  },
  120_000,
)
