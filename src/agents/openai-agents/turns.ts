import { DelegatedTask } from '../base/delegation.ts'
import type { HostTurnEnd } from '../base/records.ts'
import { addUsage } from '../base/usage.ts'
import { exitOf, failureOf } from './raw-span.ts'
import { emitOpenRequests, emitUncountedAnswer } from './requests.ts'
import {
  type AgentSpanNode,
  AgentTurn,
  addPendingApproval,
  emitApprovalRequest,
  flushToolHooks,
  type Memory,
  openLoop,
  openTurn,
  type Trace,
  type TurnParent,
} from './state.ts'
import { emitOpenTools } from './tools.ts'

/** After this time without an event, a turn is over: its end was lost. */
const STALE_MILLIS = 600_000
const APPROVAL = 'approval'

export interface AgentTurnEnd {
  readonly at: number
  readonly error?: unknown
  readonly isCutOff?: boolean
}

export function beginTurn(
  memory: Memory,
  trace: Trace,
  owner: AgentSpanNode | undefined,
  startAt: number,
  parent?: TurnParent,
): AgentTurn {
  trace.turns += 1
  const said = owner?.id ?? trace.id
  const turnId = owner?.turn?.owner === owner || owner === undefined ? `${said}:${trace.turns}` : said
  const sessionId = parent === undefined ? sessionOf(memory, trace, turnId, startAt) : turnId
  const turn = new AgentTurn(memory.records, { sessionId, turnId }, trace, startAt, parent)
  turn.owner = owner
  if (parent === undefined) trace.lastTurn = turn
  memory.openTurns.set(sessionId, turn)
  return turn
}

/** Concurrent runs in one conversation do not interrupt each other: all but the first get a session of their own. */
function sessionOf({ openTurns }: Memory, trace: Trace, turnId: string, at: number): string {
  const session = trace.groupId ?? trace.id
  const running = openTurns.get(session)
  return running === undefined || at - running.lastAt > STALE_MILLIS ? session : `${session}:${turnId}`
}

export function endTurn(memory: Memory, turn: AgentTurn, over: AgentTurnEnd): void {
  if (turn.isOver) return
  const { at, error, isCutOff } = over
  emitUncountedAnswer(turn, undefined)
  emitOpenRequests(turn)
  emitOpenTools(turn)
  flushToolHooks(turn)
  openTurn(turn)
  endDelegation(turn, at, error)
  const hasFailed = failureOf(error) !== undefined
  const isWaiting = !hasFailed && isCutOff !== true && (turn.requestedCalls.length > 0 || turn.isInterrupted)
  const end = endOf(turn, over, isWaiting)
  if (turn.isLoopOpen) turn.emitAnswer(at, end.outcome === 'completed' ? turn.answer : undefined, turn.model)
  turn.emitEnd(at, end)
  turn.isOver = true
  endTask(turn, at, end)
  if (isWaiting) addPendingApprovals(turn, at)
  if (memory.openTurns.get(turn.sessionId) === turn) memory.openTurns.delete(turn.sessionId)
  forgetContent(turn, isWaiting)
}

export function endLate(turn: AgentTurn, at: number): void {
  if (turn.openRequests.size + turn.openTools.size === 0) return
  emitOpenRequests(turn)
  emitOpenTools(turn)
  turn.emitEnd(Math.max(at, turn.lastAt), { outcome: 'interrupted' })
}

export function endDelegation(turn: AgentTurn, at: number, error: unknown): void {
  const { delegate } = turn
  turn.delegate = undefined
  delegate?.task.emitEnd(at, { status: failureOf(error) === undefined ? 'completed' : 'failed' })
}

/** Another agent continues the turn: a delegation until that agent ends. */
export function handOver(turn: AgentTurn, id: string, name: string | undefined, at: number): void {
  if (turn.isOver) return
  openLoop(turn)
  endDelegation(turn, at, undefined)
  const ids = { child_subagent_id: id, child_role: name }
  turn.delegate = { id, task: new DelegatedTask(turn, turn.handoffAt ?? at, ids) }
  turn.handoffAt = undefined
  turn.delegate.task.emitStart(undefined)
}

function endTask(turn: AgentTurn, at: number, { outcome, reason }: HostTurnEnd): void {
  const { parent } = turn
  if (parent?.tool !== undefined) {
    parent.tool.tokens = addUsage(parent.tool.tokens, turn.tokens)
    parent.tool.isInterrupted ||= reason === APPROVAL
    parent.turn.isInterrupted ||= reason === APPROVAL
  }
  turn.task?.emitEnd(at, { status: outcome, summary: turn.answer })
}

/** A traced runner reports which calls need approval. Without one, all calls left over do. */
function addPendingApprovals(turn: AgentTurn, at: number): void {
  for (const call of turn.requestedCalls) {
    const waiting = addPendingApproval(turn, call)
    if (!turn.trace.isRunnerTraced) emitApprovalRequest(waiting, at, 'inferred')
  }
}

/** The core keeps what late records need; content must not stay in memory with the turn. */
function forgetContent(turn: AgentTurn, isWaiting: boolean): void {
  if (turn.trace.stray === turn) turn.trace.stray = undefined
  turn.requestedCalls = []
  turn.history = undefined
  turn.answer = undefined
  if (!isWaiting) turn.prompt = undefined
}

function endOf(turn: AgentTurn, { error, isCutOff }: AgentTurnEnd, isWaiting: boolean): HostTurnEnd {
  const { model } = turn
  if (isCutOff === true) return { outcome: 'interrupted', reason: 'cut_off', model }
  if (isWaiting) return { outcome: 'interrupted', reason: APPROVAL, model }
  const failure = failureOf(error)
  if (failure === undefined) return { outcome: 'completed', reason: undefined, model }
  if (turn.guardrail !== undefined) return { outcome: 'interrupted', reason: 'guardrail', model }
  const { isStopped, reason } = exitOf(failure, turn.requests.failures > 0)
  return { outcome: isStopped ? 'interrupted' : 'failed', reason, model }
}
