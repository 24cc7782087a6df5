import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { TurnResult } from '../base/turn.ts'
import { stopChildren } from './children.ts'
import { cutOff, failed, leaveOpen } from './requests.ts'
import { Loop, PLATFORM, PROVIDER, type Session } from './session.ts'
import { settleCalls } from './tools.ts'

/** Handles `SessionStart`, a new process of the agent. A process that was killed has left its turn open. */
export function sessionStarted(session: Session, _at: number, data: unknown): void {
  const { main } = session
  if (main !== undefined && peek(data, 'source') === 'resume') {
    endTurn(main, main.lastAt, { outcome: 'interrupted', reason: 'abandoned' })
  }
}

/** Handles `BeforeAgent`. */
export function prompted(session: Session, at: number, data: unknown): void {
  const { main } = session
  // A repeated delivery of the same hook.
  if (main !== undefined && main.startAt === at) return
  if (main !== undefined) endTurn(main, main.lastAt, { outcome: 'interrupted', reason: 'interrupted' })
  openTurn(session, at, peek(data, 'prompt'))
}

/** Returns the running turn, and starts one if its beginning was missed. */
export function turnFor(session: Session, at: number): Loop {
  return session.main ?? openTurn(session, at, undefined)
}

function openTurn(session: Session, at: number, text: unknown): Loop {
  session.turns += 1
  const loop = new Loop(session, { sessionId: session.id, turnId: `${session.id}:${at}` }, at, text)
  session.main = loop
  session.isFinalized = false
  if (!session.isAnnounced) {
    session.isAnnounced = true
    loop.emit('on_session_start', at, { model: session.model, provider: PROVIDER, platform: PLATFORM })
  }
  if (loop.model !== undefined) loop.tellPrompt()
  return loop
}

/** Handles `session:error`. */
export function requestFailed(session: Session, loop: Loop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'id'))
  if (id === undefined || loop.isOver || !session.isNew(id)) return
  failed(loop, at, textOf(peek(data, 'message')))
  if (loop === session.main) endTurn(loop, at, { outcome: 'failed', reason: 'failed' })
}

/** Handles `session:cancelled`. */
export function cancelled(session: Session, loop: Loop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'id'))
  if (id === undefined || loop !== session.main || !session.isNew(id)) return
  endTurn(loop, at, { outcome: 'interrupted', reason: 'cancelled' })
}

/**
 * Handles `AfterAgent`. The file's answer is preferred, because the hook's text repeats parts. If a hook of another program makes
 * the agent go on, the continuation is a turn without a prompt.
 */
export function agentDone({ main }: Session, at: number, data: unknown): void {
  if (main === undefined) return
  endTurn(main, at, { outcome: 'completed', text: main.answer ?? peek(data, 'prompt_response') })
}

/** With this reason the session id is discarded. */
const CLEARED = 'clear'

/** Handles `SessionEnd`, which fires several times. In `gemini -p`, it is the last event of a request that failed finally. */
export function sessionEnded(session: Session, at: number, data: unknown): void {
  const { main } = session
  if (main !== undefined) {
    main.tellPrompt()
    leaveOpen(main, at)
    stopChildren(session, at)
    settleCalls(main, at)
    session.main = undefined
  }
  const reason = textOf(peek(data, 'reason'))
  // Other reasons end only the process: the session can be resumed, and its turns continue their numbers.
  if (session.isFinalized || (main === undefined && reason !== CLEARED)) return
  session.isFinalized = true
  session.records.addRecord('on_session_finalize', at, { session_id: session.id, reason })
}

interface TurnOver {
  readonly outcome: TurnResult
  readonly reason?: string
  readonly text?: unknown
}

function endTurn(loop: Loop, at: number, { outcome, reason, text }: TurnOver): void {
  const { session } = loop
  loop.isOver = true
  session.main = undefined
  loop.tellPrompt()
  stopChildren(session, at)
  session.uses.clear()
  cutOff(loop, at)
  settleCalls(loop, at, outcome)
  loop.emitAnswer(at, text, loop.model)
  loop.emitEnd(at, { outcome, reason: reason ?? outcome, model: loop.model, platform: PLATFORM })
}
