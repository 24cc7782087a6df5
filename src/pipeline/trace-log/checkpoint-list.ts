import { lstat, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type CheckpointName, checkpointDirectory, parseCheckpoint, parseCheckpointName } from './checkpoint-file.ts'
import type { Owner } from './owner.ts'
import { OPEN } from './private-place.ts'
import { segmentIdentity } from './segment-name.ts'

const DAY_MILLIS = 86_400_000

/** A checkpoint as it lies in the directory. */
export interface CheckpointEntry {
  readonly segment: string
  /** Undefined = free: whoever comes may take it. */
  readonly owner: Owner | undefined
  readonly path: string
  /** Epoch milliseconds. */
  readonly heartbeatAt: number
}

export interface CheckpointState {
  /** Spans may be open in the segment that nobody has ended. */
  readonly open: boolean
  /** Backend → bytes of the segment that it has acknowledged. Has no prototype: a backend may have any name. */
  readonly delivered: Readonly<Record<string, number>>
  /** Nothing could be read from it: it counts as open, and as owed to nobody. */
  readonly isDamaged: boolean
}

/**
 * By the start of the segment, oldest first. Foreign files are passed over; temporary ones of processes that were killed
 * are removed after a day. Never rejects; none where there is no directory.
 */
export async function listCheckpoints(stateDirectory: string): Promise<CheckpointEntry[]> {
  const directory = checkpointDirectory(stateDirectory)
  const names = await readdir(directory).catch(() => [])
  const entries = await Promise.all(names.map(name => look(join(directory, name), parseCheckpointName(name))))
  return entries.filter(entry => entry !== undefined).sort(bySegmentStart)
}

/** Undefined when it is gone: settled meanwhile, or taken over. */
export async function readCheckpoint(entry: CheckpointEntry): Promise<CheckpointState | undefined> {
  const text = await readFile(entry.path, { encoding: 'utf8', flag: OPEN.read }).catch(() => undefined)
  if (text === undefined) return undefined
  const { open, delivered, isDamaged } = parseCheckpoint(text)
  return { open, delivered: Object.assign(Object.create(null), Object.fromEntries(delivered)), isDamaged }
}

async function look(path: string, name: CheckpointName | undefined): Promise<CheckpointEntry | undefined> {
  const stats = name && (await lstat(path).catch(() => undefined))
  if (!name || !stats?.isFile()) return undefined
  if (!name.isTemporary) return { segment: name.segment, owner: name.owner, path, heartbeatAt: stats.mtimeMs }
  if (stats.mtimeMs < Date.now() - DAY_MILLIS) await rm(path, { force: true }).catch(() => undefined)
  return undefined
}

/** Epoch milliseconds. */
export function segmentStartAt({ segment }: CheckpointEntry): number {
  return segmentIdentity(`${segment}.jsonl`)?.startAt ?? 0
}

function bySegmentStart(one: CheckpointEntry, other: CheckpointEntry): number {
  return segmentStartAt(one) - segmentStartAt(other) || (one.segment < other.segment ? -1 : 1)
}
