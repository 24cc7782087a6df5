import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { LocalLogSettings } from '../settings.ts'
import { adoptLedger, type Ledger, type LedgerEntry, listLedgers } from './ledger.ts'
import { isAlive } from './owner.ts'
import type { Segment } from './segment.ts'
import { segmentIdentity } from './segment-name.ts'
import { SegmentReader } from './segment-reader.ts'
import type { Spool } from './spool.ts'

const HOUR_MILLIS = 3_600_000

interface TraceFile {
  readonly name: string
  readonly path: string
  readonly startAt: number
  readonly changedAt: number
  readonly bytes: number
}

/** Told what a backend will never get; `isOwn`: of what this process has recorded. */
export type OnPruned = (backend: string, spans: number, isOwn: boolean) => void

/**
 * Removes what is too old, then the oldest of what is too much. Never what is being written, nor what another process that
 * lives still has to deliver. Never rejects.
 */
export async function pruneSegments(settings: LocalLogSettings, spool: Spool, onPruned: OnPruned): Promise<void> {
  const tooOldAt = Date.now() - settings.maxAgeHours * HOUR_MILLIS
  const files = await traceFiles(join(settings.directory, 'traces'))
  // Read after the files: a segment has its ledger before it is there itself.
  const ledgers = new Map((await listLedgers(settings.directory)).map(entry => [entry.segment, entry]))
  const held = new Map([...spool.held].map(segment => [segment.ledger.segment, segment]))
  let bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  for (const file of files) {
    if (file.changedAt >= tooOldAt && bytes <= settings.maxBytes) continue
    const owner = { segment: held.get(file.name), entry: ledgers.get(file.name) }
    if (await removeSegment(settings.directory, file, owner, spool, onPruned)) bytes -= file.bytes
  }
}

async function removeSegment(
  directory: string,
  file: TraceFile,
  { segment, entry }: { readonly segment: Segment | undefined; readonly entry: LedgerEntry | undefined },
  spool: Spool,
  onPruned: OnPruned,
): Promise<boolean> {
  if (segment?.isWritten) return false
  if (segment) {
    const owed = await owedSpans(segment.ledger, file)
    spool.forget(segment)
    for (const [backend, spans] of owed) onPruned(backend, spans, !segment.isAdopted)
  } else if (entry) {
    if (entry.owner && isAlive(entry.owner, entry.heartbeatAt, Date.now())) return false
    const ledger = adoptLedger(directory, entry)
    if (ledger === undefined) return false
    for (const [backend, spans] of await owedSpans(ledger, file)) onPruned(backend, spans, false)
    ledger.remove()
  }
  await rm(file.path, { force: true }).catch(() => undefined)
  return true
}

/** Spans that each backend has not got of a segment. */
async function owedSpans(ledger: Ledger, { path, bytes }: TraceFile): Promise<Map<string, number>> {
  const owed = new Map<string, number>()
  for (const backend of ledger.backends) {
    const spans = await countSpans(path, ledger.offsetOf(backend) ?? bytes, bytes).catch(() => 0)
    if (spans > 0) owed.set(backend, spans)
  }
  return owed
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

/** Oldest first. Other files in the directory are not ours. */
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
