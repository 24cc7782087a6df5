import type { SpanContext } from '@opentelemetry/api'
import type { SafeText } from '../content/safe-text.ts'
import type { SpanKindName } from '../contract/index.ts'
import { BoundedMap } from './bounded-map.ts'
import type { AttributeList } from './spans/attribute-list.ts'
import type { AnyHookEvent } from './spans/span-definition.ts'

/** The mark of an ended span: late children find their parent by it, and repeats are recognised. */
export interface EndedMark {
  readonly context: SpanContext
  readonly startAt: number
  readonly endAt: number
  readonly attempt: number
  /** Start time of an earlier attempt that ended after this one: its repeated start is recognised by it. */
  readonly earlierStartAt?: number
  /** The host ended it. False if hookspan did, and the host's own end may still arrive. */
  readonly byHost: boolean
  /** The span ended in an error, so a success under the same key belongs to a later attempt. */
  readonly failed: boolean
  /** The end itself, if it arrived before its start and got no span. If the start still arrives, the span is built from both. */
  readonly early?: EarlyEnd | undefined
}

interface EarlyEnd {
  readonly event: AnyHookEvent
  /** End time of the attempt before it: its start is not earlier. */
  readonly after: number
}

/**
 * Beyond each limit the oldest are dropped. A very late child then goes under the root, a request is numbered anew, a blocked
 * tool call loses the name of the control hook, and a call in an answer gets its parent from the open spans alone.
 */
const ENDED_MARKS_LIMIT = 4096
const REQUESTS_LIMIT = 10_000
const BLOCKS_LIMIT = 1000
const CALLS_LIMIT = 1000

const ARGUMENTS_LIMIT = 100

/** Limit of slots with numbered span ids. Beyond it the oldest restart, so a reused slot repeats its span ids. */
const SEEDS_LIMIT = 100_000

export function slot(kind: SpanKindName, key: string): string {
  return `${kind} ${key}`
}

/** A turn's memory of its own past. A late turn continues with it, so that no span is created or numbered twice. */
export class TurnHistory {
  /** The seed of the turn's deterministic ids: its session, its id, its start and the number of identical turns before it. */
  readonly seed: string
  readonly ended: BoundedMap<string, EndedMark> = new BoundedMap(ENDED_MARKS_LIMIT)
  /** Names of the control hooks that blocked a tool call, by its slot. The end of the call drops the entry. */
  readonly blockers: BoundedMap<string, SafeText> = new BoundedMap(BLOCKS_LIMIT)
  /** New arguments from control hooks for tool calls that have not started, by slot. */
  readonly arguments: BoundedMap<string, AttributeList> = new BoundedMap(ARGUMENTS_LIMIT)
  /** Slots of the requests whose answers contain a tool call, by the id of the call. */
  readonly requestsOfCalls: BoundedMap<string, string> = new BoundedMap(CALLS_LIMIT)
  readonly #attempts = new BoundedMap<string, number>(REQUESTS_LIMIT)
  readonly #seeded = new BoundedMap<string, number>(SEEDS_LIMIT)

  constructor(seed: string) {
    this.seed = seed
  }

  /**
   * The attempt that a start begins, from 0: the host's number, or our own ordinal if the host repeats one. Several
   * hosts send the same id for every attempt.
   */
  nextAttempt(slot: string, reported = 0): number {
    const last = this.#attempts.get(slot)
    const attempt = last === undefined ? reported : Math.max(reported, last + 1)
    this.#attempts.set(slot, attempt)
    return attempt
  }

  /** Remembers an attempt whose start was never seen, so that later attempts get higher numbers. */
  keepAttempt(slot: string, attempt: number): void {
    this.#attempts.set(slot, Math.max(attempt, this.#attempts.get(slot) ?? 0))
  }

  /** Distinct for each span in the slot, and the same in each replay. */
  nextSeed(slot: string): string {
    const ordinal = this.#seeded.get(slot) ?? 0
    this.#seeded.set(slot, ordinal + 1)
    return `${this.seed}\u0000${slot}\u0000${ordinal}`
  }
}
