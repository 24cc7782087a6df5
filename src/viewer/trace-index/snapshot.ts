import { createHash } from 'node:crypto'
import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { makePrivateDirectory, PRIVATE_FILE, readOwnFile } from '../../delivery/trace-log/private-file.ts'
import type { IndexedFile } from './indexer.ts'
import type { LinePlace } from './log-file.ts'
import { type Figure, sharedName, type TraceFacts } from './trace-facts.ts'
import { TraceTable } from './trace-table.ts'

/** Raise it if a snapshot's content changes, including through changes in `reading`. */
const VERSION = 1

const LINES_AT_ONCE = 500
const LINE_END = 0x0a

interface Content {
  readonly table: TraceTable
  readonly files: readonly IndexedFile[]
}

type StoredFacts = Omit<TraceFacts, 'figures' | 'prompt' | 'open'>
type StoredFigure = readonly [
  ...[day: number, kind: Figure['kind'], name: string, outcome: string, bucket: number, count: number],
  ...[failed: number, input: number, output: number, cached: number, nanodollars: number],
]
/** Trace id, file numbers, offsets and lengths of its lines, and its facts unless they must be derived again. */
type StoredTrace = readonly [string, number[], StoredFacts?, (readonly [number, number])?, StoredFigure[]?]

function snapshotPath(stateDirectory: string): string {
  return join(stateDirectory, 'index', 'traces.jsonl')
}

/**
 * Saves the table beside its log, so that the next process need not read the log again: a line with the version, a line with the
 * files, a line per trace, and the hash of all of them. No text of a span is in it but names.
 *
 * @throws the error of the file system
 */
export function saveSnapshot(stateDirectory: string, { table, files }: Content): void {
  const path = snapshotPath(stateDirectory)
  const temporary = `${path}.tmp`
  makePrivateDirectory(join(stateDirectory, 'index'))
  rmSync(temporary, { force: true })
  const descriptor = openSync(temporary, 'wx', PRIVATE_FILE)
  try {
    const hash = createHash('sha256')
    let lines: string[] = []
    const write = (): void => {
      const text = lines.join('')
      hash.update(text)
      writeSync(descriptor, text)
      lines = []
    }
    for (const value of storedValues(table, files)) {
      lines.push(`${JSON.stringify(value)}\n`)
      if (lines.length >= LINES_AT_ONCE) write()
    }
    write()
    writeSync(descriptor, hash.digest('hex'))
  } finally {
    closeSync(descriptor)
  }
  renameSync(temporary, path)
}

function* storedValues(table: TraceTable, files: readonly IndexedFile[]): Generator<unknown, void> {
  yield VERSION
  yield files
  const numbers = new Map(files.map(({ path }, index) => [path, index] as const))
  for (const { traceId, lines, facts, isStale } of table.traces) {
    const flat = lines.flatMap(({ path, offset, length }) => [numbers.get(path) ?? 0, offset, length])
    // Open spans are not stored, so their facts are derived again.
    const isLeft = facts === undefined || isStale || facts.open !== undefined
    const stored: StoredTrace = isLeft ? [traceId, flat] : [traceId, flat, ...storedFacts(lines, facts)]
    yield stored
  }
}

function storedFacts(places: readonly LinePlace[], facts: TraceFacts) {
  const { figures, prompt, open: _, ...rest } = facts
  const at = prompt === undefined ? -1 : places.indexOf(prompt.line)
  return [rest, [at, prompt?.nth ?? 0], figures.map(storedFigure)] as const
}

function storedFigure(figure: Figure): StoredFigure {
  const { day, kind, name, outcome, bucket, count, failed, input, output, cached, nanodollars } = figure
  return [day, kind, name, outcome, bucket, count, failed, input, output, cached, nanodollars]
}

export function loadSnapshot(stateDirectory: string): Content | undefined {
  try {
    const bytes = readOwnFile(snapshotPath(stateDirectory))
    const end = bytes.lastIndexOf(LINE_END) + 1
    const content = bytes.subarray(0, end)
    if (createHash('sha256').update(content).digest('hex') !== bytes.toString('latin1', end)) return undefined
    const [version, files, ...traces] = valuesIn(content)
    return version === VERSION ? contentOf(files as IndexedFile[], traces as StoredTrace[]) : undefined
  } catch {
    return undefined
  }
}

function* valuesIn(bytes: Buffer): Generator<unknown, void> {
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(LINE_END, from)
    yield JSON.parse(bytes.toString('utf8', from, end))
    from = end + 1
  }
}

function contentOf(files: readonly IndexedFile[], traces: readonly StoredTrace[]): Content {
  const table = new TraceTable()
  for (const [traceId, flat, facts, prompt, figures] of traces) {
    const places: LinePlace[] = []
    for (let at = 0; at < flat.length; at += 3) {
      places.push({ path: files[flat[at] ?? 0]?.path ?? '', offset: flat[at + 1] ?? 0, length: flat[at + 2] ?? 0 })
    }
    const entry = table.addLines(traceId, places)
    if (facts === undefined) continue
    const [at = -1, nth = 0] = prompt ?? []
    const line = places[at]
    table.putFacts(entry, {
      ...facts,
      figures: (figures ?? []).map(figureOf),
      prompt: line && { line, nth },
      open: undefined,
    })
  }
  return { table, files }
}

function figureOf(values: StoredFigure): Figure {
  const [day, kind, name, outcome, bucket, count, failed, input, output, cached, nanodollars] = values
  const names = { name: sharedName(name), outcome: sharedName(outcome) }
  return { day, kind, ...names, bucket, count, failed, input, output, cached, nanodollars }
}
