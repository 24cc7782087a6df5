import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { endLoop, interruptChildren } from './children.ts'
import { emitFailedRequest, startUnansweredRequest } from './requests.ts'
import { GeminiLoop, type GeminiSession } from './session.ts'
import { settleCalls } from './tools.ts'

/** Handles `SessionStart`, a new process of the agent. A process that was killed has left its turn open. */
export function handleSessionStart(session: GeminiSession, _at: number, data: unknown): void {
  const { main } = session
  if (main !== undefined && peek(data, 'source') === 'resume') {
    endLoop(main, main.lastAt, { outcome: 'interrupted', reason: 'abandoned' })
  }
}

export function handlePrompt(session: GeminiSession, at: number, data: unknown): void {
  const { main } = session
  // A repeated delivery of the same hook.
  if (main !== undefined && main.startAt === at) return
  if (main !== undefined) endLoop(main, main.lastAt, { outcome: 'interrupted', reason: 'interrupted' })
  openTurn(session, at, peek(data, 'prompt'))
}

export function turnFor(session: GeminiSession, at: number): GeminiLoop {
  return session.main ?? openTurn(session, at, undefined)
}

function openTurn(session: GeminiSession, at: number, text: unknown): GeminiLoop {
  const loop = new GeminiLoop(session, { turnId: `${session.id}:${at}` }, at, text)
  session.main = loop
  session.isFinalized = false
  loop.announceSession()
  if (loop.model !== undefined) loop.emitPrompt()
  return loop
}

export function handleRequestError(loop: GeminiLoop, at: number, data: unknown): void {
  const { session } = loop
  const id = idOf(peek(data, 'id'))
  if (id === undefined || loop.hasEnded || !session.isNew(id)) return
  emitFailedRequest(loop, at, textOf(peek(data, 'message')))
  if (loop === session.main) endLoop(loop, at, { outcome: 'failed', reason: 'failed' })
}

export function handleCancellation(loop: GeminiLoop, at: number, data: unknown): void {
  const { session } = loop
  const id = idOf(peek(data, 'id'))
  if (id === undefined || loop !== session.main || !session.isNew(id)) return
  endLoop(loop, at, { outcome: 'interrupted', reason: 'cancelled' })
}

/**
 * Handles `AfterAgent`. The file's answer is preferred, because the hook's text repeats parts. If a hook of another program makes
 * the agent go on, the continuation is a turn without a prompt.
 */
export function handleAgentEnd({ main }: GeminiSession, at: number, data: unknown): void {
  if (main !== undefined)
    endLoop(main, at, { outcome: 'completed', text: main.answer ?? peek(data, 'prompt_response') })
}

/** With this reason the session id is discarded. */
const CLEAR_REASON = 'clear'

/** Handles `SessionEnd`, which fires several times. In `gemini -p`, it is the last event of a request that failed finally. */
export function handleSessionEnd(session: GeminiSession, at: number, data: unknown): void {
  const { main } = session
  if (main !== undefined) {
    main.emitPrompt()
    startUnansweredRequest(main, at)
    interruptChildren(session, at)
    settleCalls(main, at)
    session.main = undefined
  }
  const reason = textOf(peek(data, 'reason'))
  // Other reasons end only the process: the session can be resumed, and its turns continue their numbers.
  if (session.isFinalized || (main === undefined && reason !== CLEAR_REASON)) return
  session.isFinalized = true
  session.records.addRecord('on_session_finalize', at, { session_id: session.id, reason })
}
