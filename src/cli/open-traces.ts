import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { listOpenSegments } from '../trace-log/index.ts'
import { type OpenTurn, openTurns } from '../viewer/open-turns.ts'
import { type OpenTrace, TraceFollower } from '../viewer/trace-follower.ts'
import type { TraceTree } from '../viewer/trace-forest.ts'
import { listSegments } from '../viewer/trace-log.ts'

/** By the path of each segment in which something may be open: whether the process that has it lives. */
export type Owned = ReadonlyMap<string, boolean>

/** As of now, epoch milliseconds. */
export async function ownedSegments(stateDirectory: string, now: number): Promise<Owned> {
  const segments = await listOpenSegments(stateDirectory, now)
  return new Map(segments.map(({ path, isOwned }) => [path, isOwned]))
}

/** Those of the traces that no process goes on with: the next one will end what is open in them. */
export function leftBehind(open: readonly OpenTrace[], owned: Owned): ReadonlySet<TraceTree> {
  const isLeft = ({ notedIn }: OpenTrace): boolean => ![...notedIn].some(path => owned.get(path) === true)
  return new Set(open.filter(isLeft).map(({ tree }) => tree))
}

/**
 * What every agent of a trace log has open. Only the segments are read in which something may be, and those in which the turns
 * that are open began: a log may be a gigabyte, and this is to be there at once.
 */
export class OpenTraces {
  readonly #directory: string
  readonly #follower: TraceFollower
  #owned: Owned = new Map()
  /** What is open began then, epoch milliseconds. */
  #sinceAt = Number.POSITIVE_INFINITY

  constructor(stateDirectory: string) {
    this.#directory = stateDirectory
    this.#follower = new TraceFollower(() => this.#files(), { last: 0 })
  }

  /** As of now, epoch milliseconds. */
  async look(now: number): Promise<OpenTurn[]> {
    this.#owned = await ownedSegments(this.#directory, now)
    await this.#follower.poll()
    // Once more, where something began before the segments that were read.
    if (this.#hasEarlier()) await this.#follower.poll()
    const open = this.#follower.open()
    const left = leftBehind(open, this.#owned)
    const trees = open.map(({ tree }) => tree)
    return openTurns(trees, now, tree => left.has(tree))
  }

  #hasEarlier(): boolean {
    const sinceAt = this.#follower
      .open()
      .reduce((first, { tree }) => Math.min(first, tree.startAt), Number.POSITIVE_INFINITY)
    const isEarlier = sinceAt < this.#sinceAt
    this.#sinceAt = sinceAt
    return isEarlier
  }

  async #files(): Promise<readonly string[]> {
    const files: string[] = []
    for (const path of await listSegments(join(this.#directory, 'traces'))) {
      if (this.#owned.has(path) || (await writtenAt(path)) >= this.#sinceAt) files.push(path)
    }
    return files
  }
}

/** Epoch milliseconds; 0 when it is gone. */
async function writtenAt(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.mtimeMs ?? 0
}
