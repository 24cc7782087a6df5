import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { RecordScope } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import { endLoop } from './children.ts'
import { handleRequest } from './requests.ts'
import { type ClaudeLoop, type ClaudeSession, isNotification } from './session.ts'

/** Handles a new process of the agent. A process that was killed has left its turn open. */
export function handleSessionStart(session: ClaudeSession, at: number, data: unknown, context: unknown): void {
  session.model = textOf(peek(data, 'model')) ?? session.model
  const source = peek(data, 'source')
  const { main } = session
  // A late hook belongs to the process of the current turn.
  const isSameProcess = source === 'compact' || source === 'clear' || (main !== undefined && at <= main.startAt)
  if (main !== undefined && !isSameProcess) endLoop(main, main.lastAt, { outcome: 'interrupted', reason: 'abandoned' })
  if (isSameProcess) return
  endChildren(session)
  session.callerTraceparent = textOf(peek(context, 'traceparent'))
}

export function handlePrompt(session: ClaudeSession, at: number, data: unknown): void {
  const id = idOf(peek(data, 'prompt_id'))
  // The id of a known turn: a message that joined the running turn, or a repeated hook.
  if (id !== undefined && turnOf(session, id) !== undefined) return
  const text = peek(data, 'prompt')
  const { main } = session
  // Background agents that end together share one request to the model.
  if (main?.isNotified === true && main.isUntouched && isNotification(text)) main.promptIds.add(id)
  else openTurn(session, at, id, text)
}

export function handleFoundPrompt(session: ClaudeSession, data: unknown): void {
  const promptId = idOf(peek(data, 'prompt_id'))
  const at = numberOf(peek(data, 'at'))
  if (promptId === undefined || at === undefined || turnOf(session, promptId) !== undefined) return
  openTurn(session, at, promptId, peek(data, 'prompt'))
}

export function openTurn(session: ClaudeSession, at: number, promptId: string | undefined, text?: unknown): ClaudeLoop {
  const { main } = session
  if (main !== undefined) endLoop(main, main.lastAt, { outcome: 'interrupted', reason: 'interrupted' })
  session.turns += 1
  const turnId = promptId ?? `${session.id}:${session.turns}`
  const loop = session.createLoop({ turnId, promptId }, at, text)
  session.main = loop
  const traceparent = session.callerTraceparent
  if (session.isAnnounced) loop.prompt = { at, text, traceparent }
  else loop.announceSession(traceparent)
  if (loop.model !== undefined) loop.emitPrompt()
  return loop
}

/** Returns the turn with this `prompt_id`, also after its end. */
export function turnOf({ main, previous }: ClaudeSession, promptId: string | undefined): ClaudeLoop | undefined {
  if (promptId === undefined || main?.promptIds.has(promptId) === true) return main
  return previous?.promptIds.has(promptId) === true ? previous : undefined
}

export function turnFor(session: ClaudeSession, at: number, promptId: string | undefined): ClaudeLoop {
  return turnOf(session, promptId) ?? openTurn(session, at, promptId)
}

export function handleStop(session: ClaudeSession, at: number, data: unknown): void {
  const loop = turnOf(session, idOf(peek(data, 'prompt_id')))
  if (loop !== undefined) endLoop(loop, at, { outcome: 'completed', text: peek(data, 'last_assistant_message') })
}

/** Handles `transcript:stopped`, which matters if the hook was not received. */
export function handleFoundStop(session: ClaudeSession, data: unknown): void {
  const at = numberOf(peek(data, 'at'))
  const loop = turnOf(session, idOf(peek(data, 'prompt_id')))
  if (at !== undefined && loop !== undefined && at >= loop.startAt) handleStop(session, at, data)
}

export function handleStopFailure(session: ClaudeSession, at: number, data: unknown): void {
  const loop = turnOf(session, idOf(peek(data, 'prompt_id')))
  if (loop !== undefined) endLoop(loop, at, { outcome: 'failed', reason: textOf(peek(data, 'error')) ?? 'unknown' })
}

export function handleInterruption(session: ClaudeSession, data: unknown): void {
  const id = idOf(peek(data, 'line_id'))
  const at = numberOf(peek(data, 'at'))
  const loop = turnOf(session, idOf(peek(data, 'prompt_id')))
  if (loop === undefined || id === undefined || at === undefined || at < loop.startAt || !session.isNew(id)) return
  if (peek(data, 'started_at') !== undefined) handleRequest(loop, data)
  endLoop(loop, at, { outcome: 'interrupted', reason: 'interrupted' })
}

const CLEARED = 'clear'

export function handleSessionEnd(session: ClaudeSession, at: number, data: unknown): void {
  const reason = textOf(peek(data, 'reason')) ?? 'other'
  if (session.main !== undefined) endLoop(session.main, at, { outcome: 'interrupted', reason })
  endChildren(session)
  finishCompaction(session, at)
  if (!session.isAnnounced) return
  session.isAnnounced = false
  // Other reasons end only the process: the session can be resumed, and its turns continue their numbers.
  if (reason !== CLEARED) return
  session.records.addRecord('on_session_finalize', at, {
    session_id: session.id,
    platform: session.platform,
    reason,
  })
}

/** Ends the children, whose process is gone. */
function endChildren(session: ClaudeSession): void {
  for (const child of session.children.values()) endLoop(child, child.lastAt, { outcome: 'interrupted' })
}

/** Handles `PreCompact`: the conversation is summarised by requests that no transcript contains. */
export function beginCompaction(session: ClaudeSession, at: number): void {
  if (session.compaction !== undefined) return
  session.compactions += 1
  const scope = session.main ?? new RecordScope(session.records, session.id)
  const id = `${session.id}:compaction:${session.compactions}`
  session.compaction = new ModelRequest(scope, at, { id, task: 'compression' })
  session.compaction.emitStart({ provider: session.dialect.provider })
}

export function finishCompaction(session: ClaudeSession, at: number): void {
  session.compaction?.emitAnswer(at, { provider: session.dialect.provider })
  session.compaction = undefined
}
