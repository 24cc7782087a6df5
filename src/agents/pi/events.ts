import { booleanOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { type EventHandlers, EventMachine, eventHandlers, namesIn, type TimedEvent } from '../base/event-machine.ts'
import { LimitedMap, SessionStates } from '../base/limited-map.ts'
import { countOf, plainText, toolCallsOf, wrapJson } from '../base/messages.ts'
import { RecordScope, type Records, type TurnResult } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import { Approval, DelegatedTask, inferredChoice, Tool } from '../base/tool.ts'
import { HostTurn } from '../base/turn.ts'
import { failureOf, isAborted, modelOf, piUsage, platformOf } from './messages.ts'

function emitAnswer(request: ModelRequest, { at, context }: TimedEvent, message: unknown): void {
  const content = peek(message, 'content')
  const text = plainText(content)
  const calls = toolCallsOf(content)
  request.emitAnswer(at, {
    model: peek(message, 'model') ?? modelOf(context).model,
    provider: peek(message, 'provider') ?? modelOf(context).provider,
    finish_reason: peek(message, 'rawStopReason') ?? peek(message, 'stopReason'),
    response_model: peek(message, 'responseModel'),
    response_id: peek(message, 'responseId'),
    usage: piUsage(peek(message, 'usage')),
    cost: peek(peek(message, 'usage'), 'cost'),
    response: {
      assistant_message: { role: 'assistant', content: text, ...(calls.length === 0 ? {} : { tool_calls: calls }) },
    },
    assistant_content_chars: text?.length ?? 0,
    assistant_tool_call_count: calls.length,
  })
}

function emitFailure(request: ModelRequest, { at, context }: TimedEvent, message: unknown, end: TurnResult): void {
  const text = peek(message, 'errorMessage')
  const isStopped = end === 'interrupted'
  const { statusCode, retryable } = failureOf(text)
  request.emitFailure(at, {
    model: peek(message, 'model') ?? modelOf(context).model,
    provider: peek(message, 'provider') ?? modelOf(context).provider,
    status_code: isStopped ? undefined : statusCode,
    retryable: isStopped ? false : retryable,
    error: { type: isStopped ? 'aborted' : (statusCode?.toString() ?? 'provider_error'), message: textOf(text) },
  })
}

/** The outcome of an answer. A run that the user stops can fail in many ways. */
function answerEnd({ context }: TimedEvent, message: unknown): TurnResult {
  const reason = peek(message, 'stopReason')
  if (reason === 'aborted' || (reason === 'error' && isAborted(context))) return 'interrupted'
  return reason === 'error' ? 'failed' : 'completed'
}

/**
 * Ends a compaction of the conversation, by a separate model request. Pi reports its beginning and result, and neither the input
 * nor the model. Hosts before 0.80 have no header event, so only `session_compact` shows that a request was made.
 */
function endCompaction(request: ModelRequest, { at, context, data }: TimedEvent): void {
  const entry = peek(data, 'compactionEntry')
  if (booleanOf(peek(data, 'fromExtension')) !== true) request.emitStart(modelOf(context), 'inferred')
  if (!request.isStartEmitted) return
  const usage = peek(entry, 'usage')
  const content = textOf(peek(entry, 'summary'))
  const response = content === undefined ? undefined : { message: { role: 'assistant', content } }
  const facts = { ...modelOf(context), usage: piUsage(usage), cost: peek(usage, 'cost'), response }
  request.emitAnswer(at, facts, 'inferred')
}

function failCompaction(request: ModelRequest | undefined, { at, context, data }: TimedEvent): void {
  if (request?.isStartEmitted !== true) return
  const message = textOf(peek(data, 'errorMessage'))
  const type = isAborted(data) ? 'aborted' : (failureOf(message).statusCode?.toString() ?? 'compaction_failed')
  request.emitFailure(at, { ...modelOf(context), error_type: type, error: { type, message } }, 'inferred')
}

/**
 * One turn of a session: from a prompt until the agent is idle. Pi's own "turn" is one request here, and Pi runs the agent anew
 * for every retry. A turn is therefore delimited by the prompt and `agent_settled` only.
 */
class PiTurn extends HostTurn {
  /** Bounded: tools without an end must not accumulate in a turn of days. */
  readonly #tools = new LimitedMap<string, PiTool>(1000)
  /** The tool prepared last, which a question is most likely about. */
  #latestTool: PiTool | undefined
  #question: PiApproval | undefined
  #request: ModelRequest | undefined
  /** When the request was sent, epoch milliseconds; undefined if only the answer was received. */
  #sentAt: number | undefined
  #headAt: number | undefined
  headersAt: number | undefined
  /** When the last run of the agent ended; undefined while one runs. */
  ranUntil: number | undefined
  isAborted = false
  #isTold = false
  #last: TurnResult | undefined
  #stopReason: unknown
  #answer: string | undefined
  #answeredAt: number | undefined

  /** True if the last answer did not fail, so that no retry follows. */
  get isAnswered(): boolean {
    return this.#last !== undefined && this.#last !== 'failed'
  }

  /** Emits the start once the prompt is known, at the latest with the first activity. */
  emitPrompt({ context }: TimedEvent, message?: unknown): void {
    if (this.#isTold) return
    this.#isTold = true
    const { model, provider } = modelOf(context)
    const payload = { user_message: plainText(message), model, provider, platform: platformOf(context) }
    this.emit('pre_llm_call', this.startAt, payload)
  }

  sendRequest(moment: TimedEvent): void {
    const { at } = moment
    const isRepeat = this.#request !== undefined && (this.#sentAt ?? at) === at
    if (!isRepeat) this.#startRequest(moment, at)
  }

  /**
   * Handles the head of an answer. It may be the first event of a request if an extension provides the model client. If
   * the run is stopped between two requests, Pi emits an answer to a request that it never sent.
   */
  beginAnswer(moment: TimedEvent): void {
    if (this.#request === undefined && isAborted(moment.context)) return
    if (this.#request === undefined) this.#startRequest(moment, undefined)
    this.#headAt ??= moment.at
  }

  receiveContent(at: number): void {
    if (this.#request !== undefined) this.#request.firstChunkAt ??= at
  }

  /** Starts a request. Pi has no usable number of it: its own index restarts with every retry. */
  #startRequest({ at, context, data }: TimedEvent, sentAt: number | undefined): void {
    const isRetry = this.requests.failures > 0 && this.#request === undefined
    this.#request = this.requests.nextRequest(this.headersAt ?? at, { isRetry })
    this.headersAt = undefined
    this.#headAt = undefined
    this.#sentAt = sentAt
    const { model, provider, api_mode, base_url } = modelOf(context)
    const body = sentAt === undefined ? undefined : peek(data, 'payload')
    this.#request.emitStart({
      model,
      provider,
      api_mode,
      base_url,
      request: sentAt === undefined ? undefined : { body },
      message_count: countOf(peek(body, 'messages') ?? peek(body, 'input') ?? peek(body, 'contents')),
      tool_count: countOf(peek(body, 'tools')),
      reasoning_effort: textOf(peek(body, 'reasoning_effort')) ?? textOf(peek(peek(body, 'reasoning'), 'effort')),
    })
  }

  receiveAnswer(moment: TimedEvent, message: unknown): void {
    const end = answerEnd(moment, message)
    this.#last = end
    this.isAborted = end === 'interrupted'
    this.#stopReason = peek(message, 'stopReason')
    this.#answeredAt = moment.at
    this.#answer = end === 'completed' ? plainText(peek(message, 'content')) : undefined
    const request = this.#request
    this.#request = undefined
    this.headersAt = undefined
    if (request === undefined) return
    this.requests.failures = end === 'failed' ? this.requests.failures + 1 : 0
    request.firstChunkAt ??= this.#headAt
    if (end === 'completed') emitAnswer(request, moment, message)
    else emitFailure(request, moment, message, end)
  }

  startTool({ at, data }: TimedEvent): void {
    const id = idOf(peek(data, 'toolCallId'))
    if (id === undefined || this.#tools.has(id)) return
    const tool = new PiTool(this, id, peek(data, 'toolName'), at)
    tool.args = peek(data, 'args')
    tool.requestId = this.requests.lastId
    this.#tools.set(id, tool)
    tool.emitStart()
  }

  /** Handles `tool_call`: no extension has blocked the tool so far. */
  markToolCalled({ at, data }: TimedEvent): void {
    const tool = this.#findTool(data)
    if (tool === undefined) return
    tool.calledAt ??= at
    this.#latestTool = tool
  }

  /** Handles `tool_result`: the tool ran, so the user has approved it. */
  markToolReturned({ data }: TimedEvent): void {
    const tool = this.#findTool(data)
    if (tool === undefined) return
    tool.ran = true
    tool.approval?.setChoice('once')
  }

  endTool(moment: TimedEvent, outcome: unknown): void {
    const { at, data } = moment
    const tool = this.#findTool(data)
    if (tool === undefined) return
    this.#tools.delete(tool.id)
    if (this.#latestTool === tool) this.#latestTool = undefined
    const { status, isSure } = toolStatus(tool, moment, outcome)
    tool.approval?.setChoice(inferredChoice(status))
    emitDelegation(tool, tool.calledAt ?? tool.startAt, at, status, outcome)
    const content = peek(outcome, 'content')
    const text = plainText(content)
    const result = text === undefined ? (content === undefined ? outcome : { content }) : wrapJson(text, { content })
    const error_message = status === 'error' ? text : undefined
    const facts = { result, status, duration_ms: numberOf(peek(data, 'durationMs')), error_message }
    tool.emitEnd(at, facts, isSure ? undefined : 'inferred')
  }

  /**
   * Handles `ui_prompt_start`. Outside of tools, an extension asks about matters of its own. A second question about the same
   * tool shows that the first was approved.
   */
  startQuestion(moment: TimedEvent): void {
    const tool = this.#toolOfQuestion()
    if (tool === undefined || NO_APPROVALS.has(peek(moment.data, 'kind')) || this.#question !== undefined) return
    tool.approval?.setChoice('once')
    tool.approval = new PiApproval(tool, moment)
    this.#question = tool.approval
  }

  endQuestion({ at }: TimedEvent): void {
    this.#question?.endPrompt(at)
    this.#question = undefined
  }

  #closeTools(at: number): void {
    this.#question?.closeApproval(at)
    for (const { approval } of this.#tools.values()) approval?.closeApproval(at)
    this.#question = undefined
    this.#tools.clear()
  }

  /**
   * Finds the tool of a question. Pi prepares tools one after another and runs them together, so a question before the first run
   * is about the tool prepared last.
   */
  #toolOfQuestion(): PiTool | undefined {
    if (this.#tools.size === 1) return this.#tools.values().next().value
    const anyRan = [...this.#tools.values()].some(({ ran }) => ran)
    return this.#latestTool !== undefined && !anyRan && this.#tools.has(this.#latestTool.id)
      ? this.#latestTool
      : undefined
  }

  #findTool(data: unknown): PiTool | undefined {
    const id = idOf(peek(data, 'toolCallId'))
    return id === undefined ? undefined : this.#tools.get(id)
  }

  /**
   * Ends the turn. If the host reported the end, that time counts. Otherwise a new turn has begun, and this one ended with its
   * last run or a final answer.
   */
  closeTurn(moment: TimedEvent, isHostsWord: boolean): void {
    const overAt = this.ranUntil ?? (this.#stopReason === 'stop' ? this.#answeredAt : undefined)
    const at = isHostsWord ? moment.at : (overAt ?? moment.at)
    const isInterrupted = this.isAborted || (!isHostsWord && overAt === undefined)
    const outcome = isInterrupted ? 'interrupted' : (this.#last ?? 'completed')
    const { model } = modelOf(moment.context)
    this.emitPrompt(moment)
    this.#closeTools(at)
    this.emitAnswer(Math.min(at, this.ranUntil ?? at), outcome === 'completed' ? this.#answer : undefined, model)
    const reason = this.isAborted ? 'aborted' : this.#stopReason
    this.emitEnd(at, { outcome, reason, model, platform: platformOf(moment.context) })
  }
}

class PiSession {
  readonly id: string
  turn: PiTurn | undefined
  compaction: ModelRequest | undefined
  /** True while Pi repeats a request only to keep the provider's cache warm; its answer is not used. */
  isWarming = false
  /** `session_start` was received. It is emitted with the first turn, because a session without prompts is not traced. */
  isAnnounced = false
  readonly #records: Records
  #isStartEmitted = false
  /** 0 before the first turn. */
  lastTurnAt = 0

  constructor(records: Records, id: string) {
    this.#records = records
    this.id = id
  }

  setWarming(isWarming: boolean): void {
    this.isWarming = isWarming
  }

  /** Begins a turn. Its id contains the time, not a counter: a conversation resumed in another process must not reuse ids. */
  openTurn({ at, context }: TimedEvent): PiTurn {
    const openedAt = Math.max(Math.trunc(at), this.lastTurnAt + 1)
    this.lastTurnAt = openedAt
    const turn = new PiTurn(this.#records, this.id, `${this.id}:${openedAt}`, at)
    this.turn = turn
    if (!this.#isStartEmitted && this.isAnnounced) {
      this.#isStartEmitted = true
      const { model, provider } = modelOf(context)
      const cwd = textOf(peek(context, 'cwd'))
      turn.emit('on_session_start', at, { model, provider, platform: platformOf(context), cwd })
    }
    return turn
  }

  closeTurn(moment: TimedEvent, isHostsWord: boolean): void {
    this.turn?.closeTurn(moment, isHostsWord)
    this.turn = undefined
  }

  startCompaction({ at }: TimedEvent): void {
    const scope = this.turn ?? new RecordScope(this.#records, this.id)
    this.compaction = new ModelRequest(scope, at, { id: `${this.id}:compaction:${at}`, task: 'compression' })
  }

  removeCompaction(): ModelRequest | undefined {
    const { compaction } = this
    this.compaction = undefined
    return compaction
  }

  endAll(moment: TimedEvent): void {
    failCompaction(this.removeCompaction(), moment)
    this.closeTurn(moment, false)
  }
}

const NO_APPROVALS: ReadonlySet<unknown> = new Set(['input', 'editor'])

/**
 * A question of an extension about one tool. Pi reports neither the answer nor the tool. Both are inferred, the answer from the
 * tool's status, so it is emitted late, with its actual time.
 */
class PiApproval extends Approval {
  #repliedAt: number | undefined
  #choice: string | undefined

  constructor(tool: Tool, { at, context, data }: TimedEvent) {
    super(tool.turn, tool.id, textOf(tool.name), at)
    const command = peek(tool.args, 'command')
    this.emitRequest({ command, description: peek(data, 'title'), surface: platformOf(context) }, 'inferred')
  }

  endPrompt(at: number): void {
    this.#repliedAt ??= at
    if (this.#choice !== undefined) this.closeApproval(at)
  }

  /** Records the answer inferred from the tool. The prompt's end is a separate event, which may come later. */
  setChoice(choice: string): void {
    this.#choice ??= choice
    if (this.#repliedAt !== undefined) this.closeApproval(this.#repliedAt)
  }

  closeApproval(at: number): void {
    this.emitResponse(this.#repliedAt ?? at, this.#choice, 'inferred')
  }
}

class PiTool extends Tool {
  /** When `tool_call` was received: the arguments were valid, and the tool is about to run. */
  calledAt: number | undefined
  ran = false
  declare approval: PiApproval | undefined
}

/**
 * Emits a delegation from the delegating tool of Pi's example, and of packages based on it: Pi itself has no child agents. The
 * child itself runs and reports in another process. Emitted at the tool's end, because a blocked tool delegates nothing.
 *
 * @param startAt when the tool began to run
 */
function emitDelegation(tool: Tool, startAt: number, at: number, status: string, outcome: unknown): void {
  if (tool.name !== 'subagent' || status === 'blocked') return
  const { turn, args } = tool
  const delegation = new DelegatedTask(turn, startAt, {
    tool_call_id: tool.id,
    child_subagent_id: `${turn.turnId}:${tool.id}`,
    child_role: peek(args, 'agent'),
  })
  delegation.emitStart(peek(args, 'task'), 'inferred')
  const summary = plainText(peek(outcome, 'content'))
  delegation.emitEnd(at, { status: status === 'ok' ? 'completed' : status, summary }, 'inferred')
}

/** Pi's messages for tools not started: the user stopped the run, the arguments are invalid, or the answer is truncated. */
const ABORTED = 'Operation aborted'
const UNFIT = ['Validation failed for tool ', 'Tool call "']
const HEAD = 64

/**
 * Derives a tool's status, because Pi reports only an error flag. A tool that was about to run and has no result was blocked by
 * an extension, possibly by an error in it. If another extension blocks first, only the text distinguishes a blocked call from an
 * invalid one.
 */
function toolStatus({ calledAt, ran, name }: PiTool, { data, context }: TimedEvent, outcome: unknown) {
  if (booleanOf(peek(data, 'isError')) !== true) return { status: 'ok', isSure: true }
  const text = plainText(peek(outcome, 'content'))
  if (isAborted(context) || text === ABORTED) return { status: 'cancelled', isSure: true }
  if (ran) return { status: 'error', isSure: true }
  if (calledAt !== undefined) return { status: 'blocked', isSure: true }
  return { status: isUnfit(text, name) ? 'error' : 'blocked', isSure: false }
}

function isUnfit(text: string | undefined, name: unknown): boolean {
  if (text === undefined) return true
  const head = text.slice(0, HEAD)
  return UNFIT.some(words => head.startsWith(words)) || text === `Tool ${textOf(name) ?? ''} not found`
}

type Reading = (pi: PiMachine, session: PiSession, moment: TimedEvent) => void

/** Handlers of Pi's events. Read from `@earendil-works/pi-coding-agent` 0.87.1; 0.58 to 1.5 lack some events. */
export const READINGS: Readonly<Record<string, Reading>> = {
  session_start: (pi, session, moment) => pi.startSession(session, moment),
  session_switch: (pi, session, moment) => pi.switchSession(session, moment),
  session_fork: (pi, session, moment) => pi.switchSession(session, moment),
  // A reload continues the conversation; any other reason ends it.
  session_shutdown: (pi, session, moment) => {
    const reason = textOf(peek(moment.data, 'reason'))
    if (reason === 'reload') session.endAll(moment)
    else pi.leaveSession(session, moment, reason)
  },
  before_agent_start: (_, session, moment) => {
    session.isWarming = false
    if (session.turn?.startAt === moment.at) return
    session.closeTurn(moment, false)
    session.openTurn(moment).emitPrompt(moment, peek(moment.data, 'prompt') ?? '')
  },
  // For a prompt, for a message of an extension (without a prompt), or again after a failure.
  agent_start: (_, session, moment) => {
    session.isWarming = false
    const turn = session.turn ?? session.openTurn(moment)
    turn.ranUntil = undefined
    turn.headersAt = undefined
  },
  // Once per run. Without `agent_settled`, a run that did not fail counts as the last one.
  agent_end: (pi, session, moment) => {
    if (session.turn !== undefined) session.turn.ranUntil = moment.at
    if (!pi.settles && session.turn?.isAnswered === true) session.closeTurn(moment, true)
  },
  agent_settled: (pi, session, moment) => {
    pi.settles = true
    if (session.turn !== undefined && isAborted(moment.data)) session.turn.isAborted = true
    session.closeTurn(moment, true)
  },
  turn_start: (_, session) => session.setWarming(false),
  cache_warming_decision: (_, session) => session.setWarming(true),
  before_provider_headers: (pi, { compaction, isWarming, turn }, moment) => {
    // Pi introduced this event together with `agent_settled`.
    pi.settles = true
    // Headers prove that Pi makes a request, and no extension does the compaction instead.
    if (compaction !== undefined) compaction.emitStart(modelOf(moment.context), 'inferred')
    else if (!isWarming && turn !== undefined) turn.headersAt = moment.at
  },
  before_provider_request: (_, session, moment) => {
    if (!session.isWarming) turnOf(session, moment).sendRequest(moment)
  },
  message_start: (_, { turn }, moment) => {
    const message = peek(moment.data, 'message')
    const role = peek(message, 'role')
    if (role === 'assistant') turn?.beginAnswer(moment)
    else if (role === 'user' || role === 'custom') turn?.emitPrompt(moment, peek(message, 'content'))
  },
  message_update: (_, { turn }, { at, data }) => {
    if (peek(peek(data, 'message'), 'role') === 'assistant') turn?.receiveContent(at)
  },
  message_end: (_, { turn }, moment) => {
    const message = peek(moment.data, 'message')
    const role = peek(message, 'role')
    if (role === 'assistant') turn?.receiveAnswer(moment, message)
    // Repeats the tool's result; used if the tool's own end was not received.
    else if (role === 'toolResult') turn?.endTool({ ...moment, data: message }, message)
  },
  tool_execution_start: (_, session, moment) => {
    turnOf(session, moment).startTool(moment)
  },
  tool_call: (_, { turn }, moment) => turn?.markToolCalled(moment),
  tool_result: (_, { turn }, moment) => turn?.markToolReturned(moment),
  tool_execution_end: (_, { turn }, moment) => turn?.endTool(moment, peek(moment.data, 'result')),
  ui_prompt_start: (_, { turn }, moment) => turn?.startQuestion(moment),
  ui_prompt_end: (_, { turn }, moment) => turn?.endQuestion(moment),
  session_before_compact: (_, session, moment) => {
    failCompaction(session.compaction, moment)
    if (session.turn !== undefined) session.turn.headersAt = undefined
    session.startCompaction(moment)
  },
  session_compact: (_, session, moment) => {
    const request = session.removeCompaction()
    if (request !== undefined) endCompaction(request, moment)
  },
  session_compact_failed: (_, session, moment) => failCompaction(session.removeCompaction(), moment),
}

/** Known events of Pi 0.58 to 1.5 that add nothing to others, so that they are not counted as ignored. */
const QUIET = namesIn(`
  project_trust resources_discover session_directory session_info_changed session_before_switch session_before_fork
  session_before_tree session_tree input turn_end context context_with_system after_provider_response
  provider_stream_event tool_execution_update agent_before_settle model_select thinking_level_select user_bash
  mcp_servers_change`)

export class PiMachine extends EventMachine {
  protected readonly events: EventHandlers = eventHandlers(
    Object.fromEntries(Object.entries(READINGS).map(([event, read]) => [event, moment => this.#read(read, moment)])),
    QUIET,
  )
  readonly #sessions = new SessionStates(id => new PiSession(this.records, id))
  /** Sessions that were left, with the reason. Pi reports the end of the old one and the start of the new one separately. */
  readonly #left = new LimitedMap<string, string>(100)
  /** True if this Pi emits `agent_settled` (since 0.80.4). Before, the end of a run ends the turn. */
  settles = false

  #read(read: Reading, moment: TimedEvent): void {
    const id = idOf(peek(moment.context, 'sessionId'))
    if (id === undefined) return
    const session = this.#sessions.get(id)
    if (session.turn !== undefined && isAborted(moment.context)) session.turn.isAborted = true
    read(this, session, moment)
  }

  protected endSessions(at: number): void {
    for (const session of this.#sessions.values()) session.endAll({ event: 'end', at })
  }

  startSession(session: PiSession, { at, data }: TimedEvent): void {
    session.isAnnounced = true
    const [reason, file] = [textOf(peek(data, 'reason')), textOf(peek(data, 'previousSessionFile'))]
    const { id } = session
    const fitting = [...this.#left].filter(([left, why]) => left !== id && why === reason).map(([left]) => left)
    // The name of the old session's file contains its id. Without a file, sessions are not saved.
    const only = fitting.length === 1 ? fitting[0] : undefined
    const old = file === undefined ? only : fitting.find(left => file.includes(left))
    if (old === undefined) return
    this.#left.delete(old)
    const payload = { session_id: id, old_session_id: old, new_session_id: id, reason }
    this.records.addRecord('on_session_reset', at, payload, file === undefined ? 'inferred' : undefined)
  }

  /** Handles a switch, with which older versions of Pi end one session and start another. A fork has no reason. */
  switchSession(session: PiSession, moment: TimedEvent): void {
    const previousSessionFile = textOf(peek(moment.data, 'previousSessionFile')) ?? ''
    const reason = textOf(peek(moment.data, 'reason')) ?? 'fork'
    const old = this.#sessions.values().find(({ id }) => id !== session.id && previousSessionFile.includes(id))
    if (old !== undefined) this.leaveSession(old, moment, reason)
    this.startSession(session, { ...moment, data: { reason, previousSessionFile } })
  }

  leaveSession(session: PiSession, moment: TimedEvent, reason: string | undefined): void {
    session.endAll(moment)
    this.#sessions.delete(session.id)
    if (session.lastTurnAt === 0) return
    if (reason === 'new' || reason === 'resume' || reason === 'fork') this.#left.refresh(session.id, reason)
    else this.records.addRecord('on_session_finalize', moment.at, { session_id: session.id, reason })
  }
}

function turnOf(session: PiSession, moment: TimedEvent): PiTurn {
  const turn = session.turn ?? session.openTurn(moment)
  turn.emitPrompt(moment)
  return turn
}
