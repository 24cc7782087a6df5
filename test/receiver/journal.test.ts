import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { SegmentFile } from '../../src/delivery/trace-log/index.ts'
import {
  type EntryLocation,
  entryLine,
  isCompactionWorthwhile,
  Journal,
  type JournalEntry,
  limitPlan,
  MAX_JOURNAL_BYTES,
  type PlannedEntry,
  planRetention,
  readLine,
} from '../../src/receiver/journal.ts'
import { scratchHome } from '../plugin/scratch-plugin.ts'
import { afterwards } from '../support/afterwards.ts'
import { toldOf, twoTurns } from './scenario.ts'
import { inOrder, once, treesOf, World } from './world.ts'

const EVENTS = toldOf(twoTurns())
const OPEN = EVENTS.slice(0, 8)
/** The first turn. */
const FIRST = EVENTS.slice(0, -5)

/** What is told, with eight events to a receiver that hands over, and the rest to the next. */
async function interrupted(world: World, between: () => void): Promise<void> {
  const one = await world.open()
  for (const told of OPEN) one.recordEvent(told)
  await one.close('handover')
  between()
  const other = await world.open()
  for (const told of EVENTS.slice(OPEN.length)) other.recordEvent(told)
  await other.close('end')
}

function entry(event: string, at: number, data: unknown = {}): JournalEntry {
  return { host: 'pi', at, event: { event, at, data } }
}

test('belongs to the user, and holds open state', async () => {
  const world = await World.create()
  const receiver = await world.open()
  for (const told of OPEN) receiver.recordEvent(told)
  await receiver.close('handover')
  expect(statSync(world.journalPath).mode & 0o777).toBe(0o600)
  expect(statSync(dirname(world.journalPath)).mode & 0o777).toBe(0o700)
  expect(world.journal.trim().split('\n')).toHaveLength(1 + OPEN.length)
})

test('keeps session records of ended turns for the next receiver', async () => {
  const world = await World.create({ root_span_ttl_ms: 600_000 })
  const untroubled = await World.create({ root_span_ttl_ms: 600_000 })
  const only = await untroubled.open()
  for (const told of EVENTS) only.recordEvent(told)
  await only.close('end')
  const first = await world.open()
  for (const told of FIRST) first.recordEvent(told)
  await first.close('handover')
  expect(events(world.journal)).toEqual(FIRST.map(({ event }) => event.event))
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 700_000 })
  afterwards(() => vi.useRealTimers())
  await (await world.open()).close('handover')
  expect(events(world.journal)).toEqual(
    ['on_session_start', 'pre_llm_call', 'on_session_start', 'pre_llm_call', 'on_session_end', 'on_session_end'].map(
      event => `${event} (past)`,
    ),
  )
  const last = await world.open()
  for (const told of EVENTS) last.recordEvent(told)
  await last.close('end')
  expect(inOrder(world.collected)).toEqual(inOrder(untroubled.collected))
})

/** Resolves once it holds, whatever becomes of timers. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(setImmediate)
}

/** Of each entry, its event. */
function events(journal: string): string[] {
  return journal.split('\n').flatMap(text => {
    const line = text === '' ? undefined : readLine(text)
    return line?.kind === 'entry' ? [`${line.entry.event.event}${line.isPast ? ' (past)' : ''}`] : []
  })
}

test('drops and reports a damaged line', async () => {
  const world = await World.create()
  await interrupted(world, () => {
    const lines = world.journal.split('\n')
    const damaged = lines.map(line => (line.includes('"tool_name":"read_file"') ? line.slice(0, 90) : line))
    writeFileSync(world.journalPath, damaged.join('\n'))
  })
  expect(treesOf(world.collected)).toContain('tool.terminal OK 760 ms\n      approval OK 250 ms')
  expect(world.lines).toEqual([`journal: ${world.journalPath} has 2 damaged lines: their events are missing`])
})

test('accepts a line that was cut off by a kill', async () => {
  const world = await World.create()
  await interrupted(world, () => writeFileSync(world.journalPath, `${world.journal}{"host":"","at":17`))
  expect(inOrder(world.collected).length).toBe(once(world.collected).length)
  expect(treesOf(world.collected)).toContain('approval OK 250 ms')
  expect(world.lines).toEqual([])
})

test('ends open turns as crashed if the journal has a newer version', async () => {
  const world = await World.create()
  await interrupted(world, () => writeFileSync(world.journalPath, world.journal.replace('"version":1', '"version":2')))
  expect(treesOf(world.collected, false)).toContain('tool.terminal UNSET (incomplete: crashed)')
  expect(world.lines[0]).toBe(
    `journal: ${world.journalPath} was written by a newer version, which this one cannot read: open turns are ended as crashed`,
  )
})

