import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import {
  type EventHandlers,
  EventMachine,
  eventHandlers,
  plausibleTime,
  type TimedEvent,
} from '../base/event-machine.ts'
import { HookedSession, type HookedTurn, type ReportedCall } from '../base/hooked-session.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { TurnResult } from '../base/turn.ts'
import type { HostEvent, HostMachine } from '../host-event.ts'
import { SessionStates } from '../session-states.ts'
import { LINES, RECORDED_HOOKS } from './recorded-lines.ts'
import { RecordedSession } from './recorded-session.ts'
import { type RequestSpan, requestIn, tellRequest } from './requests.ts'
import { CONVERSATION, FILE_READ, QUIET_HOOKS, SPAN_READ, SPAN_REQUEST, WAITING_HOOKS } from './types.ts'

const PLATFORM = 'copilot'
const SPANS_LIMIT = 1000
const EARLY_LIMIT = 100

/** Hooks that fire first in a turn. */
const FIRST_HOOKS: ReadonlySet<string> = new Set(['SessionStart', 'UserPromptSubmit'])
/** Lines that begin or end a turn of the session. */
const BOUNDARIES: ReadonlySet<string> = new Set(['file:user.message', 'file:session.resume', 'file:session.shutdown'])
const CHILDREN_LIMIT = 10_000

class CopilotSession extends HookedSession {
  /** A hook that is processed after the session file, or the turn's spans, have been read. */
  held: TimedEvent | undefined
  /** When the first hook fired, if it was the first of a turn. */
  since: number | undefined
  /** Requests that began after the buffered hook, in a turn that is not known yet. */
  readonly early: RequestSpan[] = []
  /** Ids of emitted requests: exporters repeat requests whose delivery is uncertain. */
  readonly told: LimitedMap<string, true> = new LimitedMap(SPANS_LIMIT)
}

type Taking = (session: CopilotSession, at: number, data: unknown) => void

function ofTurn(take: (turn: HookedTurn, at: number, data: unknown) => void): Taking {
  return (session, at, data) => take(session.turnFor(at), at, data)
}

const OUTCOMES: Readonly<Record<string, TurnResult>> = { complete: 'completed', error: 'failed', timeout: 'failed' }

const HOOKS: Readonly<Record<string, Taking>> = {
  SessionStart: () => undefined,
  UserPromptSubmit: (session, at, data) => session.startTurn(at, peek(data, 'prompt')),
  PreToolUse: ofTurn((turn, at, data) => turn.startTool(at, calledIn(data))),
  PostToolUse: ofTurn((turn, at, data) => {
    const result = peek(peek(data, 'tool_result'), 'text_result_for_llm')
    turn.endTool(at, calledIn(data), { status: 'completed', result })
  }),
  PostToolUseFailure: ofTurn((turn, at, data) => {
    turn.endTool(at, calledIn(data), { status: 'error', message: textOf(peek(data, 'error')) })
  }),
  ErrorOccurred: ofTurn(failed),
  Stop: ofTurn((turn, at) => turn.endTurn(at, 'completed')),
  SessionEnd: (session, at, data) => {
    tellEarly(session)
    const reason = textOf(peek(data, 'reason')) ?? 'ended'
    session.endSession(at, (Object.hasOwn(OUTCOMES, reason) ? OUTCOMES[reason] : undefined) ?? 'interrupted', reason)
  },
}

/** The hook has a call id only if VS Code reads the same files. */
function calledIn(data: unknown): ReportedCall {
  return { id: idOf(peek(data, 'tool_use_id')), name: peek(data, 'tool_name'), args: peek(data, 'tool_input') }
}

/** Handles a failed request, the only kind that hooks report. It began after the previous hook. */
function failed(turn: HookedTurn, at: number, data: unknown): void {
  if (peek(data, 'error_context') !== 'model_call') return
  const error = peek(data, 'error')
  const type = textOf(peek(error, 'name'))
  const retryable = peek(data, 'recoverable') === true
  turn.emitPrompt()
  const request = turn.requests.nextRequest(turn.previousAt)
  turn.requests.failures += 1
  request.emitStart({ model: turn.model }, 'inferred')
  request.emitFailure(at, { retryable, reason: type, error: { type, message: peek(error, 'message') } })
}

/** Handles a request's span. Failed requests are skipped: hooks report them immediately. */
function requestFound(session: CopilotSession, span: RequestSpan): void {
  const { held, early, told } = session
  if (span.hasFailed || (span.id !== undefined && told.has(span.id))) return
  const turn = session.turnAt(span.startAt)
  const isEarly = held !== undefined && (turn === undefined || span.startAt > held.at)
  if (isEarly && early.length < EARLY_LIMIT) early.push(span)
  else if (turn !== undefined) {
    if (span.id !== undefined) told.set(span.id, true)
    tellRequest(turn, span)
  }
}

function tellEarly(session: CopilotSession): void {
  for (const span of session.early.splice(0)) requestFound(session, span)
}

function take(session: CopilotSession, { event, at, data }: TimedEvent): void {
  HOOKS[event]?.(session, at, data)
  // After the end of a turn, they stay buffered for the next one.
  if (event !== 'Stop') tellEarly(session)
}

