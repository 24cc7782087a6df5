import { join } from 'node:path'
import type { BackendConfig, ResolvedConfig } from '../../config/types.ts'
import type { BacklogEntry, Pipeline, Resend } from '../../pipeline/index.ts'
import { countOf, humanBytes } from '../../viewer/human-figures.ts'
import type { Progress } from '../progress.ts'
import { backlogLines, resendLines } from './send-report.ts'

/** What is to be delivered, and to whom. */
export interface Job {
  readonly directory: string
  readonly config: ResolvedConfig
  readonly backends: readonly BackendConfig[]
  /** Absent = the trace log. */
  readonly files: readonly string[] | undefined
  /** Epoch milliseconds, 0 for all traces; undefined when only what is kept for the backends is to be delivered. */
  readonly since: number | undefined
}

/** First what is kept for the backends, then what they were never owed, where that is asked for. */
export class Delivery {
  readonly #pipeline: Pipeline
  readonly #job: Job
  readonly #before: readonly BacklogEntry[]
  #resend: Resend | undefined
  #isTakenOver = false
  /** Spans by backend, of what was kept for it. */
  #kept: ReadonlyMap<string, number> = new Map()

  constructor(pipeline: Pipeline, job: Job, before: readonly BacklogEntry[]) {
    this.#pipeline = pipeline
    this.#job = job
    this.#before = before
  }

  /** @throws the error of the file system when a file cannot be read */
  async run(signal: AbortSignal): Promise<void> {
    const { files, since } = this.#job
    if (files === undefined) await this.#pipeline.deliverBacklog()
    this.#kept = this.#recovered()
    if (since === undefined || signal.aborted) return
    this.#resend = this.#pipeline.resend({ ...(files && { files }), since, signal })
    await this.#resend?.run()
  }

  /** On the line of a terminal. */
  show(progress: Progress): void {
    const spans = countOf([...this.#recovered().values()].reduce(sum, 0), 'span')
    const { done, total } = this.#resend?.progress ?? this.#backlog()
    progress.at(done, () => `${spans} · ${humanBytes(done)} of ${humanBytes(total)}`, total)
  }

  #backlog(): { readonly done: number; readonly total: number } {
    const total = this.#before.filter(this.#isAsked).reduce((all, { bytes }) => all + bytes, 0)
    const left = this.#pipeline.stats().backends.reduce((bytes, { spoolBytes }) => bytes + spoolBytes, 0)
    // Until it has taken over what others left, there seems to be nothing to do.
    this.#isTakenOver ||= left > 0
    return { done: this.#isTakenOver ? Math.max(0, total - left) : 0, total }
  }

  readonly #isAsked = ({ isLive, backend }: BacklogEntry): boolean => !isLive && this.#names().includes(backend)

  /** In lines for a person, once the pipeline is shut down. `after`: what is kept for backends now. */
  outcome(after: readonly BacklogEntry[]): string[] {
    const { files, since, directory } = this.#job
    if (since === undefined) return backlogLines(this.#recovered(), this.#before, after)
    const isLog = files === undefined
    const place = isLog ? join(directory, 'traces') : files.join(', ')
    const outcomes = this.#resend?.outcomes() ?? []
    return this.#names().flatMap(name => {
      const dropped = this.#pipeline.stats().backends.find(backend => backend.name === name)?.dropped ?? 0
      const ofIt = outcomes.filter(({ backend }) => backend === name)
      return resendLines(name, ofIt, { place, isLog, kept: this.#kept.get(name) ?? 0, dropped })
    })
  }

  /** Every backend has got what it was to get. */
  isComplete(after: readonly BacklogEntry[]): boolean {
    const { files, since } = this.#job
    const isOpen = this.#names().every(name => this.#pipeline.stats().backends.some(each => each.name === name))
    const isKept = files === undefined && after.some(({ backend }) => this.#names().includes(backend))
    const isSent = this.#resend?.outcomes().every(({ state }) => state !== 'left' && state !== 'owed')
    return isOpen && !isKept && (since === undefined || isSent === true)
  }

  #names(): readonly string[] {
    return this.#job.backends.map(({ name }) => name)
  }

  #recovered(): ReadonlyMap<string, number> {
    const { backends } = this.#pipeline.stats()
    const spansOf = (name: string): number => backends.find(backend => backend.name === name)?.recovered ?? 0
    return new Map(this.#names().map(name => [name, spansOf(name)]))
  }
}

function sum(one: number, other: number): number {
  return one + other
}
