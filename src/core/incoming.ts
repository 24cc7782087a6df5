import { idOf, peek } from '../contract/foreign.ts'
import type { HookName } from '../contract/index.ts'
import type { Fired } from '../spans/span-definition.ts'

/** A record whose payload may be anything at all. */
export type AnyFired = Fired<Readonly<Record<string, unknown>>>

/** The ids of a record that can name its turn; undefined where absent, blank or no id at all. */
export interface RecordIds {
  readonly sessionId: string | undefined
  readonly turnId: string | undefined
  readonly taskId: string | undefined
  readonly apiRequestId: string | undefined
  readonly toolCallId: string | undefined
}

/** One record on its way through the core. */
export interface Incoming {
  readonly fired: AnyFired
  readonly host: string
  readonly ids: RecordIds
  /** The host said when it fired; only then can two records be known for the same. */
  readonly isExplicit: boolean
  /** As it came, so it may be anything. */
  readonly deliveryId: unknown
}

/** `0123456789abcdef-0000000a`: the process that sent a record, and its number there. */
const NUMBERED_DELIVERY = /^([0-9a-f]{16})-[0-9a-f]{8}$/

/** The process that sent a record. Undefined if its delivery id is not one of a plugin of ours. */
export function senderOf({ deliveryId }: Pick<Incoming, 'deliveryId'>): string | undefined {
  return typeof deliveryId === 'string' ? NUMBERED_DELIVERY.exec(deliveryId)?.[1] : undefined
}

/** What most records need are the first two; the others are read when somebody asks for them. */
class PayloadIds implements RecordIds {
  readonly sessionId: string | undefined
  readonly turnId: string | undefined
  readonly #payload: Readonly<Record<string, unknown>>

  /** A delegation is told in the parent's terms: its ids are the parent's. */
  constructor(hook: HookName, payload: Readonly<Record<string, unknown>>) {
    const isDelegation = hook === 'subagent_start' || hook === 'subagent_stop'
    this.sessionId = (isDelegation ? idOf(payload['parent_session_id']) : undefined) ?? idOf(payload['session_id'])
    this.turnId = (isDelegation ? idOf(payload['parent_turn_id']) : undefined) ?? idOf(payload['turn_id'])
    this.#payload = payload
  }

  get taskId(): string | undefined {
    return idOf(peek(this.#payload, 'task_id'))
  }

  get apiRequestId(): string | undefined {
    return idOf(peek(this.#payload, 'api_request_id'))
  }

  get toolCallId(): string | undefined {
    return idOf(peek(this.#payload, 'tool_call_id'))
  }
}

/** The time at which a record says that it began something: later than all else, if the host did not say when. */
export function startedAt({ isExplicit, fired }: Incoming): number {
  return isExplicit ? fired.at : Number.POSITIVE_INFINITY
}

/** The same ids, under a session that the record does not name itself. */
export function inSession(ids: RecordIds, sessionId: string): RecordIds {
  const { turnId, taskId, apiRequestId, toolCallId } = ids
  return { sessionId, turnId, taskId, apiRequestId, toolCallId }
}

export function idsOf(hook: HookName, payload: Readonly<Record<string, unknown>>): RecordIds {
  return new PayloadIds(hook, payload)
}

/** Hosts tell of an approval by its own hooks as well; as a question to a person it would be there twice. */
export function isToldApproval({ hook, payload }: AnyFired): boolean {
  return (hook === 'on_human_input_request' || hook === 'on_human_input_resolved') && payload['kind'] === 'approval'
}

/** 1973 to 2100: what is outside is no epoch in milliseconds (seconds by mistake, garbage). */
const EARLIEST = 1e11
const LATEST = 4.1e12

export function plausibleAt(at: unknown): number | undefined {
  return typeof at === 'number' && at > EARLIEST && at < LATEST ? at : undefined
}
