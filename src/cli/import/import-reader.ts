import type { Readable } from 'node:stream'
import { textOf } from '../../contract/foreign.ts'
import { parsed } from '../../reading/attribute-value.ts'
import { LineSplitter, type NumberedLine } from '../../reading/line-reader.ts'
import type { RecordEntry } from '../hook-records.ts'
import type { EntryReader } from '../record-feed.ts'
import { recordsOfScopes } from './atof-records.ts'
import { ScopeReader } from './atof-scopes.ts'
import { fieldsOf } from './json-fields.ts'
import { recordsOfTrajectory } from './trajectory-records.ts'

export type ImportFormat = 'atof' | 'atif'

/** The size limit of a file: all of it is in memory before it can be sorted by time. */
const MAX_BYTES = 256 * 1024 * 1024

const TOO_MUCH = `more than ${MAX_BYTES / 1024 / 1024} MiB of events in one file; what stands behind is not read`

export class ImportReader implements EntryReader {
  readonly #given: ImportFormat | undefined
  readonly #mostBytes: number

  /** @param format undefined to detect it */
  constructor(format: ImportFormat | undefined, mostBytes: number = MAX_BYTES) {
    this.#given = format
    this.#mostBytes = mostBytes
  }

  async *read(input: Readable, onTaken: (bytes: number) => void): AsyncGenerator<RecordEntry, void> {
    let file: FileReader | undefined
    let taken = 0
    for await (const line of linesOf(input, onTaken)) {
      if ('problem' in line) {
        yield line
        continue
      }
      taken += line.text.length
      if (taken > this.#mostBytes) {
        yield { line: line.line, problem: TOO_MUCH }
        break
      }
      file ??= readerOf(this.#given, line.text)
      const problem = file.take(line.text)
      if (problem !== undefined) yield { line: line.line, problem }
    }
    yield* file?.end() ?? []
  }
}

async function* linesOf(input: Readable, onTaken: (bytes: number) => void): AsyncGenerator<NumberedLine, void> {
  const splitter = new LineSplitter()
  for await (const chunk of input) yield* splitter.push(Buffer.from(chunk as Uint8Array), onTaken)
  const last = splitter.finish()
  if (last !== undefined) yield last
}

interface FileReader {
  /** Returns the problem of a line, if any. */
  take(line: string): string | undefined
  end(): Iterable<RecordEntry>
}

/**
 * Detects the format by the first line: events, and sometimes trajectories, have one line each. Otherwise the whole file is one
 * trajectory.
 */
function readerOf(given: ImportFormat | undefined, first: string): FileReader {
  const value = parsed(first)
  if (given === 'atof') return new EventLines()
  if (value === undefined && (given === 'atif' || !/"(?:atof_version|scope_category)"/.test(first)))
    return new WholeDocument()
  const { schema_version: version, steps } = fieldsOf(value)
  return given === 'atif' || version !== undefined || steps !== undefined ? new DocumentLines() : new EventLines()
}

class EventLines implements FileReader {
  readonly #scopes = new ScopeReader()

  take(line: string): string | undefined {
    const value = parsed(line)
    return value === undefined ? 'not JSON' : this.#scopes.take(value)
  }

  *end(): Iterable<RecordEntry> {
    for (const record of recordsOfScopes(this.#scopes.trees())) yield { record }
  }
}

class DocumentLines implements FileReader {
  readonly #documents: unknown[] = []

  take(line: string): string | undefined {
    const value = parsed(line)
    const problem = value === undefined ? 'not JSON' : whyNoTrajectory(value)
    if (problem === undefined) this.#documents.push(value)
    return problem
  }

  *end(): Iterable<RecordEntry> {
    for (const document of this.#documents) {
      for (const record of recordsOfTrajectory(document)) yield { record }
    }
  }
}

class WholeDocument implements FileReader {
  readonly #lines: string[] = []

  take(line: string): undefined {
    this.#lines.push(line)
  }

  *end(): Iterable<RecordEntry> {
    const value = parsed(this.#lines.join('\n'))
    const problem =
      value === undefined ? 'neither events (ATOF) nor a trajectory (ATIF): not JSON' : whyNoTrajectory(value)
    if (problem !== undefined) yield { line: 1, problem }
    else for (const record of recordsOfTrajectory(value)) yield { record }
  }
}

function whyNoTrajectory(value: unknown): string | undefined {
  const { schema_version: version, steps } = fieldsOf(value)
  if (!Array.isArray(steps)) return 'it has no list of "steps", so it is no trajectory'
  if (version === undefined || /^ATIF-v1\.[0-8]$/.test(textOf(version) ?? '')) return undefined
  return 'its "schema_version" is not one of ATIF-v1.0 to 1.8'
}
