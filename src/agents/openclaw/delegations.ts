import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { DelegatedTask } from '../base/delegation.ts'
import { plausibleTime } from '../base/event-machine.ts'
import type { Facts, OpenClawSession, Run, RunTool } from './state.ts'

const SPAWN_TOOL = 'sessions_spawn'
/** Hooks overlap: a run may have ended here while the host still emits its events. */
const OVERLAP_MILLIS = 10_000

/**
 * Handles `subagent_spawned`. It precedes the id of the child's session, so that session is named by its key from here on. The
 * child's turns are found by the name emitted here.
 *
 * @param parent the session that spawned the child
 */
export function startDelegation(parent: OpenClawSession, child: OpenClawSession, { at, data }: Facts): void {
  if (child.delegation?.hasEnded === false) return
  const run = parent.run ?? recentRun(parent, at)
  if (run === undefined) {
    // The user spawned it by hand: it belongs to no turn of the parent.
    child.parentName = parent.name
    return
  }
  const label = textOf(peek(data, 'label'))
  const tool = spawningTool(parent, label)
  child.delegation = new DelegatedTask(run.records, at, {
    parent_session_id: run.sessionId,
    parent_turn_id: run.turnId,
    child_session_id: child.key,
    child_subagent_id: peek(data, 'runId'),
    child_role: peek(data, 'agentId'),
    tool_call_id: tool?.id,
  })
  child.delegation.emitStart(peek(tool?.args, 'task') ?? label, tool === undefined ? undefined : 'inferred')
}

function recentRun({ lastRun }: OpenClawSession, at: number): Run | undefined {
  return lastRun !== undefined && at - lastRun.lastAt < OVERLAP_MILLIS ? lastRun : undefined
}

/** Guesses the spawning call, which the event does not name: the only open one, or the one with the same label. */
function spawningTool({ run }: OpenClawSession, label: string | undefined): RunTool | undefined {
  const open = [...(run?.openTools ?? [])].filter(tool => tool.name === SPAWN_TOOL)
  const [only, ...others] = open
  if (others.length === 0) return only
  const labelled = open.filter(tool => label !== undefined && peek(tool.args, 'label') === label)
  return labelled.length === 1 ? labelled[0] : undefined
}

/** Handles `subagent_ended`, emitted only after the parent has received the result. It contains the time of the actual end. */
export function endDelegation({ delegation }: OpenClawSession, at: number, data?: unknown): void {
  const status = idOf(peek(data, 'outcome')) ?? 'unknown'
  delegation?.emitEnd(plausibleTime(peek(data, 'endedAt'), at), { status, summary: textOf(peek(data, 'error')) })
}
