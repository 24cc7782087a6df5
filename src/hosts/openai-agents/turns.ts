import { Approvals } from './approvals.ts'
import { exitOf, failureOf } from './failure.ts'
import type { Records } from './records.ts'
import { Requests } from './requests.ts'
import { type Memory, newTurn, type SpanNode, type Trace, type Turn, type TurnParent } from './state.ts'
import { goalOf, Tools } from './tools.ts'
import { sum } from './usage.ts'

/** A turn that was silent for so long is not going on: its end was lost. */
const STALE_MILLIS = 600_000

/** How a turn came to its end. */
export interface TurnOver {
  readonly at: number
  readonly error?: unknown
  /** The host stopped telling. */
  readonly isCutOff?: boolean
}

/** Turns: one run of the host each, and one for each run of an agent inside a tool. */
export class Turns {
  readonly requests: Requests
  readonly tools: Tools
  readonly approvals: Approvals
  readonly #memory: Memory
  readonly #records: Records

  constructor(memory: Memory, records: Records) {
    this.#memory = memory
    this.#records = records
    this.requests = new Requests(records, turn => this.openLoop(turn))
    this.tools = new Tools(records, turn => this.openLoop(turn))
    this.approvals = new Approvals(records)
  }

  /** @param owner the span whose end will be the turn's */
  begin(trace: Trace, owner: SpanNode | undefined, startAt: number, parent?: TurnParent): Turn {
    trace.turns += 1
    const said = owner?.id ?? trace.id
    const id = owner?.turn?.owner === owner || owner === undefined ? `${said}:${trace.turns}` : said
    const sessionId = parent === undefined ? this.#sessionOf(trace, id, startAt) : id
    const turn = newTurn({ id, sessionId, trace, startAt, parent, owner })
    if (parent === undefined) trace.lastTurn = turn
    this.#memory.opened(turn)
    return turn
  }

