import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { codeOf, createCheckpointFile, isOffset, writeCheckpointFile } from './checkpoint-file.ts'
import { readOwnFile } from './private-place.ts'

const NANOS_PER_MILLI = 1_000_000

/** What has arrived of one file at one backend. */
export interface SentTally {
  readonly traceIds: ReadonlySet<string>
  readonly spans: number
  /** Start of the first span and end of the last one, epoch milliseconds; infinite for none. */
  readonly from: number
  readonly to: number
}

export interface ResendProgressParts {
  readonly pass: SentState
  /** Absent = whatever the rest says. */
  readonly traceId: string | undefined
  /** When a trace began, epoch milliseconds. Absent = every trace is wanted. */
  readonly begunAt: ((traceId: string) => number) | undefined
  /** Called after each acknowledgement. */
  readonly onSent: (state: SentState) => void
}

/** How far the sending of one file to one backend, for which somebody asks, has got. */
export class ResendProgress {
  readonly #parts: ResendProgressParts
  readonly #traceIds = new Set<string>()
  #offset: number
  #spans = 0
  #from: number = Number.POSITIVE_INFINITY
  #to: number = Number.NEGATIVE_INFINITY
  /** On their way. */
  #reading: readonly ReadableSpan[] = []

  constructor(parts: ResendProgressParts) {
    this.#parts = parts
    this.#offset = parts.pass.offset
  }

  /** Bytes. */
  get offset(): number {
    return this.#offset
  }

  get tally(): SentTally {
    return { traceIds: this.#traceIds, spans: this.#spans, from: this.#from, to: this.#to }
  }

  /** Those of the spans that are read next that are to be sent. */
  wanted(spans: readonly ReadableSpan[]): readonly ReadableSpan[] {
    this.#reading = spans.filter(span => this.#isWanted(span))
    return this.#reading
  }

  /** The backend is done with what was read. */
  advance(offset: number): void {
    if (offset <= this.#offset) return
    this.#offset = offset
    for (const span of this.#reading) this.#count(span)
    this.#reading = []
    this.#parts.onSent({ ...this.#parts.pass, offset })
  }

  #isWanted(span: ReadableSpan): boolean {
    const { pass, traceId: wanted, begunAt } = this.#parts
    const { traceId } = span.spanContext()
    if (wanted !== undefined && traceId !== wanted) return false
    if (begunAt === undefined) return true
    const at = begunAt(traceId)
    return at >= pass.since && (pass.before === null || at < pass.before)
  }

  #count(span: ReadableSpan): void {
    this.#spans++
    this.#traceIds.add(span.spanContext().traceId)
    this.#from = Math.min(this.#from, millisOf(span.startTime))
    this.#to = Math.max(this.#to, millisOf(span.endTime))
  }
}

/** Whole ones: `--since` takes no finer ones. */
export function millisOf([seconds, nanos]: ReadableSpan['startTime']): number {
  return seconds * 1000 + Math.floor(nanos / NANOS_PER_MILLI)
}

/**
 * What one destination has got of a segment because somebody asked for it: of the traces that began at `since` or later,
 * and before `before`, everything up to `offset`; of those that began at `before` or later, everything.
 */
export interface SentState {
  /** Epoch milliseconds; 0 for all traces. */
  readonly since: number
  /** Epoch milliseconds; null for no limit. */
  readonly before: number | null
  /** Bytes. */
  readonly offset: number
}

/**
 * What is still to be sent to a destination of a segment of so many bytes, so that it has everything since then.
 * What was begun is finished first, though it may be more than is asked for now. Undefined when it has it all.
 */
export function nextPass(state: SentState | undefined, since: number, bytes: number): SentState | undefined {
  if (state === undefined) return { since, before: null, offset: 0 }
  if (state.offset < bytes) return state
  return since < state.since ? { since, before: state.since, offset: 0 } : undefined
}

function sentDirectory(stateDirectory: string): string {
  return join(stateDirectory, 'sent')
}

/**
 * What was sent of one segment to backends that nobody owed it to. A file beside the log, for as long as the segment is
 * there; only who holds the segment's checkpoint writes it.
 */
export class SentRecord {
  readonly #path: string
  readonly #states: Map<string, SentState>

  constructor(stateDirectory: string, segment: string) {
    this.#path = recordPath(stateDirectory, segment)
    this.#states = readStates(this.#path)
  }

  /** Of a destination, as `destinationOf` names it. */
  get(destination: string): SentState | undefined {
    return this.#states.get(destination)
  }

  /** Returns whether it is saved; what is not may be sent twice. */
  set(destination: string, state: SentState): boolean {
    this.#states.set(destination, state)
    const text = JSON.stringify(Object.fromEntries(this.#states))
    try {
      writeCheckpointFile(this.#path, text)
      return true
    } catch (error) {
      return codeOf(error) === 'ENOENT' && this.#create(text)
    }
  }

  #create(text: string): boolean {
    try {
      createCheckpointFile(this.#path, text)
      return true
    } catch {
      return false
    }
  }
}

/** For a segment that is gone. Never rejects. */
export async function removeSentRecord(stateDirectory: string, segment: string): Promise<void> {
  await rm(recordPath(stateDirectory, segment), { force: true }).catch(() => undefined)
}

function recordPath(stateDirectory: string, segment: string): string {
  return join(sentDirectory(stateDirectory), `${segment}.json`)
}

/** What cannot be read counts as not sent: better twice than never. */
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
