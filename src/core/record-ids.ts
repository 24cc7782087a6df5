import { idOf } from '../contract/foreign.ts'
import type { HookName } from '../contract/index.ts'

/** The ids of a record that can name its turn; undefined where absent, blank or no id at all. */
export interface RecordIds {
  readonly sessionId: string | undefined
  readonly turnId: string | undefined
  readonly taskId: string | undefined
  readonly apiRequestId: string | undefined
  readonly toolCallId: string | undefined
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
