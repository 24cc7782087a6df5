import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { Delegation } from '../base/delegation.ts'
import { saidAt } from '../base/event-machine.ts'
import type { Facts } from './facts.ts'
import type { Run, RunTool, Session } from './state.ts'

const SPAWN_TOOL = 'sessions_spawn'
/** Hooks overlap: the run may be over for us while the host still tells of it. */
const OVERLAP_MILLIS = 10_000

/**
 * `subagent_spawned`. It comes before the child's session has an id that we could know, so that session goes by its key
 * from here on: the child's turns are found by what was told here.
 *
 * @param parent the session that asked for the child
 */
export function startDelegation(parent: Session, child: Session, { at, data }: Facts): void {
  if (child.delegation?.isOver === false) return
  const run = parent.run ?? recentRun(parent, at)
  if (run === undefined) {
    // Somebody asked for it by hand: it is nobody's work, and the turns of its parent have nothing to do with it.
    child.parentName = parent.name
    return
  }
  const label = textOf(peek(data, 'label'))
  const tool = spawningTool(parent, label)
  child.delegation = new Delegation(run.records, at, {
    parent_session_id: run.sessionId,
    parent_turn_id: run.turnId,
    child_session_id: child.key,
    child_subagent_id: peek(data, 'runId'),
    child_role: peek(data, 'agentId'),
    tool_call_id: tool?.id,
  })
  child.delegation.tellStart(peek(tool?.args, 'task') ?? label, tool === undefined ? undefined : 'inferred')
}

function recentRun({ lastRun }: Session, at: number): Run | undefined {
  return lastRun !== undefined && at - lastRun.lastAt < OVERLAP_MILLIS ? lastRun : undefined
}

/** The call that asked for the child is not named: the only one that is under way, or the one with the same label. */
function spawningTool({ run }: Session, label: string | undefined): RunTool | undefined {
  const open = [...(run?.openTools ?? [])].filter(tool => tool.name === SPAWN_TOOL)
  const [only, ...others] = open
  if (others.length === 0) return only
  const labelled = open.filter(tool => label !== undefined && peek(tool.args, 'label') === label)
  return labelled.length === 1 ? labelled[0] : undefined
}

/** `subagent_ended`, which says when the child was done: it is told only after the parent has heard of it. */
export function endDelegation({ delegation }: Session, at: number, data?: unknown): void {
  const status = idOf(peek(data, 'outcome')) ?? 'unknown'
  delegation?.tellEnd(saidAt(peek(data, 'endedAt'), at), { status, summary: textOf(peek(data, 'error')) })
}
