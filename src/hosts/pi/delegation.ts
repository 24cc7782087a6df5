import { peek } from '../../contract/foreign.ts'
import { Delegation } from '../base/delegation.ts'
import { plainText } from '../base/messages.ts'
import type { Tool } from '../base/tool.ts'
import type { ToolStatus } from './tool-end.ts'

/** Pi has no child agents of its own: the tool of its example, and of the packages made after it, goes by this name. */
const DELEGATING = 'subagent'

/**
 * A child agent, from what its tool tells: it runs in another process, and reports there. Told when the tool has ended,
 * because a tool that was refused has delegated nothing.
 *
 * @param startAt when the tool began to run
 */
export function tellDelegation(tool: Tool, startAt: number, at: number, status: ToolStatus, outcome: unknown): void {
  if (tool.name !== DELEGATING || status === 'blocked') return
  const { turn, args } = tool
  const delegation = new Delegation(turn.records, startAt, {
    parent_session_id: turn.sessionId,
    parent_turn_id: turn.turnId,
    tool_call_id: tool.id,
    child_subagent_id: `${turn.turnId}:${tool.id}`,
    child_role: peek(args, 'agent'),
  })
  delegation.tellStart(peek(args, 'task'), 'inferred')
  const summary = plainText(peek(outcome, 'content'))
  delegation.tellEnd(at, { status: status === 'ok' ? 'completed' : status, summary }, 'inferred')
}
