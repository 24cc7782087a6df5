import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import { type Facts, saidAt } from './facts.ts'
import { nameOf, type Run, type Session, type Tool } from './state.ts'

const SPAWN_TOOL = 'sessions_spawn'

/**
 * `subagent_spawned`. It comes before the child's session has an id that we could know, so that session goes by its key
 * from here on: the child's turns are found by what was told here.
 *
 * @param parent the session that asked for the child
 */
export function startDelegation(parent: Session, child: Session, facts: Facts): HookRecord[] {
  const key = child.key ?? ''
  if (child.delegation?.over === false) return []
  const run = parent.run ?? recentRun(parent, facts.at)
  if (run === undefined) {
    // Somebody asked for it by hand: it is nobody's work, and the turns of its parent have nothing to do with it.
    child.parentName = nameOf(parent)
    return []
  }
  child.delegation = { childKey: key, over: false }
  const label = textOf(peek(facts.data, 'label'))
  const tool = spawningTool(parent, label)
  const record = hookRecord(
    'subagent_start',
    facts.at,
    {
      parent_session_id: run.sessionId,
      parent_turn_id: run.id,
      child_session_id: key,
      child_subagent_id: peek(facts.data, 'runId'),
      child_role: peek(facts.data, 'agentId'),
      child_goal: peek(tool?.args, 'task') ?? label,
      tool_call_id: tool?.id,
    },
    tool === undefined ? undefined : 'inferred',
  )
  return [record]
}

/** Hooks overlap: the run may be over for us while the host still tells of it. */
const OVERLAP_MILLIS = 10_000

function recentRun({ lastRun }: Session, at: number): Run | undefined {
  return lastRun !== undefined && at - lastRun.lastAt < OVERLAP_MILLIS ? lastRun : undefined
}

/** The call that asked for the child is not named: the only one that is under way, or the one with the same label. */
function spawningTool({ run }: Session, label: string | undefined): Tool | undefined {
  const open = [...(run?.openTools ?? [])].filter(tool => tool.name === SPAWN_TOOL)
  const [only, ...others] = open
  if (others.length === 0) return only
  const labelled = open.filter(tool => label !== undefined && peek(tool.args, 'label') === label)
  return labelled.length === 1 ? labelled[0] : undefined
}

/** `subagent_ended`, which says when the child was done: it is told only after the parent has heard of it. */
export function endDelegation(child: Session, { at, data }: Facts): HookRecord[] {
  const { delegation } = child
  if (delegation?.over !== false) return []
  delegation.over = true
  return [
    hookRecord('subagent_stop', saidAt(peek(data, 'endedAt'), at), {
      child_session_id: delegation.childKey,
      child_status: idOf(peek(data, 'outcome')) ?? 'unknown',
      child_summary: textOf(peek(data, 'error')),
    }),
  ]
}
