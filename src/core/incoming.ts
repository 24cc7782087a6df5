import { idOf } from '../contract/foreign.ts'
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
}

/** A delegation is told in the parent's terms: its ids are the parent's. */
export function idsOf(hook: HookName, payload: Readonly<Record<string, unknown>>): RecordIds {
  const isDelegation = hook === 'subagent_start' || hook === 'subagent_stop'
  return {
    sessionId: (isDelegation ? idOf(payload['parent_session_id']) : undefined) ?? idOf(payload['session_id']),
    turnId: (isDelegation ? idOf(payload['parent_turn_id']) : undefined) ?? idOf(payload['turn_id']),
    taskId: idOf(payload['task_id']),
    apiRequestId: idOf(payload['api_request_id']),
    toolCallId: idOf(payload['tool_call_id']),
  }
}

/** Hosts tell of an approval by its own hooks as well; as a question to a person it would be there twice. */
export function isToldApproval({ hook, payload }: AnyFired): boolean {
  return (hook === 'on_human_input_request' || hook === 'on_human_input_resolved') && payload['kind'] === 'approval'
}
