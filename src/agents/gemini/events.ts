import { idOf, peek } from '../../contract/foreign.ts'
import { type EventHandlers, EventMachine, eventHandlers, type TimedEvent } from '../base/event-machine.ts'
import type { HostMachine } from '../host-event.ts'
import { SessionStates } from '../session-states.ts'
import { delegationReturned, loopOfAgent } from './children.ts'
import { answered } from './requests.ts'
import { type Loop, Session } from './session.ts'
import { askApproval, callsFound, toolEnded, toolStarted } from './tools.ts'
import { agentDone, cancelled, prompted, requestFailed, sessionEnded, sessionStarted, turnFor } from './turns.ts'
import { QUIET_HOOKS, READS_FIRST } from './types.ts'

type Taking = (session: Session, at: number, data: unknown) => void
type Finding = (loop: Loop, at: number, data: unknown) => void

const HOOKS: Readonly<Record<string, Taking>> = {
  SessionStart: sessionStarted,
  BeforeAgent: prompted,
  BeforeTool: (session, at, data) => toolStarted(turnFor(session, at), at, data),
  AfterTool: (session, at, data) => {
    const call = toolEnded(session, at, data)
    if (call !== undefined) delegationReturned(session, call, at, peek(data, 'tool_response'))
  },
  Notification: askApproval,
  AfterAgent: agentDone,
  SessionEnd: sessionEnded,
}

const FOUND: Readonly<Record<string, Finding>> = {
  'session:sent': (loop, at) => {
    if (!loop.isOver && loop.session.isNew(`${loop.sessionId} sent ${at}`)) loop.sentAt = at
  },
  'session:answer': answered,
  'session:calls': (loop, _at, data) => callsFound(loop, data),
  'session:error': (loop, at, data) => requestFailed(loop.session, loop, at, data),
  'session:cancelled': (loop, at, data) => cancelled(loop.session, loop, at, data),
}

/** Translates the hooks and session files of Gemini CLI; only the files contain requests. */
class GeminiMachine extends EventMachine {
  readonly #sessions = new SessionStates(id => new Session(this.records, id))
  protected readonly events: EventHandlers = eventHandlers(
    {
      ...Object.fromEntries(Object.keys(HOOKS).map(name => [name, (moment: TimedEvent) => this.#hook(moment)])),
      ...Object.fromEntries(Object.keys(FOUND).map(name => [name, (moment: TimedEvent) => this.#found(moment)])),
      'session:read': ({ data }) => this.#of(data, release),
    },
    QUIET_HOOKS,
  )

  protected endSessions(): void {
    for (const session of this.#sessions.values()) {
      this.#findAgain(session, Number.POSITIVE_INFINITY)
      release(session)
    }
  }

  #of(data: unknown, take: (session: Session) => void): void {
    const id = idOf(peek(data, 'session_id'))
    if (id !== undefined) take(this.#sessions.get(id))
  }

  #hook(moment: TimedEvent): void {
    this.#of(moment.data, session => {
      release(session)
      if (READS_FIRST.has(moment.event)) session.held = moment
      session.newestAt = newestFor(moment)
      this.#findAgain(session, session.newestAt)
      if (session.held !== moment) take(session, moment)
    })
  }

  /** Processes earlier findings that are not newer than the current hook. */
  #findAgain(session: Session, until: number): void {
    for (const { event, at = until, data } of session.newer.drainUntil(until)) this.#find(session, { event, at, data })
  }

  #found(moment: TimedEvent): void {
    this.#of(moment.data, session => {
      if (!session.newer.bufferIfNewer(moment, session.newestAt)) this.#find(session, moment)
    })
  }

  #find(session: Session, { event, at, data }: TimedEvent): void {
    const agentId = idOf(peek(data, 'agent_id'))
    const loop = agentId === undefined ? session.main : loopOfAgent(session, at, agentId, data)
    // Skips findings of an earlier turn: the session was resumed, or the file is being read again.
    if (loop !== undefined && at >= loop.startAt) FOUND[event]?.(loop, at, data)
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

/** Processes the hook that was buffered until the files were read. */
function release(session: Session): void {
  const { held } = session
  session.held = undefined
  if (held !== undefined) take(session, held)
}

function take(session: Session, { event, at, data }: TimedEvent): void {
  HOOKS[event]?.(session, at, data)
}

export function createGeminiMachine(): HostMachine {
  return new GeminiMachine()
}