/**
 * Translates the hooks of GitHub Copilot CLI. A session whose file is read is translated from the file, which has requests, ids,
 * exit codes and child agents. Without a file (VS Code, an older Copilot) hooks have prompts, tools and failures, and telemetry
 * has the requests.
 */
class CopilotMachine extends EventMachine {
  /** Sessions by the id in the hook: a child agent has its own. */
  readonly #hooked = new SessionStates(id => new CopilotSession(this.records, id, PLATFORM))
  readonly #recorded = new SessionStates(id => new RecordedSession(this.records, id, this.#hooked.find(id)?.since ?? 0))
  /** The session whose file contains a child agent, by agent id. */
  readonly #sessionOfChild: LimitedMap<string, string> = new LimitedMap(CHILDREN_LIMIT)
  protected readonly events: EventHandlers = eventHandlers({
    ...Object.fromEntries(
      [...Object.keys(HOOKS), ...QUIET_HOOKS].map(name => [name, (moment: TimedEvent) => this.#hook(moment)]),
    ),
    ...Object.fromEntries(
      Object.entries(LINES).map(([type, read]) => [`file:${type}`, (moment: TimedEvent) => this.#line(moment, read)]),
    ),
    [SPAN_REQUEST]: ({ data }) => this.#span(data),
    [SPAN_READ]: ({ data }) => this.#read(data),
    [FILE_READ]: ({ data }) => this.#read(data),
  })

  /** A request of a session without hooks is counted as ignored. */
  override accept(event: HostEvent): readonly HookRecord[] | undefined {
    const isStray =
      event.event === SPAN_REQUEST && this.#ofSpan(event.data) === undefined && !this.#isRecorded(event.data)
    return isStray ? undefined : super.accept(event)
  }

  protected endSessions(): void {
    for (const session of this.#hooked.values()) {
      this.#release(session)
      tellEarly(session)
    }
  }

  #read(data: unknown): void {
    const session = this.#hooked.find(idOf(peek(data, 'session_id')) ?? '')
    if (session !== undefined) this.#release(session)
  }

  #hook({ event, at, data }: TimedEvent): void {
    const id = idOf(peek(data, 'session_id'))
    if (id === undefined) return
    const session = this.#hooked.get(id)
    this.#release(session)
    const moment = { event, at: plausibleTime(timeOf(peek(data, 'timestamp')), at), data }
    session.since ??= FIRST_HOOKS.has(event) ? moment.at : 0
    session.held = moment
  }

  #release(session: CopilotSession): void {
    const { held } = session
    session.held = undefined
    if (held === undefined) return
    const recorded = this.#recorded.find(this.#fileOf(held.data))
    if (recorded === undefined) take(session, held)
    else RECORDED_HOOKS[held.event]?.(recorded, held.at, held.data)
  }

  /** Returns the session whose file covers a hook. */
  #fileOf(data: unknown): string {
    const agentId = idOf(peek(data, 'agent_id'))
    const known = agentId === undefined ? undefined : this.#sessionOfChild.get(agentId)
    return known ?? idOf(peek(data, agentId === undefined ? 'session_id' : 'parent_agent_id')) ?? ''
  }

  #line({ event, at, data }: TimedEvent, read: (session: RecordedSession, at: number, data: unknown) => void): void {
    const id = idOf(peek(data, 'session_id'))
    if (id === undefined) return
    const hooked = this.#hooked.find(id)
    // The file appeared too late: the turn continues from hooks alone.
    if (this.#recorded.find(id) === undefined && hooked?.turn?.hasEnded === false) return
    const session = this.#recorded.get(id)
    const agentId = idOf(peek(data, 'agent_id'))
    if (agentId !== undefined) this.#sessionOfChild.set(agentId, id)
    // A hook before such a line belongs to the turn before it.
    else if (BOUNDARIES.has(event) && hooked?.held !== undefined && hooked.held.at <= at) this.#release(hooked)
    if (session.isNew(idOf(peek(data, 'line_id')))) read(session, at, data)
  }

  #span(data: unknown): void {
    if (this.#isRecorded(data)) return
    const span = requestIn(data)
    const session = this.#ofSpan(data)
    if (span === undefined || session === undefined) return
    if (!WAITING_HOOKS.has(session.held?.event ?? '')) this.#release(session)
    requestFound(session, span)
  }

  #isRecorded(span: unknown): boolean {
    return this.#recorded.find(conversationOf(span)) !== undefined
  }

  /** Returns the session of a span. Ended sessions are excluded, because late requests would look like a turn. */
  #ofSpan(span: unknown): CopilotSession | undefined {
    const session = this.#hooked.find(conversationOf(span))
    return session?.isOpen === true || session?.held !== undefined ? session : undefined
  }
}

function conversationOf(span: unknown): string {
  return idOf(peek(peek(span, 'attributes'), CONVERSATION)) ?? ''
}

/** Parses ISO 8601. */
function timeOf(timestamp: unknown): number | undefined {
  const time = Date.parse(textOf(timestamp) ?? '')
  return Number.isNaN(time) ? undefined : time
}

export function createCopilotMachine(): HostMachine {
  return new CopilotMachine()
}
