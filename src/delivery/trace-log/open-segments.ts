import { listCheckpoints, readCheckpoint, segmentPath } from './checkpoint-file.ts'
import { isAlive } from './owner.ts'

export interface OpenSegment {
  readonly path: string
  /** True if the owner process is alive. Otherwise the next process ends or continues the spans. */
  readonly isOwned: boolean
}

/** Oldest first. Never rejects. Empty if there is no directory. */
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
