import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { readOwnFile, saveOwnFile } from './private-file.ts'

const NANOS_PER_MILLI = 1_000_000

export interface SentTally {
  readonly traceIds: ReadonlySet<string>
  readonly spans: number
  /** Start of the first span and end of the last one, epoch milliseconds. Infinite if there are no spans. */
  readonly from: number
  readonly to: number
}

export class ResendProgress {
  readonly #isSelected: (span: ReadableSpan) => boolean
  readonly #onSent: (offset: number) => void
  readonly #traceIds = new Set<string>()
  tally: SentTally = { traceIds: this.#traceIds, spans: 0, from: Infinity, to: -Infinity }
  offset: number
  #reading: readonly ReadableSpan[] = []

  constructor(offset: number, isSelected: (span: ReadableSpan) => boolean, onSent: (offset: number) => void) {
    this.offset = offset
    this.#isSelected = isSelected
    this.#onSent = onSent
  }

  selectSpans(spans: readonly ReadableSpan[]): readonly ReadableSpan[] {
    this.#reading = spans.filter(this.#isSelected)
    return this.#reading
  }

  advance(offset: number): void {
    if (offset <= this.offset) return
    this.offset = offset
    for (const span of this.#reading) this.#count(span)
    this.#reading = []
    this.#onSent(offset)
  }

  #count(span: ReadableSpan): void {
    const { spans, from, to } = this.tally
    const [start, end] = [millisOf(span.startTime), millisOf(span.endTime)]
    this.#traceIds.add(span.spanContext().traceId)
    this.tally = { traceIds: this.#traceIds, spans: spans + 1, from: Math.min(from, start), to: Math.max(to, end) }
  }
}

/** Whole milliseconds, which is the precision of `--since`. */
export function millisOf([seconds, nanos]: ReadableSpan['startTime']): number {
  return seconds * 1000 + Math.floor(nanos / NANOS_PER_MILLI)
}

/** Received by one destination: up to `offset` traces begun in [`since`, `before`), and all begun later. */
export interface SentState {
  readonly since: number
  readonly before: number | null
  readonly offset: number
}

/** The next pass. An unfinished pass is completed first, even if it is larger. Undefined if nothing is left. */
export function nextPass(state: SentState | undefined, since: number, bytes: number): SentState | undefined {
  if (state === undefined) return { since, before: null, offset: 0 }
  if (state.offset < bytes) return state
  return since < state.since ? { since, before: state.since, offset: 0 } : undefined
}

/** The part of one segment that was sent on request. Written by the owner of the checkpoint, removed with the segment. */
export class SentRecord {
  readonly #path: string
  readonly #states: Map<string, SentState>

  constructor(stateDirectory: string, segment: string) {
    this.#path = recordPath(stateDirectory, segment)
    this.#states = readStates(this.#path)
  }

  get(destination: string): SentState | undefined {
    return this.#states.get(destination)
  }

  /** Returns true if the state is saved. An unsaved part may be sent twice. */
  set(destination: string, state: SentState): boolean {
    this.#states.set(destination, state)
    return saveOwnFile(this.#path, JSON.stringify(Object.fromEntries(this.#states)))
  }
}

export async function removeSentRecord(stateDirectory: string, segment: string): Promise<void> {
  await rm(recordPath(stateDirectory, segment), { force: true }).catch(() => undefined)
}

function recordPath(stateDirectory: string, segment: string): string {
  return join(stateDirectory, 'sent', `${segment}.json`)
}

/** An unreadable state counts as not sent: better twice than never. */
function readStates(path: string): Map<string, SentState> {
  try {
    const parsed = JSON.parse(readOwnFile(path).toString()) as object
    return new Map(Object.entries(parsed).filter((entry): entry is [string, SentState] => isState(entry[1])))
  } catch {
    return new Map()
  }
}

function isState(value: unknown): value is SentState {
  const { since, before, offset } = (value ?? {}) as Partial<Record<keyof SentState, unknown>>
  return isOffset(since) && (before === null || isOffset(before)) && isOffset(offset)
}

export function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
