/**
 * The hook payloads and session file findings of Gemini CLI, read from 0.61.0 (real runs).
 *
 * Raw events in captures (`HostEvent`):
 *
 * - The name of a hook (`BeforeTool`, …): `data` is the hook's payload, `at` its own timestamp.
 * - `session:…`: findings of `receiver-adapter.ts` in the session's files. They follow the hook that triggered the read. That
 *   hook is processed after them, so that a request precedes the tools it asked for. A session file is written before the next
 *   hook fires, so the read never waits.
 *
 * All findings have `session_id`, and `agent_id` in a child agent. Times are epoch milliseconds.
 *
 * - `session:sent` {text}: input to the model, either a prompt or results of tools, which have no text.
 * - `session:answer` {id, model, content, tokens: {input, output, cached, thoughts, tool}}: a complete answer of the model. Its
 *   tool calls are written when they have run.
 * - `session:calls` {id, answered_at, calls: [{id, name, args, status, error, display, at}]}: `status` is `success`, `error` or
 *   `cancelled`. Only unsuccessful calls have an error; results of others come from the hook.
 * - `session:error` {id, message}: a request failed finally. Written in the terminal UI, not by `gemini -p`.
 * - `session:cancelled` {id}: the user has stopped the turn, or denied a tool, which stops the turn.
 * - `session:read`: the end of the findings.
 */
import { idOf, peek } from '../../contract/foreign.ts'
import {
  type EventHandlers,
  EventMachine,
  eventHandlers,
  handlersByName,
  type TimedEvent,
} from '../base/event-machine.ts'
import { SessionStates } from '../base/limited-map.ts'
import {
  childLoopFor,
  endDelegation,
  type GeminiLoop,
  GeminiSession,
  handleAgentEnd,
  handleAnswer,
  handleCalls,
  handleCancellation,
  handleNotification,
  handlePrompt,
  handleRequestError,
  handleSessionEnd,
  handleSessionStart,
  handleToolEnd,
  handleToolStart,
  turnFor,
} from './session.ts'

export const READS_FIRST: ReadonlySet<string> = new Set([
  ...['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'AfterAgent', 'SessionEnd'],
])

/**
 * Hooks that add nothing to others. `PreCompress` fires before each request, even if nothing is compressed, and `AfterModel` for
 * each chunk.
 */
const QUIET_HOOKS: readonly string[] = ['BeforeModel', 'BeforeToolSelection', 'AfterModel', 'PreCompress']

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
