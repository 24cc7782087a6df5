/**
 * Input from GitHub Copilot CLI, read from 1.0.102 (real runs). Telemetry spans and hooks without a session file follow its
 * documentation (docs.github.com, "GitHub Copilot hooks reference" and "OpenTelemetry monitoring", read in November 2026).
 *
 * Raw events in captures (`HostEvent`):
 *
 * - The name of a hook (`PreToolUse`, …): `data` is the hook's input. The spelling in the configuration decides its shape:
 *   `PreToolUse` sends its own name and `session_id`; `preToolUse` sends neither and is ignored. `SubagentStart` and
 *   `PermissionRequest` send `sessionId` and no name in either spelling. Hooks of a child agent have `agent_id`, and that id as
 *   their `session_id`.
 * - `file:…`: a line of `session-state/<session>/events.jsonl`, by the line's type. One file holds a session and its child
 *   agents.
 * - `file:read`: the file has been read for the preceding hook, which is processed then.
 * - `span:…`: telemetry. Ignored for a session whose file has been read: it has the same requests.
 */

import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
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
import type { FindingOwner } from '../base/findings.ts'
import { HookedSession, type HookedTurn, type ReportedCall } from '../base/hooked-session.ts'
import { LimitedMap, SessionStates } from '../base/limited-map.ts'
import { joinTexts } from '../base/messages.ts'
import { type UsageCounts, usageOf } from '../base/usage.ts'
import { jsonIn } from '../event-json.ts'
import type { HostEvent } from '../host-event.ts'
import { LINE_HANDLERS, outcomeOf, PLATFORM, RECORDED_HOOK_HANDLERS, RecordedSession } from './recorded-session.ts'

export interface FileLine extends FindingOwner {
  /** Unique. Lines are read again when the receiver restarts. */
  readonly line_id: string | undefined
}

/** The types of lines that are read, and the fields of each. Other fields may be large and are not needed. */
export const FILE_LINES: Readonly<Record<string, readonly string[]>> = {
  'session.start': ['selectedModel', 'context'],
  'session.resume': ['selectedModel', 'context'],
  'user.message': ['content', 'interactionId', 'delivery'],
  'system.notification': ['content'],
  'assistant.turn_start': [],
  'assistant.turn_end': [],
  'session.usage_record': ['usage'],
  'assistant.message': ['apiCallId', 'content', 'toolRequests'],
  'tool.execution_start': ['toolCallId', 'toolName', 'arguments'],
  'tool.execution_complete': ['toolCallId', 'success', 'error', 'shellExecution', 'result'],
  'permission.requested': ['requestId', 'permissionRequest'],
  'permission.completed': ['requestId', 'toolCallId', 'result', 'decisionSource'],
  'subagent.started': ['toolCallId', 'agentName'],
  'subagent.completed': ['toolCallId'],
  'subagent.failed': ['toolCallId', 'error'],
  'session.compaction_start': ['compactionAttemptId', 'model'],
  'session.compaction_complete': ['compactionAttemptId', 'success', 'compactionTokensUsed', 'error'],
  'session.error': ['errorType', 'message', 'statusCode'],
  abort: ['reason'],
  'session.shutdown': ['shutdownType'],
}

export const FILE_READ = 'file:read'

/** Hooks without facts of their own. They only trigger reading the session file. */
const QUIET_HOOKS: readonly string[] = ['SubagentStart', 'SubagentStop', 'PreCompact', 'Notification']

export const WAITING_HOOKS: ReadonlySet<string> = new Set(['UserPromptSubmit', 'Stop', 'SessionEnd'])

export const SPAN_REQUEST = 'span:request'
export const SPAN_READ = 'span:read'

