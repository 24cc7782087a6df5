import { booleanOf, elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { EventHandlers, TimedEvent } from '../base/event-machine.ts'
import { EventMachine, eventHandlers, handlersByName, namesIn, plausibleTime } from '../base/event-machine.ts'
import { LimitedMap, SessionStates } from '../base/limited-map.ts'
import { countOf, looksLikeJson, plainText, type ToolCallPart, toolCallsOf } from '../base/messages.ts'
import { RecordScope, type Records } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import { Approval, DelegatedTask, Tool } from '../base/tool.ts'
import { HostTurn } from '../base/turn.ts'
import { readUsage, type UsageCounts } from '../base/usage.ts'

interface OpenClawMessage {
  readonly role: unknown
  readonly content: unknown
  readonly tool_calls?: readonly ToolCallPart[]
  readonly tool_call_id?: string
}

const MESSAGES_LIMIT = 100

function messageOf(message: unknown): OpenClawMessage {
  const content = peek(message, 'content')
  const calls = toolCallsOf(content)
  const toolCallId = idOf(peek(message, 'toolCallId'))
  const role = peek(message, 'role')
  return {
    role: role === 'toolResult' ? 'tool' : role,
    content: plainText(content) ?? (calls.length > 0 || countOf(content) === 0 ? undefined : content),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
  }
}

/** The ids of an event. Hooks have them in the event or the context, agent events in both. */
interface Facts {
  readonly at: number
  readonly data: unknown
  readonly context: unknown
  readonly runId: string | undefined
  readonly sessionKey: string | undefined
  readonly sessionId: string | undefined
}

/** The name of events from the agent event stream (`api.runtime.events.onAgentEvent`), beside the hooks. */
export const AGENT_EVENT = 'AGENT_EVENT'

function factsOf({ event, at, data, context }: TimedEvent): Facts {
  const id = (key: string): string | undefined => idOf(peek(data, key)) ?? idOf(peek(context, key))
  return {
    at,
    data: event === AGENT_EVENT ? peek(data, 'data') : data,
    context,
    runId: id('runId'),
    sessionKey: id('sessionKey'),
    sessionId: id('sessionId'),
  }
}

const IDS_LIMIT = 10_000

/** A conversation. The host names it by a permanent key, and by an id that a reset replaces. */
class OpenClawSession {
  key: string | undefined
  id: string | undefined
  /** The open run. Runs are sequential: the host queues further input. */
  run: Run | undefined
  lastRun: Run | undefined
  delegation: DelegatedTask | undefined
  parentName: string | undefined
  compaction: { readonly request: ModelRequest; readonly run: Run | undefined } | undefined
  compactionCount = 0

  /** The session id in records. A sub-agent's session uses its key, because the parent emits it before an id exists. */
  get name(): string | undefined {
    return textOf(this.delegation?.ids.child_session_id) ?? this.id ?? this.key
  }
}

/** One run of the agent: a user turn. All attempts of the run share OpenClaw's run id. */
class Run extends HostTurn {
  readonly session: OpenClawSession
  model: unknown
  provider: unknown
  /** True if the host permits access to the conversation. Otherwise no message text is recorded, from any hook. */
  seesConversation = false
  messages: OpenClawMessage[] = []
  system: unknown
  toolCount: number | undefined
  /** Newest calls by the host's call id, which a retry reuses. Ended ones are emitted later, because more facts may follow. */
  readonly calls: Map<string, OpenClawCall> = new LimitedMap(IDS_LIMIT)
  endedCalls: OpenClawCall[] = []
  lastCall: OpenClawCall | undefined
  hasUsage = false
  readonly tools: Map<string, RunTool> = new LimitedMap(IDS_LIMIT)
  readonly openTools: Set<RunTool> = new Set()
  readonly requestingCalls: Map<string, OpenClawCall> = new LimitedMap(IDS_LIMIT)
  readonly approvals: Map<string, Approval> = new Map()
  answer: string | undefined
  /** Reported facts about the end, before it is certain that the run has ended. */
  ending: { agentFailed?: boolean; failed?: boolean; interrupted?: boolean; reason?: string } = {}

  constructor(records: Records, id: string, session: OpenClawSession, { at, data, context }: Facts) {
    // Fixed here: the session id can change during the run.
    super(records, session.name, id, at)
    this.session = session
    this.model = textOf(peek(data, 'model')) ?? textOf(peek(context, 'modelId'))
    this.provider = textOf(peek(data, 'provider')) ?? textOf(peek(context, 'modelProviderId'))
  }

  addMessage(message: OpenClawMessage): void {
    if (!this.seesConversation) return
    this.messages.push(message)
    if (this.messages.length > 2 * MESSAGES_LIMIT) this.messages = this.messages.slice(-MESSAGES_LIMIT)
  }

  releaseContent(): void {
    this.messages = []
    this.system = undefined
    this.lastCall = undefined
    this.answer = undefined
    for (const kept of [this.calls, this.tools, this.openTools, this.requestingCalls, this.approvals]) kept.clear()
  }
}

class OpenClawCall extends ModelRequest {
  endAt: number | undefined
  end: unknown
  /** The answer or error message, which usually arrives after the end. */
  message: unknown
  reply: OpenClawMessage | undefined
  hasFailed = false
  asksForTools = false

  get sentAt(): number | undefined {
    return this.isStartEmitted ? this.startAt : undefined
  }
}

class RunTool extends Tool<Run> {
  isWritten = false
  endAt: number | undefined
  result: unknown
  error: unknown
  isError: boolean | undefined
  status: unknown
  durationMillis: unknown
}

const SESSIONS_LIMIT = 1000

/** Sessions by key and by id: some events have both, `before_message_write` only the key. */
class Sessions {
  readonly #byKey = new LimitedMap<string, OpenClawSession>(SESSIONS_LIMIT)
  readonly #byId = new LimitedMap<string, OpenClawSession>(SESSIONS_LIMIT)
  #newest: OpenClawSession | undefined

  of({ sessionKey, sessionId }: Pick<Facts, 'sessionKey' | 'sessionId'>): OpenClawSession | undefined {
    if (sessionKey === undefined && sessionId === undefined) return undefined
    const newest = this.#newest
    // Fast path: consecutive events usually belong to the same session.
    if (newest !== undefined && newest.key === sessionKey && newest.id === sessionId) return newest
    const session = this.#byKey.get(sessionKey ?? '') ?? this.#byId.get(sessionId ?? '') ?? new OpenClawSession()
    session.key ??= sessionKey
    session.id = sessionId ?? session.id
    if (sessionKey !== undefined) this.#byKey.recall(sessionKey, () => session)
    if (sessionId !== undefined) this.#byId.recall(sessionId, () => session)
    this.#newest = session
    return session
  }

  values(): OpenClawSession[] {
    return [...new Set([...this.#byKey.values(), ...this.#byId.values()])]
  }
}

/** Hooks overlap: a run may have ended here while the host still emits its events. */
const OVERLAP_MILLIS = 10_000

/**
 * Handles `subagent_spawned`. It precedes the id of the child's session, so that session is named by its key from here on. The
 * child's turns are found by the name emitted here.
 *
 * @param parent the session that spawned the child
 */
function startDelegation(parent: OpenClawSession, child: OpenClawSession, { at, data }: Facts): void {
  if (child.delegation?.hasEnded === false) return
  const { lastRun } = parent
  const isRecent = lastRun !== undefined && at - lastRun.lastAt < OVERLAP_MILLIS
  const run = parent.run ?? (isRecent ? lastRun : undefined)
  if (run === undefined) {
    // The user spawned it by hand: it belongs to no turn of the parent.
    child.parentName = parent.name
    return
  }
  const label = textOf(peek(data, 'label'))
  const tool = spawningTool(parent, label)
  child.delegation = new DelegatedTask(run, at, {
    child_session_id: child.key,
    child_subagent_id: peek(data, 'runId'),
    child_role: peek(data, 'agentId'),
    tool_call_id: tool?.id,
  })
  child.delegation.emitStart(peek(tool?.args, 'task') ?? label, tool === undefined ? undefined : 'inferred')
}

/** Guesses the spawning call, which the event does not name: the only open one, or the one with the same label. */
function spawningTool({ run }: OpenClawSession, label: string | undefined): RunTool | undefined {
  const open = [...(run?.openTools ?? [])].filter(tool => tool.name === 'sessions_spawn')
  const [only, ...others] = open
  if (others.length === 0) return only
  const labelled = open.filter(tool => label !== undefined && peek(tool.args, 'label') === label)
  return labelled.length === 1 ? labelled[0] : undefined
}

/** Handles `subagent_ended`, emitted only after the parent has received the result. It contains the time of the actual end. */
function endDelegation({ delegation }: OpenClawSession, at: number, data?: unknown): void {
  const status = idOf(peek(data, 'outcome')) ?? 'unknown'
  delegation?.emitEnd(plausibleTime(peek(data, 'endedAt'), at), { status, summary: textOf(peek(data, 'error')) })
}

/** Emits a session start for each run: `agent --local` has no such hook. */
function openRun(run: Run, at: number, { data, context }: Facts, prompt: unknown): void {
  const { model, provider } = run
  const trigger = peek(context, 'trigger')
  const platform = peek(context, 'messageProvider') ?? peek(context, 'channel')
  const sender_id = peek(context, 'senderId')
  run.emit('on_session_start', at, {
    model,
    provider,
    platform,
    sender_id,
    parent_session_id: run.session.parentName,
    agent_name: peek(context, 'agentId') ?? peek(data, 'agentId'),
    trigger,
    session_type: trigger === 'heartbeat' ? trigger : undefined,
    job_id: peek(context, 'jobId'),
    cwd: peek(context, 'workspaceDir'),
  })
  run.emit('pre_llm_call', at, { model, platform, sender_id, user_message: prompt })
}

/** Reads the next input of the model: the conversation so far. Emitted again for each attempt of the run. */
function readInput(run: Run, data: unknown): void {
  run.seesConversation = true
  run.system = peek(data, 'systemPrompt')
  run.toolCount = countOf(peek(data, 'tools'))
  run.messages = elementsOf(peek(data, 'historyMessages'), MESSAGES_LIMIT, 'last').map(messageOf)
  const prompt = peek(data, 'prompt')
  if (prompt !== undefined) run.messages.push({ role: 'user', content: prompt })
}

/**
 * Reads the run's own end. It is final if all attempts have settled (`executionSettled`). An error without that flag may be
 * followed by another attempt.
 *
 * @returns the time of the end, if it is final
 */
function readLifecycle(run: Run, { at, data }: Facts): number | undefined {
  const phase = peek(data, 'phase')
  if (phase !== 'end' && phase !== 'error') return undefined
  const isAborted = booleanOf(peek(data, 'aborted')) === true
  const observed = peek(data, 'errorObservation')
  const reason = idOf(peek(observed, 'failoverReason')) ?? idOf(peek(data, 'stopReason'))
  run.ending.interrupted = isAborted
  const hasError = phase === 'error' || textOf(peek(data, 'error')) !== undefined
  run.ending.failed = !isAborted && (hasError || run.lastCall?.hasFailed === true)
  if (reason !== undefined) run.ending.reason = reason
  const text = textOf(peek(peek(data, 'terminalReply'), 'text'))
  if (run.seesConversation && text !== undefined) run.answer ??= text
  const isLast = phase === 'end' || peek(data, 'executionSettled') === true
  return isLast ? plausibleTime(peek(data, 'endedAt'), at) : undefined
}

/** Ends the run. The outcome is derived from the events, because `agent_end` reports success even if the only call failed. */
function closeRun(run: Run, at: number, reason: string | undefined): void {
  const { ending, lastCall, model } = run
  const failed = ending.interrupted !== true && (ending.failed ?? (ending.agentFailed || lastCall?.hasFailed === true))
  const isAnswered = ending.failed === false || isLastWord(run)
  const interrupted = ending.interrupted === true || (!failed && !isAnswered)
  run.emitAnswer(at, failed ? undefined : run.answer, model)
  const outcome = failed ? 'failed' : interrupted ? 'interrupted' : 'completed'
  run.emitEnd(at, { outcome, reason: ending.reason ?? (interrupted ? reason : undefined), model })
}

function isLastWord({ lastCall, tools }: Run): boolean {
  if (lastCall?.endAt === undefined || lastCall.hasFailed || lastCall.asksForTools) return false
  for (const tool of tools.values()) if (tool.startAt >= lastCall.endAt) return false
  return true
}

export type Read = (machine: OpenClawMachine, facts: Facts) => void

/** Reads events about what `find` returns. If it returns nothing, the event adds nothing. */
function about<Subject>(find: (machine: OpenClawMachine, facts: Facts) => Subject | undefined) {
  return (read: (subject: Subject, facts: Facts, machine: OpenClawMachine) => void): Read =>
    (machine, facts) => {
      const subject = find(machine, facts)
      if (subject !== undefined) read(subject, facts, machine)
    }
}

const inOpenRun = about((machine, facts) => machine.findRun(facts))
const inRun = about((machine, facts) => machine.openedRun(facts))
const inSession = about((machine, facts) => machine.sessions.of(facts))

/** The hooks that yield records. Other hooks exist for plugins that change what happens. */
const READINGS: Readonly<Record<string, Read>> = {
  before_model_resolve: (machine, facts) => machine.openedRun(facts, peek(facts.data, 'prompt')),
  llm_input: (machine, facts) => {
    const run = machine.openedRun(facts, peek(facts.data, 'prompt'))
    if (run !== undefined) readInput(run, facts.data)
  },
  model_call_started: inRun((run, facts) => {
    settleTools(run)
    startCall(run, facts)
  }),
  model_call_ended: inRun(endCall),
  before_message_write: inOpenRun(handleMessage),
  after_tool_call: handleToolEnd,
  // For each attempt. Only `success: false` is used: the hook reports success even if the run's call failed.
  agent_end: inOpenRun(({ ending }, { data }) => {
    if (booleanOf(peek(data, 'success')) === false) ending.agentFailed = true
  }),
  llm_output: inOpenRun(handleOutput),
  before_compaction: inSession((session, facts, machine) => startCompaction(machine.scopeOf(session), session, facts)),
  after_compaction: inSession((session, { at }) => endCompaction(session, at)),
  subagent_spawned: (machine, facts) => {
    const child = sessionOfKey(machine, peek(facts.data, 'childSessionKey'))
    const parent = sessionOfKey(machine, peek(facts.context, 'requesterSessionKey'))
    if (child !== undefined && parent !== undefined) startDelegation(parent, child, facts)
  },
  subagent_ended: (machine, { at, data }) => {
    const child = sessionOfKey(machine, peek(data, 'targetSessionKey'))
    if (child !== undefined) endDelegation(child, at, data)
  },
  session_start: (machine, facts) => machine.sessions.of(facts),
  session_end: inSession(handleSessionEnd),
  gateway_stop: machine => machine.finishAll('gateway_stop'),
}

/** `REGISTER`: added by this package's own captures. */
const QUIET = namesIn(`
  REGISTER agent_turn_prepare before_prompt_build before_agent_run before_agent_reply before_tool_call
  before_agent_finalize heartbeat_prompt_contribution before_reset inbound_claim channel_pairing_requested
  message_received message_sending reply_payload_sending message_sent before_dispatch reply_dispatch resolve_exec_env
  tool_result_persist subagent_delivery_target subagent_progress gateway_start cron_reconciled cron_changed
  before_install skill_proposal_evaluate skill_proposal_changed skill_changed`)

export class OpenClawMachine extends EventMachine {
  readonly sessions: Sessions = new Sessions()
  /** Includes ended runs: late events must not open them again. */
  readonly #runs = new SessionStates((): { run?: Run; begunAt?: number } => ({}), 2000)
  protected readonly events: EventHandlers = eventHandlers(
    {
      ...handlersByName(Object.keys(READINGS), hook => moment => READINGS[hook]?.(this, factsOf(moment))),
      [AGENT_EVENT]: moment => STREAMS.get(peek(moment.data, 'stream'))?.(this, factsOf(moment)),
    },
    QUIET,
  )

  findRun(facts: Facts): Run | undefined {
    const { runId } = facts
    const run = runId === undefined ? this.sessions.of(facts)?.run : this.#runs.find(runId)?.run
    if (run === undefined || run.hasEnded) return undefined
    run.lastAt = Math.max(run.lastAt, facts.at)
    return run
  }

  /** Like `findRun`, but starts an unknown run. Only for events that a run must cause. */
  openedRun(facts: Facts, prompt?: unknown): Run | undefined {
    const known = this.findRun(facts)
    if (known !== undefined || facts.runId === undefined) return known
    const entry = this.#runs.get(facts.runId)
    if (entry.run !== undefined) return undefined
    const session = this.sessions.of(facts) ?? new OpenClawSession()
    if (session.run !== undefined) this.finishRun(session.run, session.run.lastAt)
    const run = new Run(this.records, facts.runId, session, facts)
    entry.run = run
    session.run = run
    openRun(run, Math.min(entry.begunAt ?? facts.at, facts.at), facts, prompt)
    return run
  }

  /**
   * Notes the start of a run. Its first records are emitted with a later event that has more facts, usually the start of a model
   * call.
   */
  announceRun(facts: Facts): void {
    if (this.findRun(facts) === undefined && facts.runId !== undefined) this.#runs.get(facts.runId).begunAt ??= facts.at
  }

  isAnnounced({ runId }: Facts): boolean {
    const entry = runId === undefined ? undefined : this.#runs.find(runId)
    return entry?.run === undefined && entry?.begunAt !== undefined
  }

  finishRun(run: Run, at: number, reason?: string): void {
    if (run.hasEnded) return
    run.hasEnded = true
    const { session } = run
    emitEndedCalls(run)
    settleTools(run)
    if (session.compaction?.run === run) endCompaction(session, at, 'unfinished')
    if (run.ending.interrupted === true || reason !== undefined) cancelTools(run, at)
    closeRun(run, at, reason)
    if (session.run === run) session.run = undefined
    session.lastRun = run
    run.releaseContent()
  }

  finishAll(reason: string): void {
    for (const { run } of this.sessions.values()) if (run !== undefined) this.finishRun(run, run.lastAt, reason)
  }

  protected endSessions(end: number): void {
    const at = Math.max(end, this.now)
    this.finishAll('shutdown')
    for (const session of this.sessions.values()) {
      endCompaction(session, at, 'unfinished')
      endDelegation(session, at)
    }
  }

  scopeOf({ run, name }: OpenClawSession): RecordScope {
    return run ?? new RecordScope(this.records, name)
  }
}

/** Handles a message that is added to the conversation. The event has a session and no run. */
function handleMessage(run: Run, { at, data }: Facts): void {
  const message = peek(data, 'message')
  const role = peek(message, 'role')
  if (role === 'assistant') joinMessage(run, message)
  if (role !== 'toolResult') return
  const tool = run.tools.get(idOf(peek(message, 'toolCallId')) ?? '')
  if (tool === undefined || tool.isWritten) return
  tool.isWritten = true
  run.addMessage(messageOf(message))
  if (tool.state === 'ended') return
  addToolFacts(tool, { endAt: at, result: message, isError: booleanOf(peek(message, 'isError')) })
}

function handleToolEnd(machine: OpenClawMachine, facts: Facts): void {
  const { at, data, context } = facts
  const id = idOf(peek(data, 'toolCallId')) ?? idOf(peek(context, 'toolCallId'))
  const run = id === undefined ? undefined : machine.openedRun(facts)
  if (run === undefined || id === undefined) return
  const tool = toolOf(run, id, peek(data, 'toolName'), at)
  const [result, error, durationMillis] = [peek(data, 'result'), peek(data, 'error'), peek(data, 'durationMs')]
  tool.args ??= peek(data, 'params')
  addToolFacts(tool, { result, error, durationMillis })
  endTool(tool, at)
}

/** Handles the last hook of an attempt. Its usage is the sum of the run's calls: used only if no call has its own. */
function handleOutput(run: Run, { data }: Facts): void {
  const [text] = elementsOf(peek(data, 'assistantTexts'), 1, 'last')
  if (run.seesConversation) run.answer ??= textOf(text)
  if (run.endedCalls.some(({ hasFailed }) => hasFailed)) return
  emitEndedCalls(run, { runUsage: run.hasUsage ? undefined : callUsage(peek(data, 'usage')) })
}

function sessionOfKey(machine: OpenClawMachine, key: unknown): OpenClawSession | undefined {
  return machine.sessions.of({ sessionKey: idOf(key), sessionId: undefined })
}

/** Handles `session_end`. After a reset, a session keeps its key and gets a new id. A compaction may change the id, too. */
function handleSessionEnd(session: OpenClawSession, { at, data }: Facts, machine: OpenClawMachine): void {
  const reason = textOf(peek(data, 'reason'))
  const next = idOf(peek(data, 'nextSessionId'))
  const old = session.name
  if (next !== undefined) session.id = next
  if (reason === 'compaction') return
  if (session.run !== undefined) machine.finishRun(session.run, session.run.lastAt, reason)
  const { lastRun } = session
  if (lastRun === undefined) return
  session.lastRun = undefined
  const isReset = next !== undefined && (reason === 'reset' || reason === 'new')
  if (isReset) lastRun.records.addRecord('on_session_reset', at, { old_session_id: old, new_session_id: next, reason })
  else lastRun.records.addRecord('on_session_finalize', at, { session_id: old, reason })
}

/**
 * The streams of agent events that are handled. The host never waits for them and catches their errors. The hook
 * `before_tool_call` is not registered instead: a failure in it would block the tool.
 */
export const STREAMS: ReadonlyMap<unknown, Read> = new Map<unknown, Read>([
  ['lifecycle', lifecycle],
  ['tool', tool],
  ['item', item],
  ['run_status', inOpenRun(readStatus)],
  ['approval', inOpenRun(readApproval)],
])

/** Handles the start and end of a run. A run that failed before its first model call has no other events. */
function lifecycle(machine: OpenClawMachine, facts: Facts): void {
  if (peek(facts.data, 'phase') === 'start') {
    machine.announceRun(facts)
    return
  }
  const run = machine.isAnnounced(facts) ? machine.openedRun(facts) : machine.findRun(facts)
  if (run === undefined) return
  const endedAt = readLifecycle(run, facts)
  if (endedAt !== undefined) machine.finishRun(run, endedAt)
}

function readStatus(run: Run, { data }: Facts): void {
  const retry = { retried: true, maxRetries: peek(data, 'maxRetries'), reason: peek(data, 'reason') }
  if (peek(data, 'phase') === 'retrying') emitEndedCalls(run, retry)
}

function tool(machine: OpenClawMachine, facts: Facts): void {
  const { at, data } = facts
  const id = idOf(peek(data, 'toolCallId'))
  const phase = peek(data, 'phase')
  if (id === undefined) return
  if (phase === 'start') {
    const run = machine.openedRun(facts)
    if (run === undefined) return
    const known = toolOf(run, id, peek(data, 'name'), at)
    emitEndedCalls(run)
    startTool(known, peek(data, 'args'), idOf(peek(data, 'parentToolCallId')))
  } else if (phase === 'result') {
    const isError = booleanOf(peek(data, 'isError'))
    addToolFacts(machine.findRun(facts)?.tools.get(id), { endAt: at, result: peek(data, 'result'), isError })
  }
}

/** Handles the display state of a tool: its start, and whether it was denied or failed. The arguments follow the start. */
function item(machine: OpenClawMachine, facts: Facts): void {
  const { at, data } = facts
  const id = idOf(peek(data, 'toolCallId'))
  const phase = peek(data, 'phase')
  if (id === undefined || peek(data, 'kind') !== 'tool') return
  if (phase === 'start') {
    const run = machine.openedRun(facts)
    if (run !== undefined) toolOf(run, id, peek(data, 'name'), plausibleTime(peek(data, 'startedAt'), at))
  } else if (phase === 'end') {
    const endAt = plausibleTime(peek(data, 'endedAt'), at)
    const news = { endAt, status: peek(data, 'status'), error: peek(data, 'error') }
    addToolFacts(machine.findRun(facts)?.tools.get(id), news)
  }
}

type ToolFacts = Partial<Pick<RunTool, 'endAt' | 'result' | 'error' | 'isError' | 'status' | 'durationMillis'>>

function toolOf(run: Run, id: string, name: unknown, startAt: number): RunTool {
  const known = run.tools.get(id)
  if (known !== undefined) return known
  const tool = new RunTool(run, id, name, startAt)
  run.tools.set(id, tool)
  run.openTools.add(tool)
  return tool
}

/**
 * Returns the requesting call: the one whose message names the tool, otherwise the newest. A nested tool inherits its parent's.
 */
function requestOf({ turn, id }: RunTool): string | undefined {
  return (turn.requestingCalls.get(id) ?? turn.lastCall)?.id
}

function startTool(tool: RunTool, args: unknown, parentId?: string): void {
  if (tool.state !== 'asked') return
  const { requestingCalls: askedBy } = tool.turn
  const parent = parentId === undefined ? undefined : askedBy.get(parentId)
  if (parent !== undefined) askedBy.set(tool.id, parent)
  tool.args = args
  tool.requestId = requestOf(tool)
  tool.emitStart()
}

/** Adds facts about the end. The first value of each wins: later events repeat it. */
function addToolFacts(tool: RunTool | undefined, news: ToolFacts): void {
  if (tool === undefined) return
  tool.endAt ??= news.endAt
  tool.result ??= news.result
  tool.error ??= textOf(news.error)
  tool.isError ??= news.isError
  tool.status ??= news.status
  tool.durationMillis ??= news.durationMillis
}

function endTool(tool: RunTool, at: number): void {
  if (tool.state === 'ended') return
  tool.turn.openTools.delete(tool)
  tool.requestId = requestOf(tool)
  const status = statusOf(tool)
  const text = plainText(peek(tool.result, 'content'))
  tool.emitEnd(tool.endAt ?? at, {
    args: tool.args,
    result: text === undefined || looksLikeJson(text) ? tool.result : text,
    duration_ms: numberOf(tool.durationMillis),
    status,
    error_message: status === 'error' ? tool.error : undefined,
  })
  // The tool is kept until its run ends; its input and output are freed.
  tool.args = undefined
  tool.result = undefined
}

function settleTools({ openTools, lastAt }: Run): void {
  for (const tool of openTools) if (tool.endAt !== undefined) endTool(tool, lastAt)
}

/** Cancels the running tools of a stopped run. In other runs their end is unknown: they stay incomplete. */
function cancelTools({ openTools }: Run, at: number): void {
  for (const tool of openTools) {
    if (tool.state !== 'running') continue
    tool.status = 'cancelled'
    endTool(tool, at)
  }
}

/** The host's only hint for a tool that was blocked by a failing hook. */
const REFUSED = 'Tool call blocked'

function statusOf(tool: RunTool): string {
  const details = peek(tool.result, 'details')
  const said = peek(details, 'status')
  const isRefused = peek(details, 'deniedReason') !== undefined || textOf(tool.error)?.startsWith(REFUSED) === true
  if (tool.status === 'blocked' || said === 'blocked' || isRefused) return 'blocked'
  if (tool.status === 'cancelled' || said === 'cancelled') return 'cancelled'
  if (said === 'timeout' || booleanOf(peek(details, 'timedOut')) === true) return 'timeout'
  if (booleanOf(peek(details, 'noOutputTimedOut')) === true) return 'timeout'
  const isFailed = tool.status === 'failed' || tool.isError === true || tool.error !== undefined
  return isFailed ? 'error' : 'ok'
}

function choiceOf(data: unknown): string {
  const status = idOf(peek(data, 'status'))
  if (status !== 'approved') return status === 'denied' ? 'deny' : (status ?? 'unknown')
  return peek(data, 'scope') === 'session' ? 'session' : 'once'
}

/** Handles the stream `approval`: a request to the user, or a notice that the user cannot be asked. */
function readApproval(run: Run, { at, data }: Facts): void {
  const callId = idOf(peek(data, 'toolCallId')) ?? idOf(peek(data, 'approvalId'))
  if (callId === undefined) return
  const isAsked = peek(data, 'phase') === 'requested'
  if (isAsked && !run.approvals.has(callId)) {
    const approval = new Approval(run, callId, peek(data, 'kind'), at)
    run.approvals.set(callId, approval)
    const description = peek(data, 'message') ?? peek(data, 'title')
    approval.emitRequest({ command: peek(data, 'command'), description, surface: peek(data, 'host') })
  }
  if (isAsked && peek(data, 'status') !== 'unavailable') return
  run.approvals.get(callId)?.emitResponse(at, choiceOf(data))
  run.approvals.delete(callId)
}

const CACHE_COUNTS = { cacheRead: 'cacheRead', cacheWrite: 'cacheWrite' }
const COUNTS = { input: 'input', output: 'output', ...CACHE_COUNTS, reasoning: 'reasoningTokens' }

function newCall(run: Run, { at, data }: Facts): OpenClawCall {
  run.model = textOf(peek(data, 'model')) ?? run.model
  run.provider = textOf(peek(data, 'provider')) ?? run.provider
  const call = new OpenClawCall(run, at, run.requests.nextNumbers({ keepsId: false }))
  run.calls.set(callId(data), call)
  run.lastCall = call
  return call
}

function callId(data: unknown): string {
  return idOf(peek(data, 'callId')) ?? ''
}

function startCall(run: Run, facts: Facts): void {
  const known = run.calls.get(callId(facts.data))
  if (known !== undefined && (known.sentAt === facts.at || (known.endAt ?? 0) > facts.at)) return
  emitEndedCalls(run, { retried: true })
  // Discards an end that was reported for an earlier attempt.
  run.ending = {}
  newCall(run, facts).emitStart({
    model: run.model,
    provider: run.provider,
    api_mode: peek(facts.data, 'api'),
    tool_count: run.toolCount,
    message_count: run.seesConversation ? run.messages.length : undefined,
    request_messages: run.seesConversation ? run.messages : undefined,
    system_prompt: run.system,
  })
}

/**
 * Handles `model_call_ended`. The call is emitted with its message, which arrives separately. Hooks can overlap: the
 * message may have arrived first.
 */
function endCall(run: Run, facts: Facts): void {
  const known = run.calls.get(callId(facts.data))
  if (known?.endAt === facts.at) return
  const isOpen = known !== undefined && known.endAt === undefined
  const call = isOpen ? known : newCall(run, facts)
  call.endAt = facts.at
  call.end = facts.data
  call.hasFailed = peek(facts.data, 'outcome') === 'error'
  run.requests.failures = call.hasFailed ? run.requests.failures + 1 : 0
  run.endedCalls.push(call)
  if (call.message !== undefined && !call.hasFailed) emitEndedCalls(run)
}

/** Handles an assistant message: the answer of the last ended call, or of the open one. */
function joinMessage(run: Run, message: unknown): void {
  const call = run.endedCalls.find(waiting => waiting.message === undefined) ?? openCall(run)
  if (call === undefined) return
  const reply = messageOf(message)
  call.message = message
  call.reply = reply
  run.addMessage(reply)
  const { tool_calls: asked = [] } = reply
  call.asksForTools = asked.length > 0
  for (const { id } of asked) if (id !== undefined) run.requestingCalls.set(id, call)
  if (run.seesConversation && !call.asksForTools) run.answer = textOf(reply.content) ?? run.answer
  if (call.endAt !== undefined && !call.hasFailed) emitEndedCalls(run)
}

function openCall({ lastCall }: Run): OpenClawCall | undefined {
  return lastCall?.endAt === undefined && lastCall?.message === undefined ? lastCall : undefined
}

interface LaterFacts {
  readonly retried?: boolean
  readonly maxRetries?: unknown
  readonly reason?: unknown
  readonly runUsage?: UsageCounts | undefined
}

function emitEndedCalls(run: Run, aftermath: LaterFacts = {}): void {
  const calls = run.endedCalls
  run.endedCalls = []
  for (const call of calls) {
    if (call.hasFailed) emitFailure(run, call, aftermath)
    else emitAnswer(run, call, aftermath)
    // Calls are kept until their run ends; their contents are freed.
    call.end = undefined
    call.message = undefined
    call.reply = undefined
  }
}

/** OpenClaw's `input` excludes the cache, and its `output` includes reasoning. */
function callUsage(usage: unknown): UsageCounts | undefined {
  return readUsage(usage, COUNTS, { cacheIsOutside: true })
}

function durationOf({ end }: OpenClawCall): number | undefined {
  const millis = numberOf(peek(end, 'durationMs'))
  return millis === undefined ? undefined : millis / 1000
}

function emitAnswer(run: Run, call: OpenClawCall, { runUsage }: LaterFacts): void {
  const { message, reply, end } = call
  const usage = callUsage(peek(message, 'usage')) ?? runUsage
  run.hasUsage ||= usage !== undefined
  const untilFirstByte = numberOf(peek(end, 'timeToFirstByteMs'))
  if (untilFirstByte !== undefined && call.isStartEmitted) call.firstChunkAt = call.startAt + untilFirstByte
  const facts = {
    model: run.model,
    provider: run.provider,
    api_duration: durationOf(call),
    finish_reason: peek(message, 'stopReason'),
    response_id: peek(message, 'responseId'),
    response_model: peek(message, 'responseModel'),
    usage,
    cost: peek(peek(message, 'usage'), 'cost'),
    assistant_tool_call_count: reply && (reply.tool_calls?.length ?? 0),
    response: run.seesConversation && reply !== undefined ? { message: reply } : undefined,
  }
  const isGuess = message === undefined ? usage !== undefined : !isOfCall(message, call)
  call.emitAnswer(call.endAt ?? run.lastAt, facts, isGuess ? 'inferred' : undefined)
}

/** Returns true if the message's timestamp lies within the call. Otherwise the two are joined by order alone. */
function isOfCall(message: unknown, call: OpenClawCall): boolean {
  const at = numberOf(peek(message, 'timestamp'))
  const { sentAt, endAt } = call
  return at !== undefined && sentAt !== undefined && endAt !== undefined && at >= sentAt && at <= endAt
}

function emitFailure(run: Run, call: OpenClawCall, { retried, maxRetries, reason }: LaterFacts): void {
  const { end, message } = call
  const kind = peek(end, 'failureKind')
  const type = textOf(peek(message, 'errorType')) ?? textOf(kind) ?? textOf(peek(end, 'errorCategory'))
  call.emitFailure(call.endAt ?? run.lastAt, {
    model: run.model,
    provider: run.provider,
    api_duration: durationOf(call),
    status_code: numberOf(peek(message, 'errorCode')),
    max_retries: maxRetries,
    retryable: retried,
    reason: textOf(reason) ?? textOf(kind),
    error: { type, message: textOf(peek(message, 'errorMessage')) },
  })
}

/** Handles `before_compaction`. Between two runs it belongs to no run. */
function startCompaction(scope: RecordScope, session: OpenClawSession, { at, data }: Facts): void {
  if (session.compaction !== undefined) return
  session.compactionCount += 1
  const { run, name } = session
  const id = `${name ?? ''}:compaction:${session.compactionCount}`
  const request = new ModelRequest(scope, at, { id, task: 'compression' })
  session.compaction = { request, run }
  request.emitStart({
    model: run?.model,
    provider: run?.provider,
    message_count: numberOf(peek(data, 'compactingCount')) ?? numberOf(peek(data, 'messageCount')),
    approx_input_tokens: numberOf(peek(data, 'tokenCount')),
  })
}

function endCompaction(session: OpenClawSession, at: number, failure?: string): void {
  const { compaction } = session
  session.compaction = undefined
  const { model, provider } = compaction?.run ?? {}
  compaction?.request.emitFailure(at, { model, provider, error_type: failure })
}