test('does not read or write a foreign file in its place', async () => {
  const world = await World.create()
  const precious = join(world.home, 'precious')
  writeFileSync(precious, 'precious')
  mkdirSync(dirname(world.journalPath), { recursive: true })
  symlinkSync(precious, world.journalPath)
  await interrupted(world, () => undefined)
  expect(readFileSync(precious, 'utf8')).toBe('precious')
  expect(treesOf(world.collected)).toContain('api.qwen3')
  expect(world.lines).toContain(
    `journal: ${world.journalPath} is no file of ours (ENOTPRIVATE); remove it. Recording goes on, but open turns would not survive a restart of the receiver`,
  )
})

test('makes a directory private that others could write to', async () => {
  const world = await World.create()
  await interrupted(world, () => chmodSync(dirname(world.journalPath), 0o777))
  expect(statSync(dirname(world.journalPath)).mode & 0o777).toBe(0o700)
  expect(treesOf(world.collected)).toContain('approval OK 250 ms')
})

test('continues recording if it cannot be written, and reports that once', async () => {
  const world = await World.create()
  mkdirSync(dirname(dirname(world.journalPath)), { recursive: true })
  writeFileSync(dirname(world.journalPath), 'a file in the place of the directory')
  const receiver = await world.open()
  for (const told of EVENTS) {
    receiver.recordEvent(told)
    await receiver.flush()
  }
  await receiver.close('end')
  expect(treesOf(world.collected)).toContain('approval OK 250 ms')
  expect(world.lines).toHaveLength(1)
  expect(world.lines[0]).toMatch(/^journal: .*journal\.jsonl cannot be written \(E\w+\)\. Recording goes on/)
})

test('continues recording on a failing disk, and journals again when it recovers', async () => {
  const world = await World.create()
  const receiver = await world.open()
  const failing = vi
    .spyOn(SegmentFile.prototype, 'append')
    .mockRejectedValue(Object.assign(new Error(), { code: 'EIO' }))
  for (const told of OPEN.slice(0, 4)) receiver.recordEvent(told)
  await until(() => receiver.waiting === 0)
  failing.mockRestore()
  for (const told of OPEN.slice(4)) receiver.recordEvent(told)
  await receiver.close('handover')
  expect(world.lines.filter(line => line.startsWith('journal:'))).toEqual([
    `journal: ${world.journalPath} cannot be written (EIO). Recording goes on, but open turns would not survive a restart of the receiver`,
  ])
  expect(events(world.journal)).toEqual(OPEN.slice(4).map(({ event }) => event.event))
})

test('does not wait for a hanging disk', async () => {
  const world = await World.create()
  const receiver = await world.open()
  const hanging = vi.spyOn(SegmentFile.prototype, 'append').mockReturnValueOnce(new Promise(() => undefined))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  afterwards(() => vi.useRealTimers())
  for (const told of OPEN) receiver.recordEvent(told)
  vi.advanceTimersByTime(100)
  await until(() => hanging.mock.calls.length > 0)
  expect(receiver.waiting).toBe(OPEN.length)
  await vi.advanceTimersByTimeAsync(2000)
  await until(() => receiver.waiting === 0)
  vi.useRealTimers()
  expect(receiver.openTurns).toBe(1)
  expect(world.lines).toEqual([
    `journal: ${world.journalPath} cannot be written (ETIMEDOUT). Recording goes on, but open turns would not survive a restart of the receiver`,
  ])
  hanging.mockRestore()
})

test('recreates the journal if it is removed while it is written', async () => {
  const world = await World.create()
  const receiver = await world.open()
  for (const told of OPEN.slice(0, 4)) receiver.recordEvent(told)
  await until(() => receiver.waiting === 0)
  rmSync(world.journalPath)
  for (const told of OPEN.slice(4)) receiver.recordEvent(told)
  await receiver.close('handover')
  expect(events(world.journal)).toEqual(OPEN.slice(4).map(({ event }) => event.event))
  expect(existsSync(`${world.journalPath}.tmp`)).toBe(false)
})

test('combines records within milliseconds into one write', async () => {
  const world = await World.create()
  const receiver = await world.open()
  const appended = vi.spyOn(Journal.prototype, 'append')
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  afterwards(() => vi.useRealTimers())
  for (const told of EVENTS) {
    receiver.recordEvent(told)
    await new Promise(setImmediate)
  }
  vi.advanceTimersByTime(1000)
  vi.useRealTimers()
  await receiver.flush()
  expect(appended.mock.calls.map(([entries]) => entries.length)).toEqual([EVENTS.length])
  appended.mockRestore()
  await receiver.close('end')
})

