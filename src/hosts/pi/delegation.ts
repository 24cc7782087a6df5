import { peek } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import { plainText } from './messages.ts'
import type { TurnIds } from './moment.ts'
import type { ToolStatus } from './tool-end.ts'

/** Pi has no child agents of its own: the tool of its example, and of the packages made after it, goes by this name. */
const DELEGATING = 'subagent'

interface DelegatingTool {
  readonly id: string
  readonly name: unknown
  readonly args: unknown
  readonly startedAt: number
  readonly calledAt: number | undefined
}

interface DelegationEnd {
  readonly at: number
  readonly status: ToolStatus
  readonly outcome: unknown
}

/**
 * A child agent, from what its tool tells: it runs in another process, and reports there. Told when the tool has ended,
 * because a tool that was refused has delegated nothing.
 */
export function delegationOf(
  { session_id, turn_id }: TurnIds,
  tool: DelegatingTool,
  { at, status, outcome }: DelegationEnd,
): HookRecord[] {
  if (tool.name !== DELEGATING || status === 'blocked') return []
  const ids = {
    parent_session_id: session_id,
    parent_turn_id: turn_id,
    tool_call_id: tool.id,
    child_subagent_id: `${turn_id}:${tool.id}`,
    child_role: peek(tool.args, 'agent'),
  }
  const startedAt = tool.calledAt ?? tool.startedAt
  return [
    hookRecord('subagent_start', startedAt, { ...ids, child_goal: peek(tool.args, 'task') }, 'inferred'),
    hookRecord(
      'subagent_stop',
      at,
      {
        ...ids,
        child_status: status === 'ok' ? 'completed' : status,
        child_summary: plainText(peek(outcome, 'content')),
      },
      'inferred',
    ),
  ]
}
