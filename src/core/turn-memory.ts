import type { SpanContext } from '@opentelemetry/api'
import type { SafeText } from '../content/capture.ts'
import type { SpanKindName } from '../contract/index.ts'
import type { AttributeList } from '../spans/attribute-list.ts'
import { BoundedMap } from './bounded-map.ts'
import type { AnyFired } from './incoming.ts'

/** What is remembered of a span that has ended: late children still find their parent, repeats are recognised. */
export interface EndedMark {
  readonly context: SpanContext
  readonly startAt: number
  readonly endAt: number
  readonly attempt: number
  /** The host ended it; false when we did, and the host's own end may still come. */
  readonly byHost: boolean
  /** It ended in an error, so a success under the same key tells of a later attempt. */
  readonly failed: boolean
  /** The end itself, where it came before its start and drew nothing: the start, should it still come, is drawn with it. */
  readonly early?: EarlyEnd | undefined
}

export interface EarlyEnd {
  readonly fired: AnyFired
  /** When the attempt before it had ended: its start is not earlier. */
  readonly after: number
}

/** Beyond this the oldest are forgotten, and a very late child goes under the root. */
const ENDED_MARKS_LIMIT = 4096
/** Requests whose attempts are numbered; beyond this the oldest are forgotten, and numbered anew. */
const REQUESTS_LIMIT = 10_000

/** Tool calls that were kept from running; beyond this the oldest no longer say by whom. */
const BLOCKS_LIMIT = 1000

/** Tool calls that answers have asked for; beyond this the oldest are found by what is open alone. */
const CALLS_LIMIT = 1000

/** Tool calls that do not run with the arguments that they were made with, and have not been told yet. */
const ARGUMENTS_LIMIT = 100

/** Spans that are counted for their ids; the oldest beyond this, should one of its key come again, gets its id again. */
const SEEDS_LIMIT = 100_000

/** The name of a span among the open and the ended ones of its turn. */
export function slot(kind: SpanKindName, key: string): string {
  return `${kind} ${key}`
}

/** What a turn remembers of its own past; a late turn goes on with it, so that nothing is drawn or numbered twice. */
export class TurnMemory {
  /** What deterministic ids of the turn are derived from: its session, its id, when it began, how many were like it. */
  readonly seed: string
  readonly #ended = new BoundedMap<string, EndedMark>(ENDED_MARKS_LIMIT)
  readonly #attempts = new BoundedMap<string, number>(REQUESTS_LIMIT)
  /** Made for the first one: few turns have any. */
  #blockers: BoundedMap<string, SafeText> | undefined
  #requestsOfCalls: BoundedMap<string, string> | undefined
  readonly #arguments = new BoundedMap<string, AttributeList>(ARGUMENTS_LIMIT)
  readonly #seeded = new BoundedMap<string, number>(SEEDS_LIMIT)

  constructor(seed: string) {
    this.seed = seed
  }

  ended(slot: string): EndedMark | undefined {
    return this.#ended.get(slot)
  }

  keepEnded(slot: string, mark: EndedMark): void {
    this.#ended.set(slot, mark)
  }

  forgetEnded(slot: string): void {
    this.#ended.delete(slot)
  }

  /** Which control hook has kept the tool call in this slot from running. */
  blocker(slot: string): SafeText | undefined {
    return this.#blockers?.get(slot)
  }

  /** The same, for its last time: the id may name another call later. */
  takeBlocker(slot: string): SafeText | undefined {
    const name = this.#blockers?.get(slot)
    this.#blockers?.delete(slot)
    return name
  }

  keepBlocker(slot: string, name: SafeText): void {
    this.#blockers ??= new BoundedMap(BLOCKS_LIMIT)
    this.#blockers.set(slot, name)
  }

  /** The slot of the request whose answer asked for a tool call. */
  requestOfCall(call: string): string | undefined {
    return this.#requestsOfCalls?.get(call)
  }

  keepRequestOfCall(call: string, request: string): void {
    this.#requestsOfCalls ??= new BoundedMap(CALLS_LIMIT)
    this.#requestsOfCalls.set(call, request)
  }

  /** What the tool call in this slot runs with, for when it is told. */
  keepArguments(slot: string, attributes: AttributeList): void {
    this.#arguments.set(slot, attributes)
  }

  takeArguments(slot: string): AttributeList | undefined {
    const attributes = this.#arguments.get(slot)
    if (attributes !== undefined) this.#arguments.delete(slot)
    return attributes
  }

  /**
   * The attempt that a start begins, from 0: the host's number, or our own ordinal where it repeats one, because several
   * hosts send the same id for every attempt.
   */
  nextAttempt(slot: string, said = 0): number {
    const last = this.#attempts.get(slot)
    const attempt = last === undefined ? said : Math.max(said, last + 1)
    this.#attempts.set(slot, attempt)
    return attempt
  }

  /** An attempt whose start was never seen: what follows is numbered on. */
  keepAttempt(slot: string, attempt: number): void {
    this.#attempts.set(slot, Math.max(attempt, this.#attempts.get(slot) ?? 0))
  }

  /** Distinct for each span under the slot, and the same in each replay. */
  nextSeed(slot: string): string {
    const ordinal = this.#seeded.get(slot) ?? 0
    this.#seeded.set(slot, ordinal + 1)
    return `${this.seed}\u0000${slot}\u0000${ordinal}`
  }
}
