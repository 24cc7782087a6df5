import { stat } from 'node:fs/promises'
import type { CheckpointEntry } from './checkpoint-file.ts'
import { keptDirectory, listCheckpoints, readCheckpoint, segmentPath, segmentStartAt } from './checkpoint-file.ts'
import { isAlive } from './owner.ts'
import { readHeader, SegmentReader } from './segment-file.ts'

/** More bytes than this cannot be notes of open spans alone. */
const NOTES_BYTES = 262_144

export interface BacklogEntry {
  readonly backend: string
  readonly segments: number
  readonly bytes: number
  readonly oldestAt: number
  /** True if living processes own the data and will deliver it. Segments without an owner have a row of their own. */
  readonly isLive: boolean
}

/**
 * The backlog of every backend with pending data, by name. Never rejects. Empty if there is no directory. Sequential: a long
 * outage leaves more files than a process may have open.
 */
export async function readBacklog(stateDirectory: string): Promise<readonly BacklogEntry[]> {
  const rows = new Map<string, BacklogEntry>()
  for (const { directory, entry } of await checkpointsOf(stateDirectory)) {
    for (const part of await pendingOf(directory, entry)) {
      const key = JSON.stringify([part.backend, part.isLive])
      rows.set(key, sumParts(rows.get(key), part))
    }
  }
  return [...rows.values()].sort(byName)
}

/** Destinations (`destinationOf`) of the data pending for a backend. An unknown one is ''. Never rejects. */
export async function pendingDestinations(stateDirectory: string, backend: string): Promise<ReadonlySet<string>> {
  const destinations = new Set<string>()
  for (const { directory, entry } of await checkpointsOf(stateDirectory)) {
    for (const row of await pendingOf(directory, entry)) {
      if (row.backend !== backend) continue
      destinations.add((await readHeader(segmentPath(directory, entry.segment))).backends.get(backend) ?? '')
    }
  }
  return destinations
}

async function checkpointsOf(
  stateDirectory: string,
): Promise<readonly { readonly directory: string; readonly entry: CheckpointEntry }[]> {
  const directories = [stateDirectory, keptDirectory(stateDirectory)]
  const found = directories.map(async directory =>
    (await listCheckpoints(directory)).map(entry => ({ directory, entry })),
  )
  return (await Promise.all(found)).flat()
}

async function pendingOf(stateDirectory: string, entry: CheckpointEntry): Promise<BacklogEntry[]> {
  const [state, stats] = await Promise.all([
    readCheckpoint(entry),
    stat(segmentPath(stateDirectory, entry.segment)).catch(() => undefined),
  ])
  const size = stats?.size ?? 0
  const oldestAt = segmentStartAt(entry)
  const isLive = entry.owner !== undefined && isAlive(entry.owner, entry.heartbeatAt, Date.now())
  const rows: BacklogEntry[] = []
  for (const [backend, offset] of Object.entries(state?.delivered ?? {})) {
    if (offset >= size || !(await hasSpans(segmentPath(stateDirectory, entry.segment), offset, size))) continue
    rows.push({ backend, segments: 1, bytes: size - offset, oldestAt, isLive })
  }
  return rows
}

/** The last spans may be followed by notes of open spans, which are not sent to backends. */
async function hasSpans(path: string, from: number, until: number): Promise<boolean> {
  if (until - from > NOTES_BYTES) return true
  const reader = new SegmentReader(path)
  try {
    const { lines, damaged } = await reader.spans(from, until, 1)
    return lines.length > 0 || damaged > 0
  } catch {
    return true
  } finally {
    await reader.close()
  }
}

type Size = Pick<BacklogEntry, 'segments' | 'bytes' | 'oldestAt'>

export function sumParts<Entry extends Size>(before: Entry | undefined, part: Entry): Entry {
  if (before === undefined) return part
  return {
    ...part,
    segments: before.segments + part.segments,
    bytes: before.bytes + part.bytes,
    oldestAt: Math.min(before.oldestAt, part.oldestAt),
  }
}

function byName(one: BacklogEntry, other: BacklogEntry): number {
  if (one.backend !== other.backend) return one.backend < other.backend ? -1 : 1
  return Number(one.isLive) - Number(other.isLive)
}

export interface OpenSegment {
  readonly path: string
  /** True if the owner process is alive. Otherwise the next process ends or continues the spans. */
  readonly isOwned: boolean
}

export async function listOpenSegments(stateDirectory: string, now: number): Promise<OpenSegment[]> {
  const segments: OpenSegment[] = []
  for (const entry of await listCheckpoints(stateDirectory)) {
    const state = await readCheckpoint(entry)
    if (state?.open !== true) continue
    const isOwned = entry.owner !== undefined && isAlive(entry.owner, entry.heartbeatAt, now)
    segments.push({ path: segmentPath(stateDirectory, entry.segment), isOwned })
  }
  return segments
}
