import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { LocalLogSettings } from './settings.ts'

const NAME = /^(\d+)-(\d+)\.jsonl$/
const HOUR_MILLIS = 3_600_000

let lastStartAt = 0

/** A name that is this process' alone, in the order of time: several pipelines of one process have a file each. */
export function newTraceFile(directory: string): string {
  lastStartAt = Math.max(Date.now(), lastStartAt + 1)
  return join(traceDirectory(directory), `${lastStartAt}-${process.pid}.jsonl`)
}

function traceDirectory(directory: string): string {
  return join(directory, 'traces')
}

interface TraceFile {
  readonly path: string
  readonly startAt: number
  readonly changedAt: number
  readonly bytes: number
}

/** Removes what is too old, then the oldest of what is too much. Never a file that its process may still write to. */
export async function pruneTraceFiles(settings: LocalLogSettings): Promise<void> {
  const tooOldAt = Date.now() - settings.maxAgeHours * HOUR_MILLIS
  const files = await traceFiles(traceDirectory(settings.directory))
  let bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  for (const file of files) {
    if (file.changedAt >= tooOldAt && bytes <= settings.maxBytes) continue
    if (isWritten(file.path)) continue
    bytes -= file.bytes
    await rm(file.path, { force: true }).catch(() => undefined)
  }
}

/** Oldest first. Other files in the directory are not ours. */
async function traceFiles(directory: string): Promise<TraceFile[]> {
  const names = await readdir(directory).catch(() => [])
  const files = await Promise.all(
    names.filter(name => NAME.test(name)).map(name => traceFile(join(directory, name), name)),
  )
  return files.filter(file => file !== undefined).sort((a, b) => a.startAt - b.startAt)
}

async function traceFile(path: string, name: string): Promise<TraceFile | undefined> {
  const stats = await stat(path).catch(() => undefined)
  if (!stats) return undefined
  return { path, startAt: Number(NAME.exec(name)?.[1] ?? 0), changedAt: stats.mtimeMs, bytes: stats.size }
}

function isWritten(path: string): boolean {
  const pid = Number(/-(\d+)\.jsonl$/.exec(path)?.[1])
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It runs, but under another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
