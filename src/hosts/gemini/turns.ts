import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { Outcome } from '../base/turn.ts'
import { stopChildren } from './children.ts'
import { cutOff, failed, leaveOpen } from './requests.ts'
import { Loop, PLATFORM, PROVIDER, type Session } from './session.ts'
import { settleCalls } from './tools.ts'

/** `SessionStart`: a process of the agent begins. One that was killed has left its turn open. */
export function sessionStarted(session: Session, _at: number, data: unknown): void {
  const { main } = session
  if (main !== undefined && peek(data, 'source') === 'resume') {
    endTurn(main, main.lastAt, { outcome: 'interrupted', reason: 'abandoned' })
  }
}

/** `BeforeAgent`. */
export function prompted(session: Session, at: number, data: unknown): void {
  const { main } = session
  // The same hook, brought twice.
  if (main !== undefined && main.startAt === at) return
  if (main !== undefined) endTurn(main, main.lastAt, { outcome: 'interrupted', reason: 'interrupted' })
  openTurn(session, at, peek(data, 'prompt'))
}

/** The turn that runs; of one whose beginning was missed, the beginning is here. */
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
    loop.tell('on_session_start', at, { model: session.model, provider: PROVIDER, platform: PLATFORM })
  }
  if (loop.model !== undefined) loop.tellPrompt()
  return loop
}

/** `session:error`. */
export function requestFailed(session: Session, loop: Loop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'id'))
  if (id === undefined || loop.isOver || !session.isNew(id)) return
  failed(loop, at, textOf(peek(data, 'message')))
  if (loop === session.main) endTurn(loop, at, { outcome: 'failed', reason: 'failed' })
}

/** `session:cancelled`. */
export function cancelled(session: Session, loop: Loop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'id'))
  if (id === undefined || loop !== session.main || !session.isNew(id)) return
  endTurn(loop, at, { outcome: 'interrupted', reason: 'cancelled' })
}

/**
 * `AfterAgent`. What it says of the answer has parts of it twice: the file says it better. A hook of somebody else's may have
 * the agent go on: what it does then is a turn without a prompt.
 */
export function agentDone({ main }: Session, at: number, data: unknown): void {
  if (main === undefined) return
  endTurn(main, at, { outcome: 'completed', text: main.answer ?? peek(data, 'prompt_response') })
}

/** The session goes, and its id with it. */
const CLEARED = 'clear'

/** `SessionEnd`: it fires several times. Of a request that failed for good in `gemini -p` nothing more is told. */
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
  // Any other end is that of a process: the session can be resumed, and its turns are numbered on.
  if (session.isFinalized || (main === undefined && reason !== CLEARED)) return
  session.isFinalized = true
  session.records.add('on_session_finalize', at, { session_id: session.id, reason })
}

interface TurnOver {
  readonly outcome: Outcome
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
  loop.answered(at, text, loop.model)
  loop.over(at, { outcome, reason: reason ?? outcome, model: loop.model, platform: PLATFORM })
}
