import { readFile } from 'node:fs/promises'
import { appendLossLines, lossPath } from './loss-file.ts'
import { OPEN } from './private-place.ts'

/** Spans that a backend will never get. */
export interface Loss {
  /** The newest of them, epoch milliseconds. */
  readonly at: number
  readonly backend: string
  readonly spans: number
  readonly reason: string
}

const WRITE_INTERVAL_MILLIS = 5000
const REASON_MAX_CHARS = 200
/** Backends times reasons of one process. What is beyond is counted without its reason. */
const MAX_SUMS = 256
const OTHER_REASON = 'other'

/**
 * Keeps what was lost, and why, for another process to show. Noting costs a look-up; the file is made with the first
 * loss and appended to at most every 5 s, and by `save()` when the process ends. What cannot be written is kept and tried
 * again as often.
 */
export class LossLog {
  readonly #path: string
  readonly #now: () => number
  #sums: Map<string, Loss> = new Map()
  #timer: NodeJS.Timeout | undefined

  /** `now` gives epoch milliseconds. */
  constructor(stateDirectory: string, now: () => number = Date.now) {
    this.#path = lossPath(stateDirectory)
    this.#now = now
  }

  /** `reason` is one of few fixed texts. Never throws. */
  note(backend: string, spans: number, reason: string): void {
    if (!isCount(spans)) return
    addLoss(this.#sums, { at: this.#now(), backend, spans, reason: oneLine(reason) }, MAX_SUMS)
    // The first soon, once a burst is over: who is killed after it has still told of it.
    this.#timer ??= this.#saveIn(0)
  }

  /** Writes what has not been written, at once. Never throws. */
  save(): void {
    const lines = [...this.#sums.values()].map(loss => `${JSON.stringify(loss)}\n`)
    if (lines.length > 0 && appendLossLines(this.#path, lines.join(''))) this.#sums = new Map()
  }

  #saveIn(millis: number): NodeJS.Timeout {
    return setTimeout(() => {
      const isQuiet = this.#sums.size === 0
      this.save()
      this.#timer = isQuiet ? undefined : this.#saveIn(WRITE_INTERVAL_MILLIS)
    }, millis).unref()
  }
}

/**
 * What was lost at `since` (epoch milliseconds) or later, summed by backend and reason, the newest first. Damaged lines
 * are passed over. Never rejects; none where there is no file.
 */
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

function oneLine(reason: string): string {
  return reason.slice(0, REASON_MAX_CHARS).replace(/\s+/g, ' ').trim()
}
