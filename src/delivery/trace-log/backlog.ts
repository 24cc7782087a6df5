import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { CheckpointEntry } from './checkpoint.ts'
import { isOwned, keptDirectory, listCheckpoints, readCheckpoint, segmentStartAt } from './checkpoint.ts'
import type { Destinations } from './line-parser.ts'
import { linesIn, readHeader } from './segment-file.ts'
import { SpanLine } from './span-line.ts'

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

/** Backlog by backend. Never rejects. Sequential: a long outage leaves more files than a process may have open. */
export async function readBacklog(stateDirectory: string): Promise<readonly BacklogEntry[]> {
  const rows = new Map<string, BacklogEntry>()
  for (const entry of await allCheckpoints(stateDirectory)) {
    for (const part of await pendingOf(entry)) {
      const key = JSON.stringify([part.backend, part.isLive])
      rows.set(key, sumParts(rows.get(key), part))
    }
  }
  return [...rows.values()].sort(byName)
}

/** Destinations (`destinationOf`) of the data pending for a backend. An unknown one is ''. Never rejects. */
export async function pendingDestinations(stateDirectory: string, backend: string): Promise<ReadonlySet<string>> {
  const destinations = new Set<string>()
  for (const entry of await allCheckpoints(stateDirectory)) {
    const isPending = (await pendingOf(entry)).some(row => row.backend === backend)
    if (isPending) destinations.add((await readHeader(entry.segmentPath)).backends.get(backend) ?? '')
  }
  return destinations
}

async function allCheckpoints(stateDirectory: string): Promise<readonly CheckpointEntry[]> {
  return (await Promise.all([stateDirectory, keptDirectory(stateDirectory)].map(listCheckpoints))).flat()
}

async function pendingOf(entry: CheckpointEntry): Promise<BacklogEntry[]> {
  const { segmentPath } = entry
  const [state, stats] = await Promise.all([readCheckpoint(entry), stat(segmentPath).catch(() => undefined)])
  const size = stats?.size ?? 0
  const [oldestAt, isLive] = [segmentStartAt(entry), isOwned(entry)]
  const rows: BacklogEntry[] = []
  for (const [backend, offset] of state?.delivered ?? []) {
    if (offset >= size || !(await hasSpans(segmentPath, offset, size))) continue
    rows.push({ backend, segments: 1, bytes: size - offset, oldestAt, isLive })
  }
  return rows
}

/** The last spans may be followed by notes of open spans, which are not sent to backends. */
async function hasSpans(path: string, from: number, until: number): Promise<boolean> {
  if (until - from > NOTES_BYTES) return true
  try {
    for await (const line of linesIn(path, from, until)) {
      if (line instanceof SpanLine || line.kind === 'damaged') return true
    }
    return false
  } catch {
    return true
  }
}

type Size = Pick<BacklogEntry, 'segments' | 'bytes' | 'oldestAt'>

function sumParts<Entry extends Size>(before: Entry | undefined, part: Entry): Entry {
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

export interface UndecidedEntry {
  readonly destinations: Destinations
  readonly segments: number
  readonly bytes: number
  readonly oldestAt: number
}

/** Undecided segments of killed processes. Their checkpoints are pending for no backend, so they are in no backlog. */
export async function readUndecided(stateDirectory: string): Promise<readonly UndecidedEntry[]> {
  const rows = new Map<string, UndecidedEntry>()
  for (const entry of await listCheckpoints(stateDirectory)) {
    const found = await undecidedIn(entry)
    if (found === undefined) continue
    const key = JSON.stringify([...found.destinations].sort())
    rows.set(key, sumParts(rows.get(key), found))
  }
  return [...rows.values()].sort((one, other) => one.oldestAt - other.oldestAt)
}

async function undecidedIn(entry: CheckpointEntry): Promise<UndecidedEntry | undefined> {
  if (isOwned(entry) || (await readCheckpoint(entry))?.open !== true) return undefined
  const { heldBy, backends: destinations } = await readHeader(entry.segmentPath)
  if (heldBy === '' || destinations.size === 0) return undefined
  const bytes = (await stat(entry.segmentPath).catch(() => undefined))?.size ?? 0
  return { destinations, segments: 1, bytes, oldestAt: segmentStartAt(entry) }
}

/** True if there is a log of kept traces. Then a process samples recovered traces even if it does not buffer its own. */
export function hasKeptLog(stateDirectory: string): boolean {
  return existsSync(keptDirectory(stateDirectory))
}

export interface OpenSegment {
  readonly path: string
  /** True if the owner process is alive. Otherwise the next process ends or continues the spans. */
  readonly isOwned: boolean
}

export async function listOpenSegments(stateDirectory: string, now: number): Promise<OpenSegment[]> {
  const segments: OpenSegment[] = []
  for (const entry of await listCheckpoints(stateDirectory)) {
    if ((await readCheckpoint(entry))?.open !== true) continue
    segments.push({ path: entry.segmentPath, isOwned: isOwned(entry, now) })
  }
  return segments
}
