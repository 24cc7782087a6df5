import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type CheckpointEntry,
  keptDirectory,
  listCheckpoints,
  readCheckpoint,
  segmentPath,
  segmentStartAt,
} from './checkpoint-file.ts'
import { undecidedSpans } from './held-back.ts'
import { isAlive } from './owner.ts'
import { readHeader } from './segment-reader.ts'
import type { LocalLogSettings } from './settings.ts'
import type { Destinations } from './stored-line.ts'

/** Undecided segments of killed processes with the same backends. */
export interface UndecidedEntry {
  /** The backends, at these addresses, that a process needs to sample them. */
  readonly destinations: Destinations
  readonly segments: number
  readonly bytes: number
  /** Start of the oldest one, epoch milliseconds. */
  readonly oldestAt: number
}

/**
 * Segments that killed processes had buffered and that are still undecided. Their checkpoints are pending for no backend,
 * so they are in no backlog. Never rejects. Empty if there is no directory.
 */
export async function readUndecided(stateDirectory: string): Promise<readonly UndecidedEntry[]> {
  const rows = new Map<string, UndecidedEntry>()
  // Sequential, like in `readBacklog`.
  for (const entry of await listCheckpoints(stateDirectory)) {
    const found = await undecidedIn(stateDirectory, entry)
    if (found === undefined) continue
    const key = JSON.stringify([...found.destinations].sort())
    rows.set(key, sum(rows.get(key), found))
  }
  return [...rows.values()].sort((one, other) => one.oldestAt - other.oldestAt)
}

async function undecidedIn(stateDirectory: string, entry: CheckpointEntry): Promise<UndecidedEntry | undefined> {
  if (entry.owner !== undefined && isAlive(entry.owner, entry.heartbeatAt, Date.now())) return undefined
  if ((await readCheckpoint(entry))?.open !== true) return undefined
  const path = segmentPath(stateDirectory, entry.segment)
  const { heldBy, backends: destinations } = await readHeader(path)
  if (heldBy === '' || destinations.size === 0) return undefined
  const bytes = (await stat(path).catch(() => undefined))?.size ?? 0
  return { destinations, segments: 1, bytes, oldestAt: segmentStartAt(entry) }
}

function sum(before: UndecidedEntry | undefined, part: UndecidedEntry): UndecidedEntry {
  if (before === undefined) return part
  return {
    ...part,
    segments: before.segments + part.segments,
    bytes: before.bytes + part.bytes,
    oldestAt: Math.min(before.oldestAt, part.oldestAt),
  }
}

/** True if there is a log of kept traces. Then a process samples recovered traces even if it does not buffer its own. */
export function hasKeptLog(stateDirectory: string): boolean {
  return existsSync(keptDirectory(stateDirectory))
}

/**
 * Number of spans that each backend would have received from an open segment without an owner, if it had been sampled.
 * Excludes dropped traces and spans in the log of kept traces.
 *
 * @throws the error of the file system
 */
export async function countUndecided(
  path: string,
  { directory, continued }: Pick<LocalLogSettings, 'directory' | 'continued'>,
): Promise<ReadonlyMap<string, number>> {
  const { heldBy, backends } = await readHeader(path)
  if (heldBy === '' || backends.size === 0) return new Map()
  const keptTraces = join(keptDirectory(directory), 'traces')
  const isContinuedHere = continued?.isContinuedHere ?? (() => false)
  let count = 0
  for await (const spans of undecidedSpans({ path, heldBy, keptTraces, isContinuedHere })) count += spans.length
  return new Map(count === 0 ? [] : [...backends.keys()].map(backend => [backend, count]))
}
