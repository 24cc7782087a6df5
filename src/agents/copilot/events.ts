import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import {
  type EventHandlers,
  EventMachine,
  eventHandlers,
  handlersByName,
  plausibleTime,
  type TimedEvent,
  timestampOf,
} from '../base/event-machine.ts'
import { HookedSession, type HookedTurn, type ReportedCall } from '../base/hooked-session.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { HostEvent } from '../host-event.ts'
import { SessionStates } from '../session-states.ts'
import { LINE_HANDLERS, RECORDED_HOOK_HANDLERS } from './recorded-lines.ts'
import { outcomeOf, PLATFORM, RecordedSession } from './recorded-session.ts'
import { emitSpanRequest, type RequestSpan, requestOfSpan } from './span-requests.ts'
import { CONVERSATION, FILE_READ, QUIET_HOOKS, SPAN_READ, SPAN_REQUEST, WAITING_HOOKS } from './types.ts'

const EARLY_LIMIT = 100

const FIRST_HOOKS: ReadonlySet<string> = new Set(['SessionStart', 'UserPromptSubmit'])
const BOUNDARIES: ReadonlySet<string> = new Set(['file:user.message', 'file:session.resume', 'file:session.shutdown'])
const CHILDREN_LIMIT = 10_000
const FILE = 'file:'
const LINES = Object.keys(LINE_HANDLERS).map(type => FILE + type)

class CopilotSession extends HookedSession {
  /** When the first hook fired, if it was the first of a turn. */
  since: number | undefined
  /** Requests that began after the buffered hook, in a turn that is not known yet. */
  readonly earlyRequests: RequestSpan[] = []
}

type HookHandler = (session: CopilotSession, at: number, data: unknown) => void

function ofTurn(handleHook: (turn: HookedTurn, at: number, data: unknown) => void): HookHandler {
  return (session, at, data) => handleHook(session.turnFor(at), at, data)
}

const HOOKS: Readonly<Record<string, HookHandler>> = {
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
  ErrorOccurred: ofTurn(handleError),
  Stop: ofTurn((turn, at) => turn.endTurn(at, 'completed')),
  SessionEnd: (session, at, data) => {
    emitEarlyRequests(session)
    const reason = textOf(peek(data, 'reason')) ?? 'ended'
    session.endSession(at, outcomeOf(reason), reason)
  },
}

/** The hook has a call id only if VS Code reads the same files. */
function calledIn(data: unknown): ReportedCall {
  return { id: idOf(peek(data, 'tool_use_id')), name: peek(data, 'tool_name'), args: peek(data, 'tool_input') }
}

