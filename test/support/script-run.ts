import type { AgentScript, SessionScript } from './agent-script.ts'
import type { ExpectedSpan } from './expected-span.ts'
import { START_AT } from './feed.ts'
import { type Beside, type Fed, Lane, type LaneHost, NOTHING_FED, type Step, type Telling } from './script-lane.ts'
import { type Delegate, TurnTelling } from './script-turn.ts'

export type { Fed, Step } from './script-lane.ts'

export interface ScriptRun {
  /** Per session, each in the order of its times. A child's come after its parent's. */
  readonly lanes: readonly (readonly Step[])[]
  /** The traces that must come out when everything arrives. */
  readonly traces: readonly ExpectedSpan[]
  readonly fed: Fed
  readonly beside: Beside
}

/** A script as the records of its sessions, and what must come of them. */
export function runScript(script: AgentScript): ScriptRun {
  const telling: Telling = { lanes: [], traces: [], fed: { ...NOTHING_FED }, beside: { undrawn: 0, background: 0 } }
  script.sessions.forEach((session, index) => {
    const lane = new Lane(telling, `s${index + 1}`, START_AT + index, hostOf(session))
    tellSession(telling, lane, session, { roots: telling.traces })
  })
  return telling
}

/** Turns without ids are told apart by time: where there is neither, nobody could. */
function hostOf({ namesTurns, clock, pace }: SessionScript): LaneHost {
  return { namesTurns, clock: !namesTurns && clock === 'stands still' ? 'ticks' : clock, pace }
}

interface Home {
  /** Where the roots of its turns go: traces of their own, or below a delegation. */
  readonly roots: ExpectedSpan[]
  /** Of a child agent. */
  readonly parentSessionId?: string
}

/** Tells one session, and through its delegations all that descend from it. */
function tellSession(telling: Telling, lane: Lane, script: SessionScript, { roots, parentSessionId }: Home): void {
  const parent = parentSessionId === undefined ? {} : { parent_session_id: parentSessionId }
  const delegate = delegating(telling)
  let silent: TurnTelling | undefined
  let background: (() => void) | undefined
  script.turns.forEach((turnScript, index) => {
    const id = `${lane.name}.t${index + 1}`
    // A child under another session id could not be told for one, so its id rotates in its last turn only.
    const mayRotate = parentSessionId === undefined || index === script.turns.length - 1
    const turn = new TurnTelling(lane, { id, script: turnScript, telling, mayRotate, delegate })
    telling.fed.turns += 1
    roots.push(turn.root)
    if (script.starts === 'every turn' || (script.starts === 'once' && index === 0)) {
      const named = script.startNamesTurn && script.namesTurns ? { turn_id: id } : {}
      lane.emit('on_session_start', { session_id: lane.sessionId, model: 'm', platform: 'cli', ...named })
    }
    turn.beforeLoop()
    silent?.interrupted()
    turn.loop(parent)
    background?.()
    turn.end()
    silent = turn.isSilent ? turn : undefined
    // Of a child's session it would look like more work of the child.
    background = parentSessionId === undefined ? turn.background(roots) : undefined
  })
  background?.()
  silent?.shutDown()
}

function delegating(telling: Telling): Delegate {
  return (turn, { mode, session }, call, tool) => {
    const { lane, id } = turn
    lane.children += 1
    const name = `${lane.name}.c${lane.children}`
    const span = turn.below(tool, 'subagent.leaf', { child: name, status: 'OK' })
    const ids = {
      parent_session_id: lane.sessionId,
      ...(lane.namesTurns ? { parent_turn_id: id } : {}),
      child_session_id: name,
      child_subagent_id: `a-${name}`,
      child_role: 'leaf',
      tool_call_id: call,
    }
    const start = lane.emit('subagent_start', { ...ids, child_goal: 'help' })
    const childLane = new Lane(telling, name, lane.at, hostOf(session), start)
    const isWaitedFor = mode === 'waited for'
    const script = isWaitedFor ? session : { ...session, turns: session.turns.slice(0, 1) }
    tellSession(telling, childLane, script, { roots: span.children, parentSessionId: lane.sessionId })
    telling.fed.subagents += 1
    const stop = { ...ids, child_status: 'ok' }
    if (isWaitedFor) return () => void lane.emit('subagent_stop', stop, { after: childLane.last })
    childLane.emit('subagent_stop', stop, { glued: true })
    return () => undefined
  }
}