export const OPERATION = 'gen_ai.operation.name'
/** Attributes read from a request's span. Older versions spell those of the cache differently. */
export const ATTRIBUTES = [
  'gen_ai.conversation.id',
  'gen_ai.provider.name',
  'gen_ai.request.model',
  'gen_ai.response.model',
  'gen_ai.response.id',
  'gen_ai.response.finish_reasons',
  'gen_ai.output.messages',
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.output_tokens',
  'gen_ai.usage.cache_read.input_tokens',
  'gen_ai.usage.cache_read_input_tokens',
  'gen_ai.usage.cache_creation.input_tokens',
  'gen_ai.usage.cache_creation_input_tokens',
  'gen_ai.usage.reasoning.output_tokens',
  'github.copilot.time_to_first_chunk',
  'error.type',
] as const
export type Attribute = (typeof ATTRIBUTES)[number]
export const CONVERSATION: Attribute = 'gen_ai.conversation.id'

const ERROR = 2
const PARTS_LIMIT = 100

interface RequestSpan {
  readonly id: string | undefined
  readonly startAt: number
  readonly endAt: number
  readonly hasFailed: boolean
  get(attribute: Attribute): unknown
}

function requestOfSpan(span: unknown): RequestSpan | undefined {
  const attributes = peek(span, 'attributes')
  const get = (name: Attribute): unknown => peek(attributes, name)
  const startAt = numberOf(peek(span, 'startAt'))
  const endAt = numberOf(peek(span, 'endAt'))
  if (startAt === undefined || endAt === undefined || endAt < startAt) return undefined
  const hasFailed = peek(span, 'statusCode') === ERROR || get('error.type') !== undefined
  return { id: idOf(peek(span, 'spanId')), startAt, endAt, hasFailed, get }
}

/** The input count includes the cache, as in OpenTelemetry's conventions. */
function usageOfSpan({ get }: RequestSpan): UsageCounts | undefined {
  return usageOf({
    input: get('gen_ai.usage.input_tokens'),
    output: get('gen_ai.usage.output_tokens'),
    cacheRead: get('gen_ai.usage.cache_read.input_tokens') ?? get('gen_ai.usage.cache_read_input_tokens'),
    cacheWrite: get('gen_ai.usage.cache_creation.input_tokens') ?? get('gen_ai.usage.cache_creation_input_tokens'),
    reasoning: get('gen_ai.usage.reasoning.output_tokens'),
  })
}

function emitSpanRequest(turn: HookedTurn, span: RequestSpan): void {
  const { get, startAt, endAt } = span
  const model = textOf(get('gen_ai.request.model'))
  const provider = textOf(get('gen_ai.provider.name'))
  const answer = answerTextIn(get('gen_ai.output.messages'))
  turn.model = textOf(get('gen_ai.response.model')) ?? model ?? turn.model
  turn.answer = answer ?? turn.answer
  turn.emitPrompt()
  const request = turn.requests.nextRequest(startAt, { isRetry: false })
  const wait = numberOf(get('github.copilot.time_to_first_chunk'))
  request.firstChunkAt = wait === undefined ? undefined : startAt + wait * 1000
  request.emitStart({ model, provider })
  request.emitAnswer(endAt, {
    model,
    provider,
    response_model: get('gen_ai.response.model'),
    response_id: get('gen_ai.response.id'),
    finish_reason: peek(get('gen_ai.response.finish_reasons'), 0),
    usage: usageOfSpan(span),
    response: answer === undefined ? undefined : { assistant_message: { role: 'assistant', content: answer } },
  })
}

function answerTextIn(messages: unknown): string | undefined {
  const parts = elementsOf(jsonIn(textOf(messages) ?? ''), PARTS_LIMIT).flatMap(message =>
    elementsOf(peek(message, 'parts'), PARTS_LIMIT),
  )
  return joinTexts(parts.map(part => (peek(part, 'type') === 'text' ? textOf(peek(part, 'content')) : undefined)))
}

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
    turn.endTool(at, calledIn(data), { status: 'error', error_message: textOf(peek(data, 'error')) })
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
