import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { listOpenSegments } from '../delivery/trace-log/index.ts'
import { type OpenTurn, openTurns } from '../reading/open-turns.ts'
import type { SpanPricer } from '../reading/stored-span.ts'
import { type RunningTrace, TraceFollower } from '../reading/trace-follower.ts'
import type { TraceTree } from '../reading/trace-forest.ts'
import { listSegments, selectTraces } from '../reading/trace-log.ts'

/** Reading the whole log would take seconds. */
const RECENT_SEGMENTS = 4

/** Maps each segment with open spans to whether its process is alive. */
type SegmentOwners = ReadonlyMap<string, boolean>

export async function ownedSegments(stateDirectory: string, now: number): Promise<SegmentOwners> {
  const segments = await listOpenSegments(stateDirectory, now)
  return new Map(segments.map(({ path, isOwned }) => [path, isOwned]))
}

/** The traces that no process continues. The next process will end their open spans. */
export function leftBehind(open: readonly RunningTrace[], owned: SegmentOwners): ReadonlySet<TraceTree> {
  const isLeft = ({ notedIn }: RunningTrace): boolean => ![...notedIn].some(path => owned.get(path) === true)
  return new Set(open.filter(isLeft).map(({ tree }) => tree))
}

/** Reads only segments with open spans and those in which their turns began: the log may be a gigabyte. */
export class OpenTraces {
  readonly #directory: string
  readonly #price: SpanPricer | undefined
  readonly #follower: TraceFollower
  #owned: SegmentOwners = new Map()
  /** Start of the oldest open span, epoch milliseconds. */
  #sinceAt = Number.POSITIVE_INFINITY

  constructor(stateDirectory: string, price?: SpanPricer) {
    this.#directory = stateDirectory
    this.#price = price
    this.#follower = new TraceFollower(() => this.#files(), { last: 0 }, price)
  }

  async readOpenTurns(now: number): Promise<OpenTurn[]> {
    this.#owned = await ownedSegments(this.#directory, now)
    await this.#follower.poll()
    // Poll again if a span began before the segments that were read.
    if (this.#hasEarlier()) await this.#follower.poll()
    const open = this.#follower.runningTraces()
    const left = leftBehind(open, this.#owned)
    const trees = open.map(({ tree }) => tree)
    return openTurns(trees, now, tree => left.has(tree))
  }

  /** The turns that ended last, newest first, as far as the newest segments contain them. */
  async readEnded(last: number): Promise<readonly TraceTree[]> {
    const segments = await listSegments(join(this.#directory, 'traces'))
    const { trees } = await selectTraces(segments.slice(-RECENT_SEGMENTS), { last: 2 * last }, undefined, this.#price)
    const ended = trees.filter(({ isRunning }) => !isRunning)
    return ended.sort((a, b) => b.endAt - a.endAt).slice(0, last)
  }

  #hasEarlier(): boolean {
    const sinceAt = Math.min(...this.#follower.runningTraces().map(({ tree }) => tree.startAt))
    const isEarlier = sinceAt < this.#sinceAt
    this.#sinceAt = sinceAt
    return isEarlier
  }

  async #files(): Promise<readonly string[]> {
    const files: string[] = []
    for (const path of await listSegments(join(this.#directory, 'traces'))) {
      // The file may be gone.
      const { mtimeMs = 0 } = (await stat(path).catch(() => undefined)) ?? {}
      if (this.#owned.has(path) || mtimeMs >= this.#sinceAt) files.push(path)
    }
    return files
  }
}
