import { createHash } from 'node:crypto'
import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { makePrivateDirectory, PRIVATE_FILE, readOwnFile } from '../../delivery/trace-log/private-file.ts'
import type { PricesConfig } from '../../plugin/config/prices.ts'
import { PRICE_LIST } from '../../plugin/prices/prices.ts'
import type { IndexedFile } from './indexer.ts'
import type { LinePlace } from './log-file.ts'
import { type StoredBlock, TextBlocks } from './text-blocks.ts'
import type { TraceFacts } from './trace-facts.ts'
import { linesOf, TraceTable } from './trace-table.ts'

/** Raise it if a snapshot's content changes, including through changes in `reading`. */
const VERSION = 4

const LINES_AT_ONCE = 500
const LINE_END = 0x0a

type Content = Readonly<{ table: TraceTable; files: readonly IndexedFile[] }>

type StoredFile = Omit<IndexedFile, 'texts'> & { readonly texts: readonly StoredBlock[] }
type StoredFacts = Omit<TraceFacts, 'prompt' | 'open'>
type StoredPrompt = readonly [file: number, offset: number, length: number, nth: number]
/** Trace id, file numbers, offsets and lengths of its lines, and its facts unless they must be derived again. */
type StoredTrace = readonly [string, number[], StoredFacts?, (StoredPrompt | null)?]

function snapshotPath(stateDirectory: string): string {
  return join(stateDirectory, 'index', 'traces.jsonl')
}

/**
 * Saves the table beside its log, so that the next process need not read the log again: a line with the version, a line with the
 * files, a line per trace, and the hash of all of them. No text of a span is in it but names, and trigrams of whole blocks.
 *
 * @throws the error of the file system
 */
export function saveSnapshot(
  stateDirectory: string,
  { table, files }: Content,
  prices: PricesConfig | undefined,
): void {
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
    for (const value of storedValues(table, files, versionOf(prices))) {
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

/** Costs in a snapshot depend on the prices. */
function versionOf(prices: PricesConfig | undefined): string {
  return JSON.stringify(prices === undefined ? [VERSION] : [VERSION, PRICE_LIST, prices])
}

function* storedValues(table: TraceTable, files: readonly IndexedFile[], version: string): Generator<unknown, void> {
  yield version
  yield files
  const numbers = new Map(files.map(({ path }, index) => [path, index] as const))
  const numberOf = (path: string): number => numbers.get(path) ?? 0
  for (const entry of table.traces.values()) {
    const { traceId, facts, isStale } = entry
    const flat = linesOf(entry).flatMap(({ path, offset, length }) => [numberOf(path), offset, length])
    // Open spans are not stored, so their facts are derived again.
    if (facts === undefined || isStale || facts.open !== undefined) {
      yield [traceId, flat] satisfies StoredTrace
      continue
    }
    const { prompt, open: _, ...rest } = facts
    const { line, nth = 0 } = prompt ?? {}
    const place: StoredPrompt | null = line ? [numberOf(line.path), line.offset, line.length, nth] : null
    yield [traceId, flat, rest, place] satisfies StoredTrace
  }
}

export function loadSnapshot(stateDirectory: string, prices: PricesConfig | undefined): Content | undefined {
  try {
    const bytes = readOwnFile(snapshotPath(stateDirectory))
    const end = bytes.lastIndexOf(LINE_END) + 1
    const content = bytes.subarray(0, end)
    if (createHash('sha256').update(content).digest('hex') !== bytes.toString('latin1', end)) return undefined
    const values = valuesIn(content)
    return values.next().value === versionOf(prices) ? contentOf(values) : undefined
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

/** An object for each line would cost as much as the parsing of all of them. */
function linesByFile(flat: readonly number[], files: readonly StoredFile[]): Map<string, number[]> {
  const lines = new Map<string, number[]>()
  let [last, numbers] = [-1, [] as number[]]
  for (let at = 0; at < flat.length; at += 3) {
    const file = flat[at] ?? 0
    const path = files[file]?.path ?? ''
    if (file !== last) numbers = lines.get(path) ?? []
    if (file !== last) lines.set(path, numbers)
    last = file
    numbers.push(flat[at + 1] ?? 0, flat[at + 2] ?? 0)
  }
  return lines
}

/** Reads one trace at a time: all parsed lines at once would take several times the memory of the table. */
function contentOf(values: Generator<unknown, void>): Content {
  const files = values.next().value as StoredFile[]
  const table = new TraceTable()
  const placeOf = (file = 0, offset = 0, length = 0): LinePlace => ({ path: files[file]?.path ?? '', offset, length })
  for (const [traceId, flat, facts, prompt] of values as Iterable<StoredTrace>) {
    const entry = table.addTrace(traceId, linesByFile(flat, files))
    if (facts === undefined) continue
    const [file, offset, length, nth = 0] = prompt ?? []
    const place = prompt ? { line: placeOf(file, offset, length), nth } : undefined
    table.putFacts(entry, { ...facts, prompt: place, open: undefined })
  }
  return { table, files: files.map(file => ({ ...file, texts: new TextBlocks(file.texts) })) }
}
