import { listCheckpoints, readCheckpoint, segmentPath } from './checkpoint-file.ts'
import { isAlive } from './owner.ts'

/** A segment that tells of spans which nobody has ended. */
export interface OpenSegment {
  readonly path: string
  /** The process that has them lives; else whoever comes next ends them, or goes on with them. */
  readonly isOwned: boolean
}

/** Oldest first. Never rejects; none where there is no directory. */
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
