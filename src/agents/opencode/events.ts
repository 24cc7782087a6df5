import { booleanOf, elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import type { Correlation } from '../../contract/index.ts'
import type { EventHandler, EventHandlers, TimedEvent } from '../base/event-machine.ts'
import { EventMachine, eventHandlers, namesIn, plausibleTime } from '../base/event-machine.ts'
import { LimitedMap, SessionStates } from '../base/limited-map.ts'
import { joinTexts, wrapJson } from '../base/messages.ts'
import { RecordScope, type Records } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import { Approval, DelegatedTask, Tool } from '../base/tool.ts'
import { HostTurn, type HostTurnEnd } from '../base/turn.ts'
import type { LoosePayload } from '../host-event.ts'
import { agentOf, failureOf, type OpencodeFailure, requestFacts, stepUsage } from './requests.ts'

/**
 * A permission that the user was asked for. Older versions have `permission.updated` instead of `permission.asked`, with
 * different fields.
 */
class Permission extends Approval {
  facts: LoosePayload<'pre_approval_request'> = {}

  emitQuestion(): void {
    this.emitRequest(this.facts)
  }

  emitReply(at: number, choice: string): void {
    this.emitQuestion()
    this.emitResponse(at, choice)
  }
}

function permissionFacts(data: unknown): LoosePayload<'pre_approval_request'> {
  const metadata = peek(data, 'metadata')
  const patterns = elementsOf(peek(data, 'patterns') ?? peek(data, 'pattern'), 16).map(textOf)
  return {
    pattern_keys: patterns.filter(pattern => pattern !== undefined),
    command: peek(metadata, 'command') ?? patterns[0],
    description: peek(data, 'title') ?? peek(metadata, 'description'),
  }
}

/** `once`, `always`, `reject`. */
function choiceOf(data: unknown): string {
  const reply = peek(data, 'reply') ?? peek(data, 'response')
  return reply === 'reject' ? 'deny' : (textOf(reply) ?? 'unknown')
}

const CALLS_LIMIT = 5000
/** opencode's message for a call that a configuration rule forbids, without asking the user. */
const FORBIDDEN = 'The user has specified a rule which prevents you'

class OpencodeToolCall extends Tool {
  messageId: string | undefined
  /** Permissions requested before the tool starts, which are emitted after its start. */
  readonly bufferedPermissions: Permission[] = []
  isRefused = false
  isDismissed = false
  childId: string | undefined

  startTool(at: number, state: unknown): void {
    if (this.state !== 'asked') return
    this.args = peek(state, 'input')
    this.startAt = timeOf(state, 'start', at)
    this.emitStart()
    for (const permission of this.bufferedPermissions.splice(0)) permission.emitQuestion()
  }

  /**
   * Handles `completed` or `error`.
   *
   * @param isStopped true if the user has stopped the run: a tool that ends then was cut off, whatever its status
   */
  endTool(at: number, state: unknown, isStopped: boolean): void {
    const endedAt = Math.max(this.startAt, timeOf(state, 'end', at))
    this.emitEnd(endedAt, { duration_ms: endedAt - this.startAt, ...outcome(this, state, isStopped) })
  }
}

function timeOf(state: unknown, which: 'start' | 'end', at: number): number {
  return plausibleTime(peek(peek(state, 'time'), which), at)
}

function outcome(call: OpencodeToolCall, state: unknown, isStopped: boolean): Readonly<Record<string, unknown>> {
  if (peek(state, 'status') === 'completed')
    return { status: isStopped ? 'cancelled' : 'ok', result: wrapJson(peek(state, 'output')) }
  const error_message = textOf(peek(state, 'error'))
  const status = isStopped ? 'cancelled' : failedStatus(call, state, error_message)
  return status === 'error' ? { status, error_type: 'tool_error', error_message } : { status, error_message }
}

function failedStatus(call: OpencodeToolCall, state: unknown, message: string | undefined): string {
  if (call.isRefused || message?.startsWith(FORBIDDEN)) return 'blocked'
  const isInterrupted = booleanOf(peek(peek(state, 'metadata'), 'interrupted')) === true
  return isInterrupted || call.isDismissed ? 'cancelled' : 'error'
}

const BLANK_LINE = '\n\n'
/** Finish reason of a step that requests tools: the turn continues after it. */
const WANTS_TOOLS = 'tool-calls'

/** One turn: a user's message, and every step that answers it. A step is an assistant message. */
class OpencodeTurn extends HostTurn {
  #request: ModelRequest | undefined
  /** The message that the open request produces, and the time of its last part. */
  #requestMessageId: string | undefined
  #lastOutputAt: number | undefined
  #lastRequestMessageId: string | undefined
  /** The tool calls, read from the states of their parts: a failed call appears nowhere else. */
  readonly #calls = new LimitedMap<string, OpencodeToolCall>(CALLS_LIMIT)
  readonly #callsById = new LimitedMap<string, OpencodeToolCall>(2 * CALLS_LIMIT)
  readonly #permissions = new Map<string, Permission>()
  readonly #messages = new Set<string>()
  /** The message of the last step. `isWriting` is true while it is incomplete. */
  #current: string | undefined
  isWriting = false
  readonly #texts = new Map<string, string>()
  answer: string | undefined
  #finish: string | undefined
  #failure: OpencodeFailure | undefined
  #isRefused = false
  readonly #questions = new Map<string, string | undefined>()
  /** When the session became idle, epoch milliseconds. After an error, this happens before the last step is closed. */
  idleAt: number | undefined
  /** True once the bus has mentioned this turn. Hooks overtake the bus, so earlier bus events belong to the previous turn. */
  isOnBus = false

  get isStopped(): boolean {
    return this.#failure?.isAbort === true
  }

  /**
   * Handles `chat.params`. opencode has no request ids: each is a request, or a retry. If a request is open, this repeats it:
   * opencode never runs two at a time.
   */
  startRequest({ at, data, output }: TimedEvent): void {
    if (this.#request !== undefined) return
    const isRetry = this.requests.failures > 0 && this.#lastRequestMessageId === this.#current
    const task = agentOf(data) === 'compaction' ? 'compression' : undefined
    this.#request = this.requests.nextRequest(at, { isRetry, task })
    this.#requestMessageId = this.#current
    this.#lastRequestMessageId = this.#current
    this.#lastOutputAt = undefined
    this.#request.emitStart(requestFacts(data, output))
    // The text of a failed attempt is not part of the answer, and an error that is retried does not fail the turn.
    this.#texts.clear()
    this.#failure = undefined
    this.idleAt = undefined
  }

  receiveOutput(at: number, messageId: string | undefined): void {
    if (this.#request === undefined) return
    this.#requestMessageId ??= messageId
    this.#lastRequestMessageId ??= messageId
    this.#request.firstChunkAt ??= at
    this.#lastOutputAt = at
  }

  #closeRequest(): ModelRequest | undefined {
    const request = this.#request
    this.#request = undefined
    if (request !== undefined) this.requests.failures = 0
    return request
  }

  #endUnreportedRequest(at: number): void {
    const request = this.#closeRequest()
    if (request === undefined) return
    request.firstChunkAt = undefined
    request.emitAnswer(at, { ended_at: (this.#lastOutputAt ?? at) / 1000 }, 'inferred')
  }

  #failRequest(at: number, { type, message, statusCode }: OpencodeFailure, retryable?: true): void {
    const request = this.#request
    if (request === undefined) return
    this.#request = undefined
    this.requests.failures += 1
    request.emitFailure(at, { status_code: statusCode, retryable, error: { type, message } })
  }

  /**
   * Handles `message.updated` of an assistant message: emitted at its beginning, with the finish reason, and when it is complete.
   */
  readMessage(at: number, info: unknown): void {
    const id = idOf(peek(info, 'id'))
    if (id === undefined) return
    const isComplete = peek(peek(info, 'time'), 'completed') !== undefined
    if (!this.#messages.has(id)) this.#beginStep(at, id, !isComplete)
    if (id !== this.#current) return
    this.receiveError(at, peek(info, 'error'))
    const finish = textOf(peek(info, 'finish'))
    if (finish !== undefined || isComplete) this.#endStep(at, id, finish, info)
    if (isComplete) this.isWriting = false
  }

  #beginStep(at: number, id: string, isWriting: boolean): void {
    if ((this.#requestMessageId ?? id) !== id) this.#endUnreportedRequest(at)
    this.isOnBus = true
    this.#messages.add(id)
    this.#current = id
    this.isWriting = isWriting
    this.#texts.clear()
  }

  readPart(at: number, part: unknown): void {
    const messageId = idOf(peek(part, 'messageID'))
    if (messageId === undefined || messageId !== this.#current) return
    const type = peek(part, 'type')
    if (type === 'step-finish') this.#endStep(at, messageId, peek(part, 'reason'), part)
    if (type !== 'text' && type !== 'reasoning') return
    this.receiveOutput(at, messageId)
    const id = idOf(peek(part, 'id'))
    const text = peek(part, 'text')
    if (type === 'text' && id !== undefined && typeof text === 'string') this.#texts.set(id, text)
  }

  /** Returns the call of a part. Uses the part's id, because a call id can be reused in the next step. */
  callOfPart(at: number, part: unknown, status: unknown): OpencodeToolCall | undefined {
    const callId = idOf(peek(part, 'callID'))
    const key = idOf(peek(part, 'id')) ?? callId
    const known = this.#calls.get(key ?? '')
    if (known !== undefined || key === undefined) return known
    const messageId = idOf(peek(part, 'messageID'))
    // A call of an earlier turn may still be updated, for example when its result is pruned.
    const isOurs = messageId === undefined || this.#messages.has(messageId)
    const isMissed = this.#messages.size === 0 && (status === 'pending' || status === 'running')
    if (!isOurs && !isMissed) return undefined
    const reportedId = callId ?? key
    // Some models reuse call ids in every step.
    const id = this.#callsById.has(reportedId) ? `${reportedId}:${this.#calls.size}` : reportedId
    const call = new OpencodeToolCall(this, id, textOf(peek(part, 'tool')), at)
    call.messageId = messageId
    call.requestId = (this.#lastRequestMessageId ?? messageId) === messageId ? this.requests.lastId : undefined
    this.#calls.set(key, call)
    // Permission events use the model's id; already emitted permissions use the unique id.
    this.#callsById.set(reportedId, call)
    this.#callsById.set(id, call)
    return call
  }

  callsWithoutChild(): OpencodeToolCall[] {
    const tasks = [...this.#calls.values()].filter(({ name, childId }) => name === 'task' && childId === undefined)
    return tasks.filter(({ state }) => state !== 'ended')
  }

  #callsOf(messageId: string | undefined): OpencodeToolCall[] {
    return [...this.#calls.values()].filter(call => call.messageId === messageId)
  }

  announceRetry(at: number, status: unknown): void {
    const message = textOf(peek(status, 'message'))
    this.#failRequest(at, { type: 'provider_error', message, statusCode: undefined, isAbort: false }, true)
  }

  receiveError(at: number, error: unknown): void {
    const failure = failureOf(error)
    if (failure === undefined) return
    this.#failure = failure
    // Stopped while tools ran: the model had answered, only its end was not reported.
    const haveToolsBegun = this.#callsOf(this.#current).some(({ state }) => state !== 'asked')
    if (failure.isAbort && haveToolsBegun) this.#endUnreportedRequest(at)
    else this.#failRequest(at, failure)
  }

  addPermission(at: number, data: unknown): void {
    const id = idOf(peek(data, 'id'))
    if (id === undefined || this.#permissions.has(id)) return
    const callId = idOf(peek(peek(data, 'tool'), 'callID')) ?? idOf(peek(data, 'callID'))
    const call = this.#callsById.get(callId ?? '')
    const kind = textOf(peek(data, 'permission')) ?? textOf(peek(data, 'type'))
    const permission = new Permission(this, call?.id ?? callId, kind, at)
    permission.facts = permissionFacts(data)
    this.#permissions.set(id, permission)
    if (call?.state === 'asked') call.bufferedPermissions.push(permission)
    else permission.emitQuestion()
  }

  cancelPermissions(at: number, toolId?: string): void {
    for (const permission of this.#permissions.values()) {
      const isMeant = toolId === undefined || permission.toolId === toolId
      if (isMeant && !permission.isAnswered) permission.emitReply(at, 'cancelled')
    }
  }

  receiveReply(at: number, data: unknown): void {
    const id = idOf(peek(data, 'requestID')) ?? idOf(peek(data, 'permissionID'))
    const permission = this.#permissions.get(id ?? '')
    if (permission === undefined || permission.isAnswered) return
    const choice = choiceOf(data)
    const call = this.#callsById.get(permission.toolId ?? '')
    if (choice === 'deny') {
      this.#isRefused = true
      if (call !== undefined) call.isRefused = true
    }
    permission.emitReply(at, choice)
  }

  /** Handles a question of the model to the user. The tool call covers the wait, so there is no approval. */
  addQuestion(data: unknown): void {
    const id = idOf(peek(data, 'id'))
    if (id !== undefined) this.#questions.set(id, idOf(peek(peek(data, 'tool'), 'callID')))
  }

  dismissQuestion(data: unknown): void {
    const id = idOf(peek(data, 'requestID'))
    if (id === undefined || !this.#questions.has(id)) return
    const call = this.#callsById.get(this.#questions.get(id) ?? '')
    if (call !== undefined) call.isDismissed = true
    this.#isRefused = true
  }

  #endStep(at: number, messageId: string, reason: unknown, step: unknown): void {
    const text = joinTexts([...this.#texts.values()], BLANK_LINE)
    if (this.#request !== undefined && this.#request.task === undefined) {
      this.answer = text
      this.#finish = textOf(reason)
    }
    if ((this.#requestMessageId ?? messageId) !== messageId) return
    const toolCalls = this.#callsOf(messageId).map(call => ({ id: call.id, name: call.name, arguments: call.args }))
    this.#closeRequest()?.emitAnswer(at, {
      // The tools of the step have run by then, so the request ended with the model's last output.
      ended_at: (this.#lastOutputAt ?? at) / 1000,
      finish_reason: textOf(reason),
      usage: stepUsage(peek(step, 'tokens')),
      cost: peek(step, 'cost'),
      response: { message: { role: 'assistant', content: text, tool_calls: toolCalls } },
      assistant_content_chars: text?.length,
      assistant_tool_call_count: toolCalls.length,
    })
  }

  endOf(isTakenOver: boolean): HostTurnEnd {
    const failure = this.#failure
    if (failure !== undefined) return { outcome: failure.isAbort ? 'interrupted' : 'failed', reason: failure.type }
    if (this.#request === undefined && this.requests.failures > 0) return { outcome: 'failed' }
    // After a denial the model does not continue, unless the configuration allows it.
    if (this.#isRefused && this.#finish === WANTS_TOOLS) return { outcome: 'interrupted', reason: 'refused' }
    if (isTakenOver && this.#finish === WANTS_TOOLS) return { outcome: 'interrupted', reason: 'next_prompt' }
    return { outcome: 'completed', reason: this.#finish }
  }
}

const PARTS_LIMIT = 100
const PENDING_LIMIT = 20

interface Prompt {
  readonly id: string
  readonly at: number
  readonly agent: unknown
  readonly model: unknown
  text: string | undefined
}

/** Returns the user's text. Parts added by opencode, such as files it has read, are marked synthetic and excluded. */
function promptText(parts: unknown): string | undefined {
  const isTyped = (part: unknown): boolean => peek(part, 'type') === 'text' && peek(part, 'synthetic') !== true
  const texts = elementsOf(parts, PARTS_LIMIT).map(part => (isTyped(part) ? textOf(peek(part, 'text')) : undefined))
  return joinTexts(texts, BLANK_LINE)
}

class OpencodeSession {
  readonly id: string
  /** User messages without a turn. A turn takes all messages sent before it. */
  #prompts: Prompt[] = []
  parentId: string | undefined
  directory: string | undefined
  createdAt: number | undefined
  agent: unknown
  turn: OpencodeTurn | undefined
  delegation: DelegatedTask | undefined
  hadTurn = false
  readonly #records: Records
  #title: string | undefined
  #emitTitleRequest: (() => ModelRequest) | undefined
  /** The turns of user messages, including ended ones: late events must not open them again. */
  readonly #turnOf = new LimitedMap<string, string>(200)

  constructor(records: Records, id: string) {
    this.#records = records
    this.id = id
  }

  /** @param message from `chat.message`, or from `message.updated`, which repeats it */
  addPrompt(id: string, at: number, message: unknown, text: string | undefined): void {
    const known = this.findPrompt(id)
    if (known !== undefined) known.text ??= text
    else this.#prompts.push({ id, at, agent: peek(message, 'agent'), model: peek(message, 'model'), text })
    if (this.#prompts.length > PENDING_LIMIT) this.#prompts.shift()
  }

  addPromptText(part: unknown): void {
    const prompt = this.findPrompt(idOf(peek(part, 'messageID')))
    if (prompt !== undefined) prompt.text ??= promptText([part])
  }

  findPrompt(id: string | undefined): Prompt | undefined {
    return this.#prompts.find(prompt => prompt.id === id)
  }

  get lastPrompt(): Prompt | undefined {
    return this.#prompts.at(-1)
  }

  /**
   * Begins the auxiliary request for the session's title. opencode does not report its end, only the new title. The request is
   * therefore emitted when the title arrives, possibly after the turn. If no title arrives, the request failed or was abandoned.
   */
  startTitleRequest({ at, data, output }: TimedEvent, messageId: string | undefined): void {
    const turn = this.turnOf(messageId) ?? messageId
    if (turn === undefined || this.#emitTitleRequest !== undefined) return
    const facts = requestFacts(data, output)
    this.#emitTitleRequest = () => {
      // A message that has not become a turn: the request is emitted without one.
      const scope = new RecordScope(this.#records, this.id, this.turnOf(turn) === undefined ? undefined : turn)
      const request = new ModelRequest(scope, at, { id: `${turn}:title`, task: 'title' })
      request.emitStart(facts)
      this.#emitTitleRequest = undefined
      return request
    }
  }

  abandonTitleRequest(at: number): void {
    const error = { type: 'no_title', message: 'no title came of it; opencode does not tell why' }
    this.#emitTitleRequest?.().emitFailure(at, { error })
  }

  /** Handles `session.created` and `session.updated`, which are emitted for many reasons. */
  readInfo({ at, data }: TimedEvent): void {
    const info = peek(data, 'info')
    this.parentId ??= idOf(peek(info, 'parentID'))
    this.directory = textOf(peek(info, 'directory')) ?? this.directory
    this.agent = peek(info, 'agent') ?? this.agent
    this.createdAt ??= at
    const title = textOf(peek(info, 'title'))
    const isNewTitle = this.#title !== undefined && title !== undefined && title !== this.#title
    this.#title = title ?? this.#title
    if (isNewTitle) this.#emitTitleRequest?.().emitAnswer(at, {})
  }

  turnOf(messageId: string | undefined): string | undefined {
    return messageId === undefined ? undefined : this.#turnOf.get(messageId)
  }

  assign(messageId: string, turnId: string): void {
    this.#turnOf.set(messageId, turnId)
  }

  /**
   * Begins the turn of this message, which includes all messages sent before it.
   *
   * @param at the start time; if undefined, the time of the message
   */
  openTurn(messageId: string, now: number, at: number | undefined, said: unknown): OpencodeTurn {
    const prompts = this.#prompts.splice(0, this.#prompts.findIndex(({ id }) => id === messageId) + 1)
    const own = prompts.at(-1)
    const startedAt = at ?? own?.at ?? now
    const turn = new OpencodeTurn(this.#records, this.id, messageId, startedAt)
    this.turn = turn
    this.hadTurn = true
    this.assign(messageId, messageId)
    for (const { id } of prompts) this.assign(id, messageId)
    const used = own?.model ?? said
    const [model, provider, parent_session_id] = [peek(used, 'modelID'), peek(used, 'providerID'), this.parentId]
    // opencode's own agent: `build`, `plan`, or one defined by the user. The agent of the trace is opencode.
    const profile = textOf(own?.agent) ?? textOf(this.agent)
    const cwd = this.directory
    turn.emit('on_session_start', startedAt, { model, provider, profile, parent_session_id, cwd })
    const texts = prompts.map(({ text }) => text)
    const user_message = joinTexts(texts, BLANK_LINE)
    turn.emit('pre_llm_call', startedAt, { model, provider, user_message, parent_session_id })
    return turn
  }

  /** @param call the tool call that requested this session; undefined if unknown */
  startDelegation(parent: OpencodeTurn, at: number, call?: OpencodeToolCall, correlation?: Correlation): void {
    if (this.delegation !== undefined) return
    if (call !== undefined) call.childId = this.id
    const startedAt = Math.min(at, Math.max(this.createdAt ?? at, call?.startAt ?? 0))
    this.delegation = new DelegatedTask(parent, startedAt, {
      child_session_id: this.id,
      child_role: textOf(peek(call?.args, 'subagent_type')) ?? textOf(this.agent),
      tool_call_id: call?.id,
    })
    this.delegation.emitStart(peek(call?.args, 'prompt'), correlation)
  }

  endDelegation(at: number, status: string, summary?: string): void {
    const { delegation } = this
    this.delegation = undefined
    delegation?.emitEnd(at, { status, summary, durationMillis: at - delegation.startAt })
  }
}

/** Agents that opencode itself runs in a user's session. */
const TITLE = 'title'
const SUMMARY = 'summary'

/** Bus events that are not about a turn, or that repeat other events. */
const QUIET_ON_BUS = `
  catalog.updated command.executed file.edited file.watcher.updated global.disposed installation.update-available
  installation.updated integration.connection.updated integration.updated lsp.client.diagnostics lsp.updated
  mcp.browser.open.failed mcp.tools.changed message.part.removed message.removed models-dev.refreshed
  permission.v2.asked permission.v2.replied plugin.added project.directories.updated project.updated pty.created
  pty.deleted pty.exited pty.updated question.replied question.v2.asked question.v2.rejected question.v2.replied
  reference.updated server.connected server.instance.disposed session.compacted session.diff todo.updated
  tui.command.execute tui.prompt.append tui.session.select tui.toast.show vcs.branch.updated workspace.failed
  workspace.ready workspace.status worktree.failed worktree.ready`

/** Hooks whose observing counterparts on the bus are read instead. */
const QUIET_HOOKS = `
  PLUGIN_INIT chat.headers command.execute.before config experimental.chat.messages.transform
  experimental.chat.system.transform experimental.compaction.autocontinue experimental.provider.small_model
  experimental.session.compacting experimental.text.complete permission.ask shell.env tool.definition
  tool.execute.after tool.execute.before`

const QUIET = [...namesIn(QUIET_ON_BUS).map(type => `event.${type}`), ...namesIn(QUIET_HOOKS)]

export class OpencodeMachine extends EventMachine {
  readonly #sessions = new SessionStates<OpencodeSession>(id => new OpencodeSession(this.records, id))
  protected readonly events: EventHandlers = eventHandlers(
    {
      'chat.message': this.#withSession((session, { at, data, output }) => {
        const message = peek(output, 'message')
        const id = idOf(peek(message, 'id')) ?? idOf(peek(data, 'messageID'))
        if (id === undefined || session.turnOf(id) !== undefined) return
        session.addPrompt(id, at, message, promptText(peek(output, 'parts')))
        const idleAt = session.turn?.idleAt
        if (idleAt !== undefined) this.#endTurn(session, idleAt)
      }),
      'chat.params': this.#withSession((session, moment) => {
        const { at, data } = moment
        const agent = agentOf(data)
        const messageId = idOf(peek(peek(data, 'message'), 'id'))
        if (agent === TITLE) session.startTitleRequest(moment, messageId)
        if (agent === TITLE || agent === SUMMARY) return
        const model = { modelID: peek(peek(data, 'model'), 'id'), providerID: peek(peek(data, 'model'), 'providerID') }
        this.#turnFor(session, messageId, at, model)?.startRequest(moment)
      }),
      'event.session.created': this.#withSession((session, moment) => session.readInfo(moment)),
      'event.session.updated': this.#withSession((session, moment) => session.readInfo(moment)),
      'event.session.deleted': this.#withSession((session, { at }) => this.#closeSession(at, session, 'deleted')),
      'event.session.status': this.#withSession((session, { at, data }) => {
        const status = peek(data, 'status')
        const type = peek(status, 'type')
        if (type === 'idle') this.#idle(session, at)
        else if (type === 'retry') session.turn?.announceRetry(at, status)
        else if (type === 'busy') {
          const { lastPrompt } = session
          if (session.turn === undefined && lastPrompt !== undefined) this.#openTurn(session, lastPrompt.id, at)
          if (session.turn !== undefined) session.turn.isOnBus = true
        }
      }),
      'event.session.idle': this.#withSession((session, { at }) => this.#idle(session, at)),
      'event.session.error': this.#withSession(({ turn }, { at, data }) => turn?.receiveError(at, peek(data, 'error'))),
      'event.message.updated': this.#withSession((session, { at, data }) => {
        const info = peek(data, 'info')
        const role = peek(info, 'role')
        if (role === 'user') userMessage(session, at, info)
        else if (role === 'assistant') this.#assistantMessage(session, at, info)
      }),
      'event.message.part.updated': this.#withSession((session, { at, data }) => {
        const part = peek(data, 'part')
        const type = peek(part, 'type')
        if (type === 'text') session.addPromptText(part)
        if (session.turn === undefined) return
        if (type === 'tool') this.#toolPart(session.turn, at, part)
        else session.turn.readPart(at, part)
      }),
      'event.message.part.delta': this.#withSession(({ turn }, { at, data }) =>
        turn?.receiveOutput(at, idOf(peek(data, 'messageID'))),
      ),
      'event.permission.asked': this.#withSession(({ turn }, { at, data }) => turn?.addPermission(at, data)),
      'event.permission.updated': this.#withSession(({ turn }, { at, data }) => turn?.addPermission(at, data)),
      'event.permission.replied': this.#withSession(({ turn }, { at, data }) => turn?.receiveReply(at, data)),
      'event.question.asked': this.#withSession(({ turn }, { data }) => turn?.addQuestion(data)),
      'event.question.rejected': this.#withSession(({ turn }, { data }) => turn?.dismissQuestion(data)),
      dispose: ({ at, data }) => {
        const directory = textOf(peek(data, 'directory'))
        for (const session of this.#sessions.values()) {
          const isMeant = (session.directory ?? directory) === (directory ?? session.directory)
          if (isMeant) this.#closeSession(at, session, 'dispose')
        }
      },
    },
    QUIET,
  )

  #withSession(read: (session: OpencodeSession, moment: TimedEvent) => void): EventHandler {
    return moment => {
      const id = sessionOf(moment.data)
      if (id !== undefined) read(this.#sessions.get(id), moment)
    }
  }

  protected endSessions(at: number): void {
    for (const session of this.#sessions.values()) {
      if (session.turn?.idleAt !== undefined) this.#endTurn(session, session.turn.idleAt)
      session.abandonTitleRequest(at)
    }
  }

  /**
   * Returns the turn of a user message, and starts it if necessary. In the middle of a turn, a message without `chat.message` is
   * opencode's own (after a compaction or a command) and joins the turn. Returns undefined if the turn has ended.
   */
  #turnFor(session: OpencodeSession, id: string | undefined, at: number, model: unknown): OpencodeTurn | undefined {
    const { turn } = session
    if (id === undefined) return turn
    const known = session.turnOf(id)
    if (known !== undefined) return known === turn?.turnId ? turn : undefined
    if (turn?.turnId !== undefined && session.findPrompt(id) === undefined) {
      session.assign(id, turn.turnId)
      return turn
    }
    // The message was sent during the previous turn and is processed after it.
    this.#endTurn(session, at, true)
    return this.#openTurn(session, id, at, turn === undefined ? undefined : at, model)
  }

  #openTurn(session: OpencodeSession, messageId: string, now: number, at?: number, model?: unknown): OpencodeTurn {
    session.abandonTitleRequest(now)
    this.#inferDelegation(session, now)
    return session.openTurn(messageId, now, at, model)
  }

  #assistantMessage(session: OpencodeSession, at: number, info: unknown): void {
    const parentId = idOf(peek(info, 'parentID'))
    const isComplete = peek(peek(info, 'time'), 'completed') !== undefined
    // A complete message is no sign of a missed turn: it may be years old.
    if (isComplete && session.turnOf(parentId) === undefined) return
    const turn = this.#turnFor(session, parentId, at, info)
    turn?.readMessage(at, info)
    if (turn?.idleAt !== undefined && !turn.isWriting) this.#endTurn(session, at)
  }

  #toolPart(turn: OpencodeTurn, at: number, part: unknown): void {
    const state = peek(part, 'state')
    const status = peek(state, 'status')
    const call = turn.callOfPart(at, part, status)
    if (call === undefined || call.state === 'ended') return
    if (call.state === 'asked') turn.receiveOutput(at, call.messageId)
    if (status !== 'running' && status !== 'completed' && status !== 'error') return
    call.startTool(at, state)
    if (status === 'running') this.#joinChild(turn, call, at, state)
    else {
      turn.cancelPermissions(at, call.id)
      this.#endUnstartedChild(call, at, status)
      call.endTool(at, state, turn.isStopped)
    }
  }

  #joinChild(turn: OpencodeTurn, call: OpencodeToolCall, at: number, state: unknown): void {
    const childId = idOf(peek(peek(state, 'metadata'), 'sessionId'))
    if (childId === undefined || childId === turn.sessionId || call.childId !== undefined) return
    call.childId = childId
    const child = this.#sessions.get(childId)
    child.parentId ??= turn.sessionId
    child.startDelegation(turn, at, call)
  }

  /** Starts a delegation to a child that begins to work before any tool has named it. */
  #inferDelegation(child: OpencodeSession, at: number): void {
    const { parentId, delegation, hadTurn } = child
    const parent = parentId === undefined || hadTurn ? undefined : this.#sessions.find(parentId)?.turn
    if (parent === undefined || delegation !== undefined) return
    const [call, ...others] = parent.callsWithoutChild()
    child.startDelegation(parent, at, others.length === 0 ? call : undefined, 'inferred')
  }

  /**
   * Ends the delegation of a tool that is done if its child never began. A child that is working, or about to, continues in the
   * background.
   */
  #endUnstartedChild(call: OpencodeToolCall, at: number, status: 'completed' | 'error'): void {
    const child = this.#sessions.find(call.childId ?? '')
    const isAtWork = child?.turn !== undefined || child?.lastPrompt !== undefined
    if (child?.delegation === undefined || child.delegation.ids.tool_call_id !== call.id || isAtWork) return
    child.endDelegation(at, status === 'completed' ? 'completed' : 'failed')
  }

  #idle(session: OpencodeSession, at: number): void {
    const { turn } = session
    if (turn === undefined || !turn.isOnBus) return
    // After an error, `idle` is emitted twice, and before the tools and the message of the last step are closed.
    if (turn.isWriting) turn.idleAt ??= at
    else this.#endTurn(session, at)
  }

  #endTurn(session: OpencodeSession, at: number, isTakenOver = false): void {
    const { turn } = session
    if (turn === undefined) return
    session.turn = undefined
    const end = turn.endOf(isTakenOver)
    turn.cancelPermissions(at)
    turn.emitAnswer(at, end.outcome === 'completed' ? turn.answer : undefined)
    turn.emitEnd(at, end)
    session.endDelegation(at, end.outcome, turn.answer)
  }

  #closeSession(at: number, session: OpencodeSession, reason: string): void {
    this.#sessions.delete(session.id)
    const { turn } = session
    if (turn?.idleAt === undefined) turn?.cancelPermissions(at)
    else this.#endTurn(session, turn.idleAt)
    session.abandonTitleRequest(at)
    if (session.hadTurn) this.records.addRecord('on_session_finalize', at, { session_id: session.id, reason })
    session.endDelegation(at, 'interrupted')
  }
}

function userMessage(session: OpencodeSession, at: number, info: unknown): void {
  const id = idOf(peek(info, 'id'))
  if (id === undefined || session.turnOf(id) !== undefined || session.findPrompt(id) !== undefined) return
  if (session.turn?.turnId === undefined) session.addPrompt(id, at, info, undefined)
  else session.assign(id, session.turn.turnId)
}

function sessionOf(data: unknown): string | undefined {
  return (
    idOf(peek(data, 'sessionID')) ??
    idOf(peek(peek(data, 'info'), 'sessionID')) ??
    idOf(peek(peek(data, 'part'), 'sessionID')) ??
    idOf(peek(peek(data, 'info'), 'id'))
  )
}
