import { countOf } from '../viewer/human-figures.ts'
import type { CommandIo } from './command.ts'
import { whyNot } from './file-trouble.ts'
import { openInput, type ReadRecord, RecordReader } from './hook-records.ts'
import type { Progress } from './progress.ts'
import type { Replayer } from './replayer.ts'

/** So many malformed lines of a file are told one by one: of a wrong file all are. */
const MOST_REPORTED = 20

/** Feeds files of hook records to a replayer, and says what of them it could not use. */
export class RecordFeed {
  readonly #replayer: Replayer
  readonly #progress: Progress
  readonly #io: CommandIo

  constructor(replayer: Replayer, progress: Progress, io: CommandIo) {
    this.#replayer = replayer
    this.#progress = progress
    this.#io = io
  }

  /** Resolves to false when a line was malformed or the file could not be read; the rest is replayed all the same. */
  async feedFile(file: string, host: string | undefined): Promise<boolean> {
    const name = file === '-' ? 'standard input' : file
    let malformed = 0
    try {
      for await (const entry of new RecordReader(host).read(openInput(file, this.#io.stdin))) {
        if ('record' in entry) await this.#feed(entry.record, file === '-' ? this.#io.now() : undefined)
        else if (++malformed <= MOST_REPORTED)
          this.#say(`${name} line ${entry.line}: ${entry.problem}; the line is skipped`)
      }
    } catch (error) {
      this.#say(`cannot read ${name}: ${whyNot(error)}`)
      return false
    }
    const untold = malformed - MOST_REPORTED
    if (untold > 0) this.#say(`${name}: ${countOf(untold, 'further line')} skipped`)
    return malformed === 0
  }

  async #feed(record: ReadRecord, arrivedAt: number | undefined): Promise<void> {
    await this.#replayer.feed(record, arrivedAt)
    this.#progress.step()
  }

  #say(line: string): void {
    this.#progress.end()
    this.#io.stderr.write(`hookspan replay: ${line}\n`)
  }
}