  /** The root waits for the agent's name, which the host tells next. */
  open(turn: Turn): void {
    if (turn.isOpen || turn.isOver) return
    turn.isOpen = true
    const { parent } = turn
    if (parent !== undefined) {
      this.open(parent.turn)
      if (parent.tool !== undefined) this.tools.tell(parent.tool)
      this.#records.add('subagent_start', turn.startAt, {
        ...delegationIds(turn, parent),
        child_role: turn.agentName,
        child_goal: parent.tool === undefined ? turn.prompt : goalOf(parent.tool),
      })
    }
    this.#records.add('on_session_start', turn.startAt, {
      session_id: turn.sessionId,
      turn_id: turn.id,
      agent_name: turn.agentName,
    })
  }

  openLoop(turn: Turn): void {
    if (turn.isLoopOpen || turn.isOver) return
    turn.isLoopOpen = true
    this.open(turn)
    if (turn.parent === undefined) goOn(turn)
    this.#records.add('pre_llm_call', turn.startAt, {
      session_id: turn.sessionId,
      turn_id: turn.id,
      user_message: turn.prompt,
      conversation_history: turn.history,
      model: turn.model,
    })
    this.#tellDecided(turn)
  }

  end(turn: Turn, over: TurnOver): void {
    if (turn.isOver) return
    this.requests.settle(turn, undefined)
    this.requests.tellOpen(turn)
    this.tools.tellOpen(turn)
    this.open(turn)
    this.endDelegation(turn, over.at, over.error)
    const failure = failureOf(over.error)
    const isWaiting = failure === undefined && over.isCutOff !== true && (turn.asked.length > 0 || turn.isInterrupted)
    const outcome = outcomeOf(turn, over, isWaiting)
    if (turn.isLoopOpen) {
      const answer = outcome.completed === true ? turn.answer : undefined
      this.#records.add('post_llm_call', over.at, {
        session_id: turn.sessionId,
        turn_id: turn.id,
        assistant_response: answer,
        model: turn.model,
      })
    }
    this.#records.add('on_session_end', over.at, {
      session_id: turn.sessionId,
      turn_id: turn.id,
      completed: outcome.completed,
      interrupted: outcome.interrupted,
      failed: outcome.failed,
      turn_exit_reason: outcome.turn_exit_reason,
      model: turn.model,
    })
    turn.isOver = true
    this.#endChild(turn, over.at, outcome)
    if (isWaiting) this.#wait(turn, over.at)
    this.#forget(turn, isWaiting)
  }

  /** For what came after the end of its turn, and was never ended. */
  endLate(turn: Turn, at: number): void {
    if (turn.openRequests.size + turn.openTools.size === 0) return
    this.requests.tellOpen(turn)
    this.tools.tellOpen(turn)
    this.#records.add('on_session_end', Math.max(at, turn.lastAt), {
      session_id: turn.sessionId,
      turn_id: turn.id,
      interrupted: true,
    })
  }

  /** The agent that the turn was handed over to is done. */
  endDelegation(turn: Turn, at: number, error: unknown): void {
    const { delegate } = turn
    if (delegate === undefined) return
    turn.delegate = undefined
    this.#records.add('subagent_stop', at, {
      ...handoffIds(turn, delegate.id),
      child_role: delegate.name,
      child_status: failureOf(error) === undefined ? 'completed' : 'failed',
    })
  }

  /** Another agent goes on in the same turn: a delegation that lasts until that agent is done. */
  handOver(turn: Turn, id: string, name: string | undefined, at: number): void {
    if (turn.isOver) return
    this.openLoop(turn)
    this.endDelegation(turn, at, undefined)
    const startAt = turn.handoffAt ?? at
    turn.handoffAt = undefined
    turn.delegate = { id, name, startAt }
    this.#records.add('subagent_start', startAt, { ...handoffIds(turn, id), child_role: name })
  }

  #tellDecided(turn: Turn): void {
    const { decided } = turn.trace
    if (decided.length === 0 || turn.parent !== undefined) return
    turn.trace.decided = []
    for (const decision of decided) this.approvals.decided(turn, decision, turn.startAt)
  }

  #endChild(turn: Turn, at: number, outcome: Outcome): void {
    const { parent } = turn
    if (parent === undefined) return
    if (parent.tool !== undefined) {
      parent.tool.tokens = sum(parent.tool.tokens, turn.tokens)
      parent.tool.isInterrupted ||= outcome.turn_exit_reason === WAITS
      parent.turn.isInterrupted ||= outcome.turn_exit_reason === WAITS
    }
    this.#records.add('subagent_stop', at, {
      ...delegationIds(turn, parent),
      child_role: turn.agentName,
      child_summary: turn.answer,
      child_status: outcome.failed === true ? 'failed' : outcome.completed === true ? 'completed' : 'interrupted',
    })
  }

  /** With listeners the host will say which of the calls a person must approve; without, these are they. */
  #wait(turn: Turn, at: number): void {
    for (const waiting of this.approvals.wait(turn, turn.asked)) {
      if (!turn.trace.isHeard) this.approvals.ask(waiting, at, 'inferred')
    }
  }

  /** The core remembers what late records need; content must not be kept with the turn. */
  #forget(turn: Turn, isWaiting: boolean): void {
    this.#memory.closed(turn)
    if (turn.trace.stray === turn) turn.trace.stray = undefined
    turn.asked = []
    turn.history = undefined
    turn.answer = undefined
    if (!isWaiting) turn.prompt = undefined
  }

  /** Runs at once in one conversation are no interruption of each other: all but the first get a session of their own. */
  #sessionOf(trace: Trace, turnId: string, at: number): string {
    const session = trace.groupId ?? trace.id
    const open = this.#memory.openTurns.get(session)
    if (open === undefined || at - open.lastAt > STALE_MILLIS) return session
    return `${session}:${turnId}`
  }
}

const WAITS = 'approval'

interface Outcome {
  readonly completed?: true
  readonly interrupted?: true
  readonly failed?: true
  readonly turn_exit_reason?: string
}

function outcomeOf(turn: Turn, { error, isCutOff }: TurnOver, isWaiting: boolean): Outcome {
  if (isCutOff === true) return { interrupted: true, turn_exit_reason: 'cut_off' }
  if (isWaiting) return { interrupted: true, turn_exit_reason: WAITS }
  const failure = failureOf(error)
  if (failure === undefined) return { completed: true }
  const exit =
    turn.guardrail === undefined ? exitOf(failure, turn.failures > 0) : { isStopped: true, reason: 'guardrail' }
  return exit.isStopped
    ? { interrupted: true, turn_exit_reason: exit.reason }
    : { failed: true, turn_exit_reason: exit.reason }
}

/** A run that was begun in another process is about what that was about. */
function goOn(turn: Turn): void {
  const { resumed } = turn.trace
  turn.prompt ??= resumed?.prompt
  turn.model ??= resumed?.model
  turn.trace.resumed = undefined
}

function delegationIds({ sessionId }: Turn, { turn, tool }: TurnParent): object {
  return {
    parent_session_id: turn.sessionId,
    parent_turn_id: turn.id,
    child_session_id: sessionId,
    tool_call_id: tool?.callId,
  }
}

function handoffIds(turn: Turn, agentSpanId: string): object {
  return { parent_session_id: turn.sessionId, parent_turn_id: turn.id, child_subagent_id: agentSpanId }
}
