import { stat } from 'node:fs/promises'
import { addAbortSignal } from 'node:stream'
import { countOf, humanCount } from '../reading/human-figures.ts'
import type { CommandIo } from './command.ts'
import { whyNot } from './file-trouble.ts'
import { openInput, type RecordEntry, type RecordReader } from './hook-records.ts'
import type { Progress } from './progress.ts'
import type { ReadRecord } from './raw-events.ts'
import type { Replayer } from './replayer.ts'

/** The maximum number of malformed lines reported one by one: in a wrong file all are malformed. */
const MAX_REPORTED = 20

/** Feeds files of hook records to a replayer and reports unusable lines. */
export class RecordFeed {
  readonly #replayer: Replayer
  readonly #progress: Progress
  readonly #stop: AbortSignal
  readonly #io: CommandIo
  #bytes = 0
  #records = 0

  /** @param stop aborted if no more records are to be fed */
  constructor(replayer: Replayer, progress: Progress, stop: AbortSignal, io: CommandIo) {
    this.#replayer = replayer
    this.#progress = progress
    this.#stop = stop
    this.#io = io
  }

  /**
   * Resolves to false if a line was malformed or the file unreadable; the rest is still replayed. If stopped, the rest of the
   * file is not read.
   */
  async feedFile(file: string, reader: RecordReader): Promise<boolean> {
    const name = file === '-' ? 'standard input' : file
    let malformed = 0
    try {
      for await (const entry of this.#entries(file, reader)) {
        if (this.#stop.aborted) break
        if ('record' in entry) await this.#feed(entry.record, file === '-' ? this.#io.now() : undefined)
        else if (++malformed <= MAX_REPORTED)
          this.#say(`${name} line ${entry.line}: ${entry.problem}; the line is skipped`)
      }
    } catch (error) {
      if (this.#stop.aborted) return malformed === 0
      this.#say(`cannot read ${name}: ${whyNot(error)}`)
      return false
    }
    const untold = malformed - MAX_REPORTED
    if (untold > 0) this.#say(`${name}: ${countOf(untold, 'further line')} skipped`)
    return malformed === 0
  }

  #entries(file: string, reader: RecordReader): AsyncGenerator<RecordEntry, void> {
    // The input may be waiting for more data when the command stops.
    const input = addAbortSignal(this.#stop, openInput(file, this.#io.stdin))
    return reader.read(input, bytes => {
      this.#bytes += bytes
    })
  }

  async #feed(record: ReadRecord, arrivedAt: number | undefined): Promise<void> {
    await this.#replayer.feed(record, arrivedAt)
    this.#records += 1
    this.#progress.at(this.#bytes, seconds => {
      const [records, spans] = [countOf(this.#records, 'record'), countOf(this.#replayer.spans, 'span')]
      return `${records} · ${spans} · ${humanCount(this.#records / seconds)} records/s`
    })
  }

  #say(line: string): void {
    this.#progress.end()
    this.#io.stderr.write(`hookspan replay: ${line}\n`)
  }
}

/** The total size of the files; undefined if unknown. */
export async function bytesOf(files: readonly string[]): Promise<number | undefined> {
  let sum = 0
  for (const file of files) {
    const found = file === '-' ? undefined : await stat(file).catch(() => undefined)
    if (found?.isFile() !== true) return undefined
    sum += found.size
  }
  return sum
}
