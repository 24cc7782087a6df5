import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { TurnResult } from '../base/turn.ts'
import { settleCalls } from './calls.ts'
import { openChild } from './children.ts'
import { settleRequest } from './requests.ts'
import { Loop, PLATFORM, type Session } from './session.ts'

export interface Whose {
  readonly agentId: string | undefined
  readonly turnId: string
}

/** Undefined for an event outside a turn, for example the end of a session. */
export function whoseOf(data: unknown): Whose | undefined {
  const turnId = idOf(peek(data, 'turn_id'))
  return turnId === undefined ? undefined : { agentId: idOf(peek(data, 'agent_id')), turnId }
}

/** Returns the turn of a hook, and starts it if it is unknown. */
export function loopFor(session: Session, at: number, whose: Whose, data: unknown): Loop {
  const known = session.loop(whose.agentId, whose.turnId)
  if (known !== undefined) return known
  const loop = new Loop(session, whose.agentId, whose.turnId, at)
  loop.model = textOf(peek(data, 'model')) ?? loop.model
  session.add(loop)
  if (whose.agentId === undefined) openTurn(session, loop)
  else openChild(session, whose.agentId, loop, data)
  return loop
}

function openTurn(session: Session, loop: Loop): void {
  const { main } = session
  if (main !== undefined) endLoop(main, main.lastAt, { outcome: 'interrupted', reason: 'interrupted' })
  session.main = loop
  if (session.isAnnounced) return
  session.isAnnounced = true
  loop.emit('on_session_start', loop.startAt, { model: loop.model, platform: PLATFORM })
}

/** Handles `UserPromptSubmit`. For a running turn, it is a message that joined the turn. */
export function prompted(loop: Loop, at: number, data: unknown): void {
  if (loop.prompt === undefined) return
  loop.prompt = { at: Math.max(loop.startAt, at), text: peek(data, 'prompt') }
  loop.tellPrompt()
}

/** Handles `SessionStart`, a new process of the agent. A process that was killed has left its turn open. */
export function sessionStarted(session: Session, data: unknown): void {
  session.model = textOf(peek(data, 'model')) ?? session.model
  const source = peek(data, 'source')
  const isSameProcess = source === 'compact' || source === 'clear'
  if (!isSameProcess) endAll(session, 'abandoned')
}

/** Handles `SessionEnd`: the process exits. The session may be resumed, so it is not finalized: its turn numbers continue. */
export function sessionEnded(session: Session, at: number, data: unknown): void {
  endAll(session, textOf(peek(data, 'reason')) ?? 'other', at)
}

/** @param at if undefined, each turn ends at its last event */
function endAll({ loops, tasks }: Session, reason: string, at?: number): void {
  for (const loop of loops.values()) endLoop(loop, at ?? loop.lastAt, { outcome: 'interrupted', reason })
  for (const task of tasks.values()) task.emitEnd(at ?? task.startAt, { status: 'interrupted' })
  tasks.clear()
}

interface LoopEnd {
  readonly outcome: TurnResult
  readonly reason?: string | undefined
  readonly text?: unknown
}

/** Handles `Stop` and `SubagentStop`. */
export function stopped(loop: Loop, at: number, data: unknown): void {
  endLoop(loop, at, { outcome: 'completed', text: peek(data, 'last_assistant_message') })
}

/** Handles `Interrupt`. */
export function interrupted(loop: Loop, at: number): void {
  endLoop(loop, at, { outcome: 'interrupted', reason: 'interrupted' })
}

/** Handles `rollout:over`. */
export function over(loop: Loop, data: unknown): void {
  const at = numberOf(peek(data, 'at'))
  const said = peek(data, 'outcome')
  const outcome = said === 'failed' || said === 'interrupted' ? said : 'completed'
  // An end before the turn's start comes from a file that is being read again.
  if (at === undefined || at < loop.startAt) return
  endLoop(loop, at, { outcome, reason: textOf(peek(data, 'reason')), text: peek(data, 'text') })
}

function endLoop(loop: Loop, at: number, { outcome, reason, text }: LoopEnd): void {
  if (loop.isOver) return
  loop.isOver = true
  const { session, model } = loop
  if (session.main === loop) session.main = undefined
  loop.tellPrompt()
  settleRequest(loop, at)
  settleCalls(loop, at)
  loop.emitAnswer(at, text, model)
  loop.emitEnd(at, { outcome, reason: reason ?? outcome, model, platform: PLATFORM })
  loop.task?.emitEnd(at, { status: outcome, summary: text })
}