/** Handles a failed request, the only kind that hooks report. It began after the previous hook. */
function handleError(turn: HookedTurn, at: number, data: unknown): void {
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

/**
 * Handles a request's span. Failed requests are skipped: hooks report them immediately. Exporters repeat requests whose delivery is
 * uncertain.
 */
function handleRequestSpan(session: CopilotSession, span: RequestSpan): void {
  const { bufferedHook, earlyRequests } = session
  if (span.hasFailed) return
  const turn = session.turnAt(span.startAt)
  const isEarly = bufferedHook !== undefined && (turn === undefined || span.startAt > bufferedHook.at)
  if (isEarly && earlyRequests.length < EARLY_LIMIT) earlyRequests.push(span)
  else if (turn !== undefined && (span.id === undefined || session.isNew(span.id))) emitSpanRequest(turn, span)
}

function emitEarlyRequests(session: CopilotSession): void {
  for (const span of session.earlyRequests.splice(0)) handleRequestSpan(session, span)
}

function handleBufferedHook(session: CopilotSession, { event, at, data }: TimedEvent): void {
  HOOKS[event]?.(session, at, data)
  // After the end of a turn, they stay buffered for the next one.
  if (event !== 'Stop') emitEarlyRequests(session)
}

/**
 * Translates the hooks of GitHub Copilot CLI. A session whose file is read is translated from the file, which has requests, ids,
 * exit codes and child agents. Without a file (VS Code, an older Copilot) hooks have prompts, tools and failures, and telemetry
 * has the requests.
 */
export class CopilotMachine extends EventMachine {
  /** Sessions by the id in the hook: a child agent has its own. */
  readonly #hooked = new SessionStates(id => new CopilotSession(this.records, id, PLATFORM))
  readonly #recorded = new SessionStates(id => new RecordedSession(this.records, id, this.#hooked.find(id)?.since ?? 0))
  readonly #sessionOfChild: LimitedMap<string, string> = new LimitedMap(CHILDREN_LIMIT)
  protected readonly events: EventHandlers = eventHandlers({
    ...handlersByName([...Object.keys(HOOKS), ...QUIET_HOOKS], () => moment => this.#bufferHook(moment)),
    ...handlersByName(LINES, () => moment => this.#handleLine(moment)),
    [SPAN_REQUEST]: ({ data }) => this.#handleSpan(data),
    [SPAN_READ]: ({ data }) => this.#handleReadEnd(data),
    [FILE_READ]: ({ data }) => this.#handleReadEnd(data),
  })

  override accept(event: HostEvent): readonly HookRecord[] | undefined {
    const isStray =
      event.event === SPAN_REQUEST && this.#sessionOfSpan(event.data) === undefined && !this.#isRecorded(event.data)
    return isStray ? undefined : super.accept(event)
  }

  protected endSessions(): void {
    for (const session of this.#hooked.values()) {
      this.#releaseHook(session)
      emitEarlyRequests(session)
    }
  }

  #handleReadEnd(data: unknown): void {
    const session = this.#hooked.find(idOf(peek(data, 'session_id')) ?? '')
    if (session !== undefined) this.#releaseHook(session)
  }

  #bufferHook({ event, at, data }: TimedEvent): void {
    const id = idOf(peek(data, 'session_id'))
    if (id === undefined) return
    const session = this.#hooked.get(id)
    session.noteWorkspace(data)
    this.#releaseHook(session)
    const moment = { event, at: plausibleTime(timestampOf(data), at), data }
    session.since ??= FIRST_HOOKS.has(event) ? moment.at : 0
    session.bufferedHook = moment
  }

  #releaseHook(session: CopilotSession): void {
    const bufferedHook = session.takeBufferedHook()
    if (bufferedHook === undefined) return
    const recorded = this.#recorded.find(this.#recordedSessionId(bufferedHook.data))
    if (recorded === undefined) handleBufferedHook(session, bufferedHook)
    else RECORDED_HOOK_HANDLERS[bufferedHook.event]?.(recorded, bufferedHook.at, bufferedHook.data)
  }

  #recordedSessionId(data: unknown): string {
    const agentId = idOf(peek(data, 'agent_id'))
    const known = agentId === undefined ? undefined : this.#sessionOfChild.get(agentId)
    return known ?? idOf(peek(data, agentId === undefined ? 'session_id' : 'parent_agent_id')) ?? ''
  }

  #handleLine({ event, at, data }: TimedEvent): void {
    const id = idOf(peek(data, 'session_id'))
    if (id === undefined) return
    const hooked = this.#hooked.find(id)
    // The file appeared too late: the turn continues from hooks alone.
    if (this.#recorded.find(id) === undefined && hooked?.turn?.hasEnded === false) return
    const session = this.#recorded.get(id)
    const agentId = idOf(peek(data, 'agent_id'))
    if (agentId !== undefined) this.#sessionOfChild.set(agentId, id)
    // A hook before such a line belongs to the turn before it.
    else if (BOUNDARIES.has(event) && hooked?.bufferedHook !== undefined && hooked.bufferedHook.at <= at)
      this.#releaseHook(hooked)
    const lineId = idOf(peek(data, 'line_id'))
    if (lineId === undefined || session.isNew(lineId)) LINE_HANDLERS[event.slice(FILE.length)]?.(session, at, data)
  }

  #handleSpan(data: unknown): void {
    if (this.#isRecorded(data)) return
    const span = requestOfSpan(data)
    const session = this.#sessionOfSpan(data)
    if (span === undefined || session === undefined) return
    if (!WAITING_HOOKS.has(session.bufferedHook?.event ?? '')) this.#releaseHook(session)
    handleRequestSpan(session, span)
  }

  #isRecorded(span: unknown): boolean {
    return this.#recorded.find(conversationOf(span)) !== undefined
  }

  /** Returns the session of a span. Ended sessions are excluded, because late requests would look like a turn. */
  #sessionOfSpan(span: unknown): CopilotSession | undefined {
    const session = this.#hooked.find(conversationOf(span))
    return session?.isAnnounced === true || session?.bufferedHook !== undefined ? session : undefined
  }
}

function conversationOf(span: unknown): string {
  return idOf(peek(peek(span, 'attributes'), CONVERSATION)) ?? ''
}
