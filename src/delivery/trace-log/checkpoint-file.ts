import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isAlive, type Owner, parseOwner } from './owner.ts'
import { segmentIdentity } from './segment-file.ts'

/** The place of each checkpoint, and its owner, which its name contains. */

const NAME = /^(\d{1,15}-\d{1,10})\.([^.]+)\.json(\.tmp)?$/
const DAY_MILLIS = 86_400_000
export const FREE = 'free'

interface CheckpointName {
  readonly segment: string
  readonly owner: Owner | undefined
  readonly isTemporary: boolean
}

export interface CheckpointEntry extends Pick<CheckpointName, 'segment' | 'owner'> {
  readonly path: string
  readonly segmentPath: string
  readonly heartbeatAt: number
}

/** The log of kept traces, used with tail sampling. It has the same layout as the state directory. */
export function keptDirectory(stateDirectory: string): string {
  return join(stateDirectory, 'kept')
}

export function segmentPath(stateDirectory: string, segment: string): string {
  return join(stateDirectory, 'traces', `${segment}.jsonl`)
}

export function checkpointDirectory(stateDirectory: string): string {
  return join(stateDirectory, 'spool')
}

export function checkpointPath(stateDirectory: string, segment: string, holder: string): string {
  return join(checkpointDirectory(stateDirectory), `${segment}.${holder}.json`)
}

export function parseCheckpointName(name: string): CheckpointName | undefined {
  const [match, segment = '', holder = '', temporary] = NAME.exec(name) ?? []
  const owner = parseOwner(holder)
  if (match === undefined || (owner === undefined && holder !== FREE)) return undefined
  return { segment, owner, isTemporary: temporary !== undefined }
}

/** Oldest segment first. Foreign files are ignored. Temporary files are removed after a day. Never rejects. */
export async function listCheckpoints(stateDirectory: string): Promise<CheckpointEntry[]> {
  const names = await readdir(checkpointDirectory(stateDirectory)).catch(() => [])
  const entries = await Promise.all(names.map(name => look(stateDirectory, name)))
  return entries.filter(entry => entry !== undefined).sort(bySegmentStart)
}

async function look(stateDirectory: string, fileName: string): Promise<CheckpointEntry | undefined> {
  const path = join(checkpointDirectory(stateDirectory), fileName)
  const name = parseCheckpointName(fileName)
  const stats = name && (await lstat(path).catch(() => undefined))
  if (!name || !stats?.isFile()) return undefined
  const { segment, owner, isTemporary } = name
  if (!isTemporary) {
    return { segment, owner, path, segmentPath: segmentPath(stateDirectory, segment), heartbeatAt: stats.mtimeMs }
  }
  if (stats.mtimeMs < Date.now() - DAY_MILLIS) await rm(path, { force: true }).catch(() => undefined)
  return undefined
}

/** True if the owner is alive. Without an owner, or if it is dead, any process may take the checkpoint over. */
export function isOwned({ owner, heartbeatAt }: CheckpointEntry, now: number = Date.now()): boolean {
  return owner !== undefined && isAlive(owner, heartbeatAt, now)
}

export function segmentStartAt({ segment }: CheckpointEntry): number {
  return segmentIdentity(`${segment}.jsonl`)?.startAt ?? 0
}

function bySegmentStart(one: CheckpointEntry, other: CheckpointEntry): number {
  return segmentStartAt(one) - segmentStartAt(other) || (one.segment < other.segment ? -1 : 1)
}

export function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
