import { idOf, peek } from '../contract/foreign.ts'
import type { HookName } from '../contract/index.ts'
import type { HookEvent } from './spans/span-definition.ts'

/** A record whose payload is not validated. */
export type AnyHookEvent = HookEvent<Readonly<Record<string, unknown>>>

/** The ids of a record that can identify its turn; undefined if absent, blank or of another type. */
export interface RecordIds {
  readonly sessionId: string | undefined
  readonly turnId: string | undefined
  readonly taskId: string | undefined
  readonly apiRequestId: string | undefined
  readonly toolCallId: string | undefined
}

export interface ReceivedHook {
  readonly event: AnyHookEvent
  readonly host: string
  readonly ids: RecordIds
  /** The host sent the time. Only then can two records be recognised as the same. */
  readonly isExplicit: boolean
  readonly deliveryId: unknown
}

/** Process that sent a record, and its sequence number there: `0123456789abcdef-0000000a` */
const NUMBERED_DELIVERY = /^([0-9a-f]{16})-[0-9a-f]{8}$/

export function senderOf({ deliveryId }: Pick<ReceivedHook, 'deliveryId'>): string | undefined {
  return typeof deliveryId === 'string' ? NUMBERED_DELIVERY.exec(deliveryId)?.[1] : undefined
}

export function startedAt({ isExplicit, event }: ReceivedHook): number {
  return isExplicit ? event.at : Number.POSITIVE_INFINITY
}

/** Delegation records describe the parent, so their ids are the parent's. */
export function idsOf(hook: HookName, payload: Readonly<Record<string, unknown>>): RecordIds {
  const isDelegation = hook === 'subagent_start' || hook === 'subagent_stop'
  return {
    sessionId: (isDelegation ? idOf(payload['parent_session_id']) : undefined) ?? idOf(payload['session_id']),
    turnId: (isDelegation ? idOf(payload['parent_turn_id']) : undefined) ?? idOf(payload['turn_id']),
    taskId: idOf(peek(payload, 'task_id')),
    apiRequestId: idOf(peek(payload, 'api_request_id')),
    toolCallId: idOf(peek(payload, 'tool_call_id')),
  }
}

/**
 * Returns true for a human-input record about an approval. The approval hooks report it as well, and it must not appear
 * twice.
 */
export function isDuplicateApproval({ hook, payload }: AnyHookEvent): boolean {
  return (hook === 'on_human_input_request' || hook === 'on_human_input_resolved') && payload['kind'] === 'approval'
}

/** 1973 to 2100. A value outside is not epoch milliseconds, but seconds or garbage. */
const EARLIEST = 1e11
const LATEST = 4.1e12

export function plausibleAt(at: unknown): number | undefined {
  return typeof at === 'number' && at > EARLIEST && at < LATEST ? at : undefined
}