test('limits the journal of a turn without an end, and reports it', async () => {
  const lines: string[] = []
  const report = { warn: (line: string) => void lines.push(line), error: () => undefined, debug: () => undefined }
  const journal = new Journal(join(scratchHome(), 'journal'), report)
  const data = 'x'.repeat(MAX_JOURNAL_BYTES / 5)
  for (let at = 1; at <= 6; at++) {
    const told = entry(`e${at}`, at, data)
    const [place] = await journal.append([{ entry: told, line: entryLine(told) }])
    if (place !== undefined) place.isSessionRecord = at === 1
    if (journal.isFull) await journal.compact({ openSince: () => 1, recentMillis: 0 }, [])
  }
  expect(journal.bytes).toBeLessThan(MAX_JOURNAL_BYTES)
  journal.close()
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('has room for 64 MiB of open turns, and more was received')
})

test('copies whole lines, and copies of them', async () => {
  const directory = join(scratchHome(), 'journal')
  const silent = { warn: () => undefined, error: () => undefined, debug: () => undefined }
  const journal = new Journal(directory, silent)
  const tell = async (event: string, eventAt: number, told: Partial<JournalEntry> = {}): Promise<void> => {
    const one = { ...entry(event, eventAt, 'ü'.repeat(eventAt)), at: Date.now(), ...told }
    const [place] = await journal.append([{ entry: one, line: entryLine(one) }])
    if (place !== undefined) place.isSessionRecord = false
  }
  const tidied = async (since: number): Promise<string[]> => {
    await tell('forgotten', 10_000, { host: 'codex', at: 0 })
    const openSince = (host: string): number | undefined => (host === 'pi' ? since : undefined)
    await journal.compact({ openSince, recentMillis: 60_000 }, [])
    return events(readFileSync(join(directory, 'journal.jsonl'), 'utf8'))
  }
  for (const [at, event] of [...'abcd'].entries()) await tell(event, at + 1)
  expect(await tidied(3)).toEqual(['a (past)', 'b (past)', 'c', 'd'])
  await tell('e', 5)
  expect(await tidied(5)).toEqual(['a (past)', 'b (past)', 'c (past)', 'd (past)', 'e'])
  journal.close()
  const next = new Journal(directory, silent)
  afterwards(() => next.close())
  expect(next.takeRecovered().entries.map(({ entry: { event } }) => event.data)).toEqual(
    [1, 2, 3, 4, 5].map(at => 'ü'.repeat(at)),
  )
})

test('keeps all records since the oldest open turn began; before that, recent ones, and the state of sessions', () => {
  const now = Date.now()
  const place = (host: string, eventAt: number, about: Partial<EntryLocation>): EntryLocation => ({
    host,
    at: now,
    eventAt,
    offset: 0,
    bytes: 1,
    isPast: false,
    isSessionRecord: false,
    ...about,
  })
  const old = { at: now - 60_000 }
  const plan = planRetention(
    [
      place('pi', 1, old),
      place('pi', 2, { ...old, isSessionRecord: true }),
      place('pi', 3, {}),
      place('codex', 4, old),
      place('pi', 10, old),
      place('pi', 5, old),
      place('codex', 12, { at: now - 90_000_000, isSessionRecord: true }),
    ],
    { openSince: host => (host === 'pi' ? 10 : undefined), recentMillis: 10_000 },
  )
  expect(plan.map(({ fate }) => fate)).toEqual(['nothing', 'past', 'past', 'nothing', 'live', 'live', 'nothing'])
  expect(isCompactionWorthwhile(plan)).toBe(true)
  expect(isCompactionWorthwhile(plan.slice(1, 6))).toBe(false)
})

test('drops the oldest records of too many, but never the state of a session', () => {
  const quarter = MAX_JOURNAL_BYTES / 4
  const planned = (eventAt: number, isSessionRecord: boolean): PlannedEntry => ({
    location: { host: 'pi', at: eventAt, eventAt, offset: 0, bytes: quarter, isPast: false, isSessionRecord },
    fate: 'live',
  })
  const plan = [planned(1, true), planned(2, false), planned(3, false), planned(4, false), planned(5, false)]
  let leftOut = 0
  const fate = limitPlan(plan, true, () => leftOut++).map(one => one.fate)
  expect(fate).toEqual(['live', 'nothing', 'nothing', 'live', 'live'])
  expect(leftOut).toBe(2)
})
