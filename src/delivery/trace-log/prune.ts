import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { takeOverCheckpoint, type Checkpoint, type CheckpointEntry, listCheckpoints } from './checkpoint.ts'
import type { SegmentManager } from './custody.ts'
import { isAlive } from './owner.ts'
import { removeSentRecord } from './resend-progress.ts'
import type { LogSegment } from './segment.ts'
import { segmentIdentity } from './segment-file.ts'
import { SegmentReader } from './segment-reader.ts'
import type { LocalLogSettings } from './settings.ts'
import { countUndecided } from './unjudged.ts'

const HOUR_MILLIS = 3_600_000
const NONE: ReadonlyMap<string, number> = new Map()

interface TraceFile {
  readonly name: string
  readonly path: string
  readonly startAt: number
  readonly changedAt: number
  readonly bytes: number
}

/** Handles spans that a backend will never receive. */
export interface PruneListener {
  /**
   * Called before a segment of this process is removed. Returns a function that receives the number of pending spans per
   * backend.
   */
  beforeRemoval(segment: LogSegment): (backend: string, owed: number) => void
  /** Called after a segment without an owner was removed. */
  onRemoved(backend: string, owed: number): void
}

/**
 * Removes segments that are too old, then the oldest ones if the log is too large. Keeps segments that are being written,
 * and those that another living process still has to deliver. Never rejects.
 */
export async function pruneSegments(
  settings: LocalLogSettings,
  custody: SegmentManager,
  listener: PruneListener,
): Promise<void> {
  const tooOldAt = Date.now() - settings.maxAgeHours * HOUR_MILLIS
  const files = await traceFiles(join(settings.directory, 'traces'))
  // Read after the files: a segment's checkpoint is created before the segment.
  const checkpoints = new Map((await listCheckpoints(settings.directory)).map(entry => [entry.segment, entry]))
  const held = new Map([...custody.owned].map(segment => [segment.checkpoint.segment, segment]))
  let bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  for (const file of files) {
    if (file.changedAt >= tooOldAt && bytes <= settings.maxBytes) continue
    const owner = { segment: held.get(file.name), entry: checkpoints.get(file.name) }
    if (await removeSegment(settings, file, owner, custody, listener)) bytes -= file.bytes
  }
}

async function removeSegment(
  settings: LocalLogSettings,
  file: TraceFile,
  { segment, entry }: { readonly segment: LogSegment | undefined; readonly entry: CheckpointEntry | undefined },
  custody: SegmentManager,
  listener: PruneListener,
): Promise<boolean> {
  const { directory } = settings
  if (segment?.isWritten) return false
  if (segment) {
    segment.isRemoved = true
    const tell = listener.beforeRemoval(segment)
    for (const [backend, owed] of await pendingOf(segment, file, settings)) tell(backend, owed)
    custody.removeSegment(segment)
  } else if (entry) {
    if (entry.owner && isAlive(entry.owner, entry.heartbeatAt, Date.now())) return false
    const checkpoint = takeOverCheckpoint(directory, entry)
    if (checkpoint === undefined) return false
    for (const [backend, owed] of await pendingSpans(checkpoint, file, settings)) listener.onRemoved(backend, owed)
    checkpoint.remove()
  } else if (await hasCheckpoint(directory, file.name)) return false
  await rm(file.path, { force: true }).catch(() => undefined)
  await removeSentRecord(directory, file.name)
  return true
}

/** The segment may have been taken over while others were examined. */
async function hasCheckpoint(directory: string, segment: string): Promise<boolean> {
  const names = await readdir(join(directory, 'spool')).catch(() => [])
  return names.some(name => name.startsWith(`${segment}.`))
}

async function pendingOf(
  segment: LogSegment,
  file: TraceFile,
  settings: LocalLogSettings,
): Promise<ReadonlyMap<string, number>> {
  if (segment.isRecovered) return pendingSpans(segment.checkpoint, file, settings)
  return new Map(segment.checkpoint.backends.map(backend => [backend, segment.pendingSpans(backend)]))
}

/** Number of pending spans of a segment for each backend. */
async function pendingSpans(
  checkpoint: Checkpoint,
  { path, bytes }: TraceFile,
  settings: LocalLogSettings,
): Promise<ReadonlyMap<string, number>> {
  const unjudged = checkpoint.open ? await countUndecided(path, settings).catch(() => NONE) : NONE
  const owed = new Map<string, number>()
  const offsets = checkpoint.backends.map(backend => [backend, checkpoint.offsetOf(backend) ?? bytes] as const)
  for (const [backend, offset] of offsets) {
    const spans = await countSpans(path, offset, bytes).catch(() => 0)
    if (spans > 0) owed.set(backend, spans)
  }
  // A buffered segment is pending for no backend, so only one of the two counts applies.
  return owed.size > 0 ? owed : unjudged
}

async function countSpans(path: string, from: number, until: number): Promise<number> {
  const reader = new SegmentReader(path)
  let spans = 0
  try {
    for await (const { line } of reader.lines(from, until)) if (line.kind === 'spans') spans += line.spans.length
  } finally {
    await reader.close()
  }
  return spans
}

/** Oldest first. Foreign files in the directory are ignored. */
async function traceFiles(directory: string): Promise<TraceFile[]> {
  const names = await readdir(directory).catch(() => [])
  const files = await Promise.all(names.map(fileName => traceFile(directory, fileName)))
  return files.filter(file => file !== undefined).sort((a, b) => a.startAt - b.startAt)
}

async function traceFile(directory: string, fileName: string): Promise<TraceFile | undefined> {
  const identity = segmentIdentity(fileName)
  const path = join(directory, fileName)
  const stats = identity && (await stat(path).catch(() => undefined))
  if (!stats) return undefined
  return { name: identity.name, path, startAt: identity.startAt, changedAt: stats.mtimeMs, bytes: stats.size }
}
