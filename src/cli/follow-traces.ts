import { dirname } from 'node:path'
import { renderOpenTurns } from '../reading/open-turns-text.ts'
import { TraceFollower } from '../reading/trace-follower.ts'
import type { TraceTree } from '../reading/trace-forest.ts'
import type { TraceQuery } from '../reading/trace-log.ts'
import { type CommandIo, EXIT } from './command.ts'
import { readWatched } from './log-reading.ts'
import { lookOf } from './look.ts'
import { leftBehind, ownedSegments } from './open-traces.ts'
import { waitABit } from './pause.ts'
import { isRedrawable, StatusArea, statusRows } from './status-area.ts'
import type { TracesPlace } from './tree-place.ts'

/** Longer would be a list instead of a status. */
const MAX_LINES = 8

const NONE: ReadonlySet<TraceTree> = new Set()

export interface FollowOptions {
  readonly query: TraceQuery
  draw(tree: TraceTree): string
  /** Show running turns below the traces, on a terminal. */
  readonly showsRunning: boolean
  /** Waits between two polls. Ends early if `interrupted` resolves. */
  readonly pause?: (interrupted: Promise<void>) => Promise<void>
}

/** Draws each trace when its root ends, until interrupted. Resolves to the exit code. */
export async function followTraces(place: TracesPlace, options: FollowOptions, io: CommandIo): Promise<number> {
  const { query, draw, showsRunning, pause = waitABit } = options
  const follower = new TraceFollower(place.listFiles, query)
  const area = showsRunning && isRedrawable(io) ? new StatusArea(io.stdout) : undefined
  let isStopped = false
  const interrupted = Promise.race([io.interrupted(), io.hungUp()]).then(() => {
    isStopped = true
  })
  for (let isFirst = true; !isStopped; isFirst = false) {
    const trees = isFirst ? await firstPoll(follower, place, io) : await follower.poll()
    if ('exitCode' in trees) return trees.exitCode
    if (trees.length > 0) area?.clear()
    for (const each of trees) io.stdout.write(`${draw(each)}\n`)
    const lines = area === undefined ? [] : await openLines(follower, place, io)
    if (isFirst && trees.length === 0 && lines.length === 0) {
      io.stderr.write(`Waiting for traces in ${place.path} (Ctrl-C ends this).\n`)
    }
    area?.show(lines)
    await pause(interrupted)
  }
  area?.clear()
  return EXIT.ok
}

/** The first poll reads everything. */
async function firstPoll(
  follower: TraceFollower,
  place: TracesPlace,
  io: CommandIo,
): Promise<TraceTree[] | { readonly exitCode: number }> {
  return readWatched(await place.listFiles(), onRead => follower.poll(onRead), io)
}

async function openLines(follower: TraceFollower, { kind, path }: TracesPlace, io: CommandIo): Promise<string[]> {
  const { width, color } = lookOf(io)
  const now = io.now()
  const maxLines = Math.min(MAX_LINES, statusRows(io))
  const open = follower.open()
  const trees = open.map(({ tree }) => tree)
  // For other files, the owning process is unknown.
  const left = kind === 'local log' ? leftBehind(open, await ownedSegments(dirname(path), now)) : NONE
  return renderOpenTurns(trees, { width: width - 1, color, now, maxLines }, tree => left.has(tree))
}
