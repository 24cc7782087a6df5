import { idOf, peek } from '../../contract/foreign.ts'
import {
  type EventHandlers,
  EventMachine,
  eventHandlers,
  handlersByName,
  type TimedEvent,
} from '../base/event-machine.ts'
import { SessionStates } from '../session-states.ts'
import { childLoopFor, endDelegation } from './children.ts'
import { handleAnswer } from './requests.ts'
import { type GeminiLoop, GeminiSession } from './session.ts'
import { handleCalls, handleNotification, handleToolEnd, handleToolStart } from './tools.ts'
import {
  handleAgentEnd,
  handleCancellation,
  handlePrompt,
  handleRequestError,
  handleSessionEnd,
  handleSessionStart,
  turnFor,
} from './turns.ts'
import { QUIET_HOOKS, READS_FIRST } from './types.ts'

type HookHandler = (session: GeminiSession, at: number, data: unknown) => void
type FindingHandler = (loop: GeminiLoop, at: number, data: unknown) => void

const HOOKS: Readonly<Record<string, HookHandler>> = {
  SessionStart: handleSessionStart,
  BeforeAgent: handlePrompt,
  BeforeTool: (session, at, data) => handleToolStart(turnFor(session, at), at, data),
  AfterTool: (session, at, data) => {
    const call = handleToolEnd(session, at, data)
    if (call !== undefined) endDelegation(session, call, at, peek(data, 'tool_response'))
  },
  Notification: handleNotification,
  AfterAgent: handleAgentEnd,
  SessionEnd: handleSessionEnd,
}

const FINDINGS: Readonly<Record<string, FindingHandler>> = {
  'session:sent': (loop, at) => {
    if (!loop.hasEnded && loop.session.isNew(`${loop.sessionId} sent ${at}`)) loop.sentAt = at
  },
  'session:answer': handleAnswer,
  'session:calls': (loop, _at, data) => handleCalls(loop, data),
  'session:error': handleRequestError,
  'session:cancelled': handleCancellation,
}

/** Translates the hooks and session files of Gemini CLI; only the files contain requests. */
export class GeminiMachine extends EventMachine {
  readonly #sessions = new SessionStates(id => new GeminiSession(this.records, id))
  protected readonly events: EventHandlers = eventHandlers(
    {
      ...handlersByName(Object.keys(HOOKS), () => moment => this.#handleHook(moment)),
      ...handlersByName(Object.keys(FINDINGS), () => moment => this.#handleFinding(moment)),
      'session:read': ({ data }) => this.#withSession(data, releaseHook),
    },
    QUIET_HOOKS,
  )

  protected endSessions(): void {
    for (const session of this.#sessions.values()) {
      this.#processBuffered(session, Number.POSITIVE_INFINITY)
      releaseHook(session)
    }
  }

  #withSession(data: unknown, useSession: (session: GeminiSession) => void): void {
    const id = idOf(peek(data, 'session_id'))
    if (id !== undefined) useSession(this.#sessions.get(id))
  }

  #handleHook(moment: TimedEvent): void {
    this.#withSession(moment.data, session => {
      session.noteWorkspace(moment.data)
      releaseHook(session)
      if (READS_FIRST.has(moment.event)) session.bufferedHook = moment
      session.newestAt = newestFor(moment)
      this.#processBuffered(session, session.newestAt)
      if (session.bufferedHook !== moment) handleHook(session, moment)
    })
  }

  #processBuffered(session: GeminiSession, until: number): void {
    for (const { event, at = until, data } of session.newer.drainUntil(until))
      this.#processFinding(session, { event, at, data })
  }

  #handleFinding(moment: TimedEvent): void {
    this.#withSession(moment.data, session => {
      if (!session.newer.bufferIfNewer(moment, session.newestAt)) this.#processFinding(session, moment)
    })
  }

  #processFinding(session: GeminiSession, { event, at, data }: TimedEvent): void {
    const agentId = idOf(peek(data, 'agent_id'))
    const loop = agentId === undefined ? session.main : childLoopFor(session, at, agentId, data)
    // Skips findings of an earlier turn: the session was resumed, or the file is being read again.
    if (loop !== undefined && at >= loop.startAt) FINDINGS[event]?.(loop, at, data)
  }
}

/**
 * Returns the latest time of findings for a hook. A turn's own prompt is sent after `BeforeAgent`, and no hook follows
 * `SessionEnd`.
 */
function newestFor({ event, at }: TimedEvent): number {
  if (event === 'SessionEnd') return Number.POSITIVE_INFINITY
  return event === 'BeforeAgent' ? at - 1 : at
}

function releaseHook(session: GeminiSession): void {
  const hook = session.takeBufferedHook()
  if (hook !== undefined) handleHook(session, hook)
}

function handleHook(session: GeminiSession, { event, at, data }: TimedEvent): void {
  HOOKS[event]?.(session, at, data)
}
