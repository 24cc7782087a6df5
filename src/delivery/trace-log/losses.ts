import { fstatSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { endsWithLine, makePrivateDirectory, OPEN, PRIVATE_FILE, readOwnFile, withOwnFile } from './private-file.ts'

export interface Loss {
  readonly at: number
  readonly backend: string
  readonly spans: number
  readonly reason: string
}

const WRITE_INTERVAL_MILLIS = 5000
const REASON_MAX_CHARS = 200
/** Maximum number of pairs of backend and reason per process. Further ones are counted without their reason. */
const MAX_SUMS = 256
const OTHER_REASON = 'other'

/** Records losses for another process to show. Written at most every 5 s, and by `save()`. A failed write is retried. */
export class LossLog {
  readonly #path: string
  readonly #now: () => number
  readonly #sums = new Map<string, Loss>()
  #timer: NodeJS.Timeout | undefined

  constructor(stateDirectory: string, now: () => number = Date.now) {
    this.#path = lossPath(stateDirectory)
    this.#now = now
  }

  /** Never throws. `reason` is one of few fixed texts. The first loss is written soon after its burst, to survive a kill. */
  note(backend: string, spans: number, reason: string): void {
    if (!isCount(spans)) return
    const line = reason.slice(0, REASON_MAX_CHARS).replace(/\s+/g, ' ').trim()
    addLoss(this.#sums, { at: this.#now(), backend, spans, reason: line }, MAX_SUMS)
    this.#timer ??= this.#saveIn(0)
  }

  save(): void {
    if (this.#sums.size === 0) return
    const lines = [...this.#sums.values()].map(loss => `${JSON.stringify(loss)}\n`)
    try {
      if (append(this.#path, lines.join('')) > MAX_BYTES) cut(this.#path)
      this.#sums.clear()
    } catch {
      // They are written with the next loss.
    }
  }

  #saveIn(millis: number): NodeJS.Timeout {
    return setTimeout(() => {
      const isQuiet = this.#sums.size === 0
      this.save()
      this.#timer = isQuiet ? undefined : this.#saveIn(WRITE_INTERVAL_MILLIS)
    }, millis).unref()
  }
}

/** Losses since then, summed by backend and reason, the newest first. Damaged lines are skipped. Never rejects. */
export async function readLosses(stateDirectory: string, since: number): Promise<readonly Loss[]> {
  const text = await readFile(lossPath(stateDirectory), { encoding: 'utf8', flag: OPEN.read }).catch(() => '')
  const sums = new Map<string, Loss>()
  for (const line of text.split('\n')) {
    const loss = parseLoss(line)
    if (loss !== undefined && loss.at >= since) addLoss(sums, loss, Number.POSITIVE_INFINITY)
  }
  return [...sums.values()].sort((one, other) => other.at - one.at)
}

function addLoss(sums: Map<string, Loss>, loss: Loss, maxSums: number): void {
  const key = JSON.stringify([loss.backend, loss.reason])
  const before = sums.get(key)
  if (before) sums.set(key, { ...loss, at: Math.max(before.at, loss.at), spans: before.spans + loss.spans })
  else if (sums.size < maxSums || loss.reason === OTHER_REASON) sums.set(key, loss)
  else addLoss(sums, { ...loss, reason: OTHER_REASON }, maxSums)
}

function parseLoss(line: string): Loss | undefined {
  try {
    const { at, backend, spans, reason } = JSON.parse(line) as Partial<Record<keyof Loss, unknown>>
    const isLoss = Number.isFinite(at) && typeof backend === 'string' && isCount(spans) && typeof reason === 'string'
    return isLoss ? { at: at as number, backend, spans, reason } : undefined
  } catch {
    return undefined
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0
}

const MAX_BYTES = 262_144
/** Truncating takes an instant. After this time the process that did it must have been killed. */
const CUT_LIMIT_MILLIS = 60_000

function lossPath(stateDirectory: string): string {
  return join(stateDirectory, 'losses.jsonl')
}

/** @returns the size of the file */
function append(path: string, lines: string): number {
  makePrivateDirectory(dirname(path))
  return withOwnFile(path, OPEN.append, (descriptor, { size }) => {
    // If a full disk cut off a line, its remainder must not merge with the next one.
    const before = endsWithLine(descriptor, size) ? '' : '\n'
    writeFileSync(descriptor, before + lines)
    return fstatSync(descriptor).size
  })
}

/** The temporary file also serves as the lock: only one process cuts. */
function cut(path: string): void {
  const temporary = `${path}.tmp`
  try {
    const all = readOwnFile(path)
    const half = all.indexOf('\n', all.length - MAX_BYTES / 2) + 1
    writeFileSync(temporary, all.subarray(half), { flag: 'wx', mode: PRIVATE_FILE })
    renameSync(temporary, path)
  } catch {
    removeAbandoned(temporary)
  }
}

function removeAbandoned(temporary: string): void {
  try {
    if (statSync(temporary).mtimeMs < Date.now() - CUT_LIMIT_MILLIS) rmSync(temporary)
  } catch {
    // Another process was quicker.
  }
}
