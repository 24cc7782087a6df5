import { elementsOf, idOf, isArray, peek, textOf } from '../../contract/foreign.ts'
import type { Correlation } from '../../contract/index.ts'
import type { EventHandler, EventHandlers, TimedEvent } from '../base/event-machine.ts'
import { EventMachine, eventHandlers, namesIn } from '../base/event-machine.ts'
import { LimitedMap, SessionStates } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'
import type { ModelRequest } from '../base/requests.ts'
import { Approval, controlHookOf, DelegatedTask, Tool, ToolHooks } from '../base/tool.ts'
import { HostTurn, type HostTurnEnd } from '../base/turn.ts'
import { addUsage, type UsageCounts } from '../base/usage.ts'
import { jsonIn } from '../event-json.ts'
import type { AnswerToolCall, ModelAnswer } from './messages.ts'
import { answerMessage, answerOf, isModelKnown, isModelSpan, loopTokensOf, promptOf, requestOf } from './messages.ts'

const ENDED_SPANS_LIMIT = 2500
/** After this time without an event, a turn is over: its end was lost. */
const STALE_MILLIS = 600_000

interface OpenModelRequest {
  readonly request: ModelRequest
  readonly turn: AgentTurn
  readonly type: string
  readonly data: unknown
}

/** One run of a tool. Its id is the model's call id, or else the span's. */
class ToolRun extends Tool<AgentTurn> {
  text: string | undefined
  /** An agent that ran as this tool needs an approval: the tool has not really ended. */
  isInterrupted = false
  tokens: UsageCounts | undefined
}

class PendingApproval extends Approval<AgentTurn> {
  readonly call: AnswerToolCall

  constructor(turn: AgentTurn, call: AnswerToolCall) {
    super(turn, call.id, call.name, 0)
    this.call = call
  }

  emitQuestion(at: number, correlation?: Correlation): void {
    if (!this.isAsked) this.askedAt = at
    this.emitRequest({ command: this.call.args, surface: 'interruption' }, correlation)
  }
}

type Choice = 'once' | 'always' | 'deny'

interface TurnParent {
  readonly turn: AgentTurn
  readonly tool: ToolRun | undefined
}

class AgentTurn extends HostTurn {
  readonly trace: Trace
  readonly parent: TurnParent | undefined
  /** The span that ends the turn; undefined if its start was missed. */
  owner: AgentSpanNode | undefined
  agentName: string | undefined
  model: string | undefined
  prompt: unknown
  history: readonly unknown[] | undefined
  answer: unknown
  isOpen = false
  isLoopOpen = false
  isInterrupted = false
  hasTrippedGuardrail = false
  requestedCalls: readonly AnswerToolCall[] = []
  readonly openRequests: Set<OpenModelRequest> = new Set()
  readonly openTools: Set<ToolRun> = new Set()
  readonly toolHooks: ToolHooks = new ToolHooks(this)
  uncounted: { readonly request: ModelRequest; readonly at: number; readonly answer: ModelAnswer } | undefined
  tokens: UsageCounts | undefined
  handoffAt: number | undefined
  task: DelegatedTask | undefined
  delegate: { readonly id: string; readonly task: DelegatedTask } | undefined

  constructor(records: Records, sessionId: string, turnId: string, at: number, trace: Trace, parent?: TurnParent) {
    super(records, sessionId, turnId, at)
    this.trace = trace
    this.parent = parent
  }

  readInput(input: unknown): void {
    this.prompt ??= promptOf(input)
    this.history ??= isArray(input) ? input : undefined
  }
}

class AgentSpanNode {
  readonly id: string
  /** `unknown`: known only as a parent; its start was not received. */
  kind = 'unknown'
  turn: AgentTurn | undefined
  request: OpenModelRequest | undefined
  tool: ToolRun | undefined
  isTool = false
  /** Tokens of agents inside the tools of this loop. */
  nestedTokens: UsageCounts | undefined

  constructor(id: string) {
    this.id = id
  }
}

/** A trace of the host. A resumed run continues in it without a new start. `stray`: a turn whose start was missed. */
class Trace {
  readonly id: string
  groupId: string | undefined
  /** True if its runner is traced, which reports approvals reliably. */
  isRunnerTraced = false
  stray: AgentTurn | undefined
  lastTurn: AgentTurn | undefined
  turns = 0
  readonly pendingApprovals: Map<string, PendingApproval> = new LimitedMap(200)
  decisions: readonly { readonly call: AnswerToolCall; readonly choice: Choice }[] = []
  resumedRun: { readonly prompt: unknown; readonly model: string | undefined } | undefined

  constructor(id: string) {
    this.id = id
  }
}

/** The turns of ended spans. In two generations: finding the oldest entry of a map with many deletions is slow. */
class EndedSpans {
  #turns = new Map<string, AgentTurn | undefined>()
  #turnsBefore = new Map<string, AgentTurn | undefined>()

  has(spanId: string): boolean {
    return this.#turns.has(spanId) || this.#turnsBefore.has(spanId)
  }

  turnOf(spanId: string | undefined): AgentTurn | undefined {
    return spanId === undefined ? undefined : (this.#turns.get(spanId) ?? this.#turnsBefore.get(spanId))
  }

  add(spanId: string, turn: AgentTurn | undefined): void {
    this.#turns.set(spanId, turn)
    if (this.#turns.size < ENDED_SPANS_LIMIT) return
    this.#turnsBefore = this.#turns
    this.#turns = new Map()
  }
}

/**
 * Remembers a call that needs the user's approval. The host ends the run, and another run in the same trace continues it after
 * the decision. The wait lies in between, as a child of the turn that requested it.
 */
function addPendingApproval(turn: AgentTurn, call: AnswerToolCall): PendingApproval {
  const { pendingApprovals: waiting } = turn.trace
  const known = waiting.get(call.id)
  if (known?.turn === turn) return known
  const added = new PendingApproval(turn, call)
  waiting.set(call.id, added)
  return added
}

/** Longer arguments are not parsed: no target or command is that long. Characters. */
const PARSE_LIMIT = 8 * 1024

/** Begins a turn, once the agent's name is known: the host reports it next. */
function openTurn(turn: AgentTurn): void {
  if (turn.isOpen || turn.hasEnded) return
  turn.isOpen = true
  const { parent, agentName } = turn
  if (parent !== undefined) {
    openTurn(parent.turn)
    if (parent.tool !== undefined) emitToolStart(parent.tool)
    turn.task = new DelegatedTask(parent.turn, turn.startAt, {
      child_session_id: turn.sessionId,
      child_role: agentName,
      tool_call_id: parent.tool?.id,
    })
    turn.task.emitStart(parent.tool === undefined ? turn.prompt : goalOf(parent.tool))
  }
  turn.emit('on_session_start', turn.startAt, { agent_name: agentName })
}

/** Begins the loop of requests and tools, once the prompt is known. */
function openLoop(turn: AgentTurn): void {
  if (turn.isLoopOpen || turn.hasEnded) return
  turn.isLoopOpen = true
  openTurn(turn)
  const { trace, startAt } = turn
  if (turn.parent === undefined) {
    // A run begun in another process continues its prompt.
    turn.prompt ??= trace.resumedRun?.prompt
    turn.model ??= trace.resumedRun?.model
    trace.resumedRun = undefined
  }
  const { prompt: user_message, history: conversation_history, model } = turn
  turn.emit('pre_llm_call', startAt, { user_message, conversation_history, model })
  if (turn.parent !== undefined || trace.decisions.length === 0) return
  const { decisions } = trace
  trace.decisions = []
  // These decisions came before this process knew of the requests: both are emitted now.
  for (const { call, choice } of decisions) {
    const waiting = addPendingApproval(turn, call)
    waiting.emitQuestion(startAt, 'inferred')
    waiting.emitResponse(startAt, choice)
  }
}

function emitToolStart(tool: ToolRun): void {
  if (tool.state !== 'asked') return
  tool.args = parseArguments(tool.text)
  openLoop(tool.turn)
  tool.turn.toolHooks.startTool(tool)
}

function flushToolHooks(turn: AgentTurn): void {
  if (turn.toolHooks.isEmpty) return
  openLoop(turn)
  turn.toolHooks.flush()
}

/** The task of an agent that runs as a tool: the SDK's schema for it has one field. */
function goalOf({ text }: ToolRun): unknown {
  return textOf(peek(parseArguments(text), 'input')) ?? text
}

function parseArguments(text: string | undefined): unknown {
  if (text === undefined || text.length > PARSE_LIMIT || text[0] !== '{') return text
  return jsonIn(text, text)
}

const CALLS_LIMIT = 100
const CHOICES: ReadonlySet<unknown> = new Set<Choice>(['once', 'always', 'deny'])

/** Extra lines of captures, and events that add nothing to others. */
const QUIET = namesIn(`
  agent.agent_start agent.agent_end agent.agent_handoff agent.agent_tool_start agent.agent_tool_end runner.agent_handoff
  runner.agent_tool_end proc_start proc_shutdown proc_flush stream RESULT THROWN`)

/** Places the SDK's spans in turns, in whatever order they arrive, and reads the events of traced runners. */
export class OpenAiAgentsMachine extends EventMachine {
  readonly #traces = new SessionStates(id => new Trace(id))
  readonly #nodes = new LimitedMap<string, AgentSpanNode>(20_000)
  readonly #endedSpans = new EndedSpans()
  /** Keyed by session. Two turns of one session are never open at once. */
  readonly #openTurns = new LimitedMap<string | undefined, AgentTurn>(1000)
  protected readonly events: EventHandlers = eventHandlers(
    {
      // A run resumed inside a tool starts its trace again.
      trace_start: ({ data }) => {
        const id = idOf(peek(data, 'id'))
        if (id !== undefined) this.#traces.get(id).groupId ??= idOf(peek(data, 'group_id'))
      },
      // Ends the runs whose own end was not received, except those with a running tool: the trace may be that of a run inside it.
      trace_end: ({ data, at }) => {
        const id = idOf(peek(data, 'id'))
        const trace = id === undefined ? undefined : this.#traces.find(id)
        if (trace === undefined) return
        for (const turn of [...this.#openTurns.values()]) {
          const isOfTrace = turn.trace === trace && turn.parent === undefined && turn.openTools.size === 0
          if (isOfTrace) this.#endTurn(turn, Math.max(at, turn.lastAt))
        }
      },
      span_start: withSpan(span => this.#startSpan(span)),
      span_end: withSpan(span => this.#endSpan(span)),
      pre_control_hook: moment => this.#receiveControlHook(moment),
      post_control_hook: moment => this.#receiveControlHook(moment),
      'runner.agent_start': event => {
        const trace = this.#traceOf(event)
        if (trace !== undefined) trace.isRunnerTraced = true
        const turn = this.#nodeIn(event)?.turn
        if (turn === undefined) return
        const input = peek(event.data, 'turnInput')
        turn.readInput(input)
        turn.model ??= textOf(peek(event.data, 'model'))
        if (turn.prompt !== undefined) openLoop(turn)
      },
      'runner.agent_end': event => {
        const turn = this.#nodeIn(event)?.turn
        const output = textOf(peek(event.data, 'output'))
        if (turn !== undefined && output !== undefined) turn.answer = output
      },
      'runner.agent_tool_start': event => {
        const toolCall = peek(peek(event.data, 'details'), 'toolCall')
        const { isTool, tool } = this.#nodeIn(event) ?? {}
        if (isTool !== true || tool?.state !== 'asked') return
        tool.id = textOf(peek(toolCall, 'callId')) ?? textOf(peek(toolCall, 'id')) ?? tool.id
        tool.text ??= textOf(peek(toolCall, 'arguments'))
        emitToolStart(tool)
      },
      'runner.interrupted': event => {
        const trace = this.#traceOf(event)
        const turn = trace?.lastTurn
        if (trace === undefined || turn === undefined) return
        for (const { call } of callsIn(event)) {
          if (!turn.hasEnded) {
            // Received before the end of the run: the calls left over at the end need approval.
            trace.isRunnerTraced = false
            return
          }
          const waiting = trace.pendingApprovals.get(call.id) ?? addPendingApproval(turn, call)
          waiting.emitQuestion(event.at)
        }
      },
      'runner.resumed': event => {
        const trace = this.#traceOf(event)
        if (trace === undefined) return
        trace.isRunnerTraced = true
        trace.groupId ??= idOf(peek(event.data, 'group_id'))
        trace.resumedRun = { prompt: promptOf(peek(event.data, 'input')), model: textOf(peek(event.data, 'model')) }
        for (const { call, choice } of callsIn(event)) {
          if (!CHOICES.has(choice)) continue
          const waiting = trace.pendingApprovals.get(call.id)
          if (waiting?.isAsked) waiting.emitResponse(event.at, choice)
          else trace.decisions = [...trace.decisions, { call, choice: choice as Choice }].slice(-CALLS_LIMIT)
        }
      },
    },
    QUIET,
  )

  protected endSessions(at: number): void {
    // Nested agents end first: the newest is the deepest.
    const open = [...this.#openTurns.values()].reverse()
    for (const turn of open) this.#endTurn(turn, Math.max(at, turn.startAt), undefined, true)
    // Turns with work that began after their end and has not ended.
    const late = [...this.#nodes.values()].filter(({ request, isTool }) => request !== undefined || isTool)
    for (const turn of new Set(late.flatMap(node => node.turn ?? []))) {
      if (turn.openRequests.size + turn.openTools.size === 0) continue
      emitOpenStarts(turn)
      turn.emitEnd(Math.max(at, turn.lastAt), { outcome: 'interrupted' })
    }
  }

  #receiveControlHook(moment: TimedEvent): void {
    const { hook, at, payload } = controlHookOf(moment)
    const turn = this.#nodes.get(idOf(payload.turn_id) ?? '')?.turn
    if (turn === undefined || turn.hasEnded) {
      this.records.addRecord(hook, at, payload)
      return
    }
    const running = [...turn.openTools].find(({ id, state }) => state !== 'asked' && id === payload.tool_call_id)
    turn.toolHooks.receive({ hook, at, payload: { api_request_id: turn.requests.lastId, ...payload } }, running)
  }

  #traceOf({ data }: TimedEvent): Trace | undefined {
    const id = idOf(peek(data, 'trace_id'))
    return id === undefined ? undefined : this.#traces.get(id)
  }

  /** Returns the span in which a traced runner has emitted the event. */
  #nodeIn({ data }: TimedEvent): AgentSpanNode | undefined {
    return this.#nodes.get(idOf(peek(data, 'span_id')) ?? '')
  }

  #startSpan(span: RawSpan): void {
    const known = this.#nodes.get(span.id)
    const isRepeat = known === undefined ? this.#endedSpans.has(span.id) : known.kind !== 'unknown'
    if (!isRepeat) this.#placeSpan(span)
  }

  #endSpan(span: RawSpan): void {
    const known = this.#nodes.get(span.id)
    if (known === undefined && this.#endedSpans.has(span.id)) return
    // The start was missed; the end repeats its fields.
    const node = known === undefined || known.kind === 'unknown' ? this.#placeSpan(span) : known
    this.#endNode(node, span)
    this.#nodes.delete(span.id)
    this.#endedSpans.add(span.id, node.turn)
  }

  #placeSpan(span: RawSpan): AgentSpanNode {
    const trace = this.#traceOfSpan(span)
    const node = this.#nodeOf(span.id)
    const parent = this.#parentOf(span)
    node.kind = span.type
    node.turn ??= parent?.turn ?? this.#endedSpans.turnOf(span.parentId)
    node.tool = parent?.tool
    this.#beginNode(node, span, trace, parent)
    if (node.turn !== undefined) node.turn.lastAt = span.startAt
    return node
  }

  /** Only runs refresh a trace: the least recently active one is dropped first. */
  #traceOfSpan({ traceId, type }: RawSpan): Trace {
    const known = type === 'task' || type === 'agent' ? undefined : this.#traces.find(traceId)
    return known ?? this.#traces.get(traceId)
  }

  /** A parent without a received start is remembered, in case it is still to come. */
  #parentOf({ parentId }: RawSpan): AgentSpanNode | undefined {
    if (parentId === undefined) return undefined
    const known = this.#nodes.get(parentId)
    if (known !== undefined || this.#endedSpans.has(parentId)) return known
    return this.#nodeOf(parentId)
  }

  #nodeOf(spanId: string): AgentSpanNode {
    const node = this.#nodes.get(spanId) ?? new AgentSpanNode(spanId)
    this.#nodes.set(spanId, node)
    return node
  }

  #beginNode(node: AgentSpanNode, span: RawSpan, trace: Trace, parent: AgentSpanNode | undefined): void {
    if (span.type === 'task') this.#beginTask(node, span, trace)
    else if (span.type === 'agent') this.#beginAgent(node, span, trace, parent)
    else if (isModelSpan(span.type)) startRequest(this.#turnOfSpan(node, span, trace, parent), node, span)
    else if (span.type === 'function') {
      const turn = this.#turnOfSpan(node, span, trace, parent)
      startTool(turn, node, span, trace.isRunnerTraced)
    } else if (span.type === 'handoff' && node.turn !== undefined) {
      node.turn.handoffAt = span.startAt
      // The handoff answers these calls; no tool runs for them.
      node.turn.requestedCalls = []
    }
  }

  #beginTask(node: AgentSpanNode, span: RawSpan, trace: Trace): void {
    const { stray } = trace
    if (node.turn !== undefined && !node.turn.hasEnded && node.turn !== stray) this.#beginChild(node, span, trace)
    else if (stray !== undefined && stray.owner === undefined) {
      stray.owner = node
      node.turn = stray
    } else node.turn = this.#beginTurn(trace, node, span.startAt)
  }

  #beginChild(node: AgentSpanNode, span: RawSpan, trace: Trace): void {
    const parent = node.turn === undefined ? undefined : { turn: node.turn, tool: node.tool }
    node.turn = this.#beginTurn(trace, node, span.startAt, parent)
    node.tool = undefined
  }

  #beginAgent(node: AgentSpanNode, span: RawSpan, trace: Trace, parent: AgentSpanNode | undefined): void {
    const name = textOf(peek(span.data, 'name'))
    const isOfTask = parent === undefined || parent.kind === 'task' || parent.kind === 'unknown'
    if (node.turn !== undefined && !isOfTask) this.#beginChild(node, span, trace)
    const { lastTurn } = trace
    const handingOver = lastTurn?.hasEnded === false && lastTurn.handoffAt !== undefined ? lastTurn : undefined
    node.turn ??= handingOver ?? trace.stray ?? this.#beginTurn(trace, node, span.startAt)
    const { turn } = node
    if (turn.agentName === undefined) {
      turn.agentName = name
      openTurn(turn)
    } else handOver(turn, node.id, name, span.startAt)
  }

  /** The span's turn. A new one if the host continues below the agent of an ended turn. */
  #turnOfSpan(node: AgentSpanNode, span: RawSpan, trace: Trace, parent: AgentSpanNode | undefined): AgentTurn {
    const known = node.turn
    const goesOn = known?.hasEnded === true && parent !== undefined && known.owner === parent
    if (known !== undefined && !goesOn) return known
    if (known === undefined) trace.stray ??= this.#beginTurn(trace, undefined, span.startAt)
    const turn = goesOn ? this.#beginTurn(trace, parent, span.startAt) : (trace.stray as AgentTurn)
    if (goesOn) turn.agentName = known.agentName
    node.turn = turn
    if (parent !== undefined) parent.turn = turn
    return turn
  }

  #endNode(node: AgentSpanNode, span: RawSpan): void {
    const { turn, request, tool } = node
    if (turn === undefined) return
    if (node.kind === 'task') this.#endTurn(turn, span.endAt, span.error)
    else if (node.kind === 'agent') this.#endAgent(node, turn, span)
    else if (request !== undefined) endRequest(request, span, this.#parentOf(span))
    else if (tool !== undefined && node.isTool) this.#endTool(tool, span)
    else if (node.kind === 'turn') emitUncountedAnswer(turn, loopTokensOf(span.data, node.nestedTokens))
    else if (node.kind === 'guardrail' && peek(span.data, 'triggered') === true) turn.hasTrippedGuardrail = true
  }

  /** Without task spans, a turn ends with its agent, unless it has handed over to another. */
  #endAgent(node: AgentSpanNode, turn: AgentTurn, span: RawSpan): void {
    const isDelegate = turn.delegate?.id === node.id
    if (isDelegate) endDelegation(turn, span.endAt, span.error)
    const isRun = turn.owner?.kind === 'agent' && (turn.owner === node || isDelegate)
    if (isRun && (turn.handoffAt === undefined || span.error !== undefined)) this.#endTurn(turn, span.endAt, span.error)
  }

  #endTool(tool: ToolRun, span: RawSpan): void {
    const { turn } = tool
    const { pendingApprovals } = turn.trace
    const waiting = pendingApprovals.get(tool.id)
    pendingApprovals.delete(tool.id)
    if (waiting?.isAsked) waiting.emitResponse(turn.startAt, isRejected(span.error) ? 'deny' : 'once', 'inferred')
    endTool(tool, span)
    turn.tokens = addUsage(turn.tokens, tool.tokens)
    const loop = this.#parentOf(span)
    if (loop !== undefined) loop.nestedTokens = addUsage(loop.nestedTokens, tool.tokens)
    if (!tool.isInterrupted) return
    // The call is made again when the run continues, without an approval of its own.
    const repeated = addPendingApproval(turn, { id: tool.id, name: textOf(tool.name) ?? '', args: tool.text })
    repeated.isAsked = true
    repeated.isAnswered = true
  }

  #beginTurn(trace: Trace, owner: AgentSpanNode | undefined, startAt: number, parent?: TurnParent): AgentTurn {
    trace.turns += 1
    const said = owner?.id ?? trace.id
    const turnId = owner?.turn?.owner === owner || owner === undefined ? `${said}:${trace.turns}` : said
    const sessionId = parent === undefined ? this.#sessionOf(trace, turnId, startAt) : turnId
    const turn = new AgentTurn(this.records, sessionId, turnId, startAt, trace, parent)
    turn.owner = owner
    if (parent === undefined) trace.lastTurn = turn
    this.#openTurns.set(sessionId, turn)
    return turn
  }

  /** Concurrent runs in one conversation do not interrupt each other: all but the first get a session of their own. */
  #sessionOf(trace: Trace, turnId: string, at: number): string {
    const session = trace.groupId ?? trace.id
    const running = this.#openTurns.get(session)
    return running === undefined || at - running.lastAt > STALE_MILLIS ? session : `${session}:${turnId}`
  }

  #endTurn(turn: AgentTurn, at: number, error?: unknown, isCutOff = false): void {
    if (turn.hasEnded) return
    emitUncountedAnswer(turn, undefined)
    emitOpenStarts(turn)
    flushToolHooks(turn)
    openTurn(turn)
    endDelegation(turn, at, error)
    const failure = failureOf(error)
    const isWaiting = failure === undefined && !isCutOff && (turn.requestedCalls.length > 0 || turn.isInterrupted)
    const end = isCutOff ? CUT_OFF : isWaiting ? NEEDS_APPROVAL : endOf(turn, failure)
    if (turn.isLoopOpen) turn.emitAnswer(at, end.outcome === 'completed' ? turn.answer : undefined, turn.model)
    turn.emitEnd(at, { ...end, model: turn.model })
    turn.hasEnded = true
    endTask(turn, at, end)
    for (const call of isWaiting ? turn.requestedCalls : []) {
      const waiting = addPendingApproval(turn, call)
      // A traced runner reports which calls need approval. Without one, all calls left over do.
      if (!turn.trace.isRunnerTraced) waiting.emitQuestion(at, 'inferred')
    }
    if (this.#openTurns.get(turn.sessionId) === turn) this.#openTurns.delete(turn.sessionId)
    forgetContent(turn, isWaiting)
  }
}

function withSpan(take: (span: RawSpan) => void): EventHandler {
  return moment => {
    const id = idOf(peek(moment.data, 'id'))
    const traceId = idOf(peek(moment.data, 'trace_id'))
    if (id !== undefined && traceId !== undefined) take(new RawSpan(id, traceId, moment))
  }
}

/** Returns the calls that need approval, with the user's choice if there is one. */
function callsIn({ data }: TimedEvent) {
  return elementsOf(peek(data, 'calls'), CALLS_LIMIT).flatMap(said => {
    const [id, name] = [idOf(peek(said, 'call_id')), textOf(peek(said, 'name'))]
    if (id === undefined || name === undefined) return []
    return [{ call: { id, name, args: textOf(peek(said, 'arguments')) }, choice: peek(said, 'choice') }]
  })
}

const CUT_OFF: HostTurnEnd = { outcome: 'interrupted', reason: 'cut_off' }
const NEEDS_APPROVAL: HostTurnEnd = { outcome: 'interrupted', reason: 'approval' }

function endDelegation(turn: AgentTurn, at: number, error: unknown): void {
  const { delegate } = turn
  turn.delegate = undefined
  delegate?.task.emitEnd(at, { status: failureOf(error) === undefined ? 'completed' : 'failed' })
}

/** Another agent continues the turn: a delegation until that agent ends. */
function handOver(turn: AgentTurn, id: string, name: string | undefined, at: number): void {
  if (turn.hasEnded) return
  openLoop(turn)
  endDelegation(turn, at, undefined)
  const ids = { child_subagent_id: id, child_role: name }
  turn.delegate = { id, task: new DelegatedTask(turn, turn.handoffAt ?? at, ids) }
  turn.handoffAt = undefined
  turn.delegate.task.emitStart(undefined)
}

function endTask(turn: AgentTurn, at: number, end: HostTurnEnd): void {
  const { parent } = turn
  if (parent?.tool !== undefined) {
    parent.tool.tokens = addUsage(parent.tool.tokens, turn.tokens)
    parent.tool.isInterrupted ||= end === NEEDS_APPROVAL
    parent.turn.isInterrupted ||= end === NEEDS_APPROVAL
  }
  turn.task?.emitEnd(at, { status: end.outcome, summary: turn.answer })
}

/** The core keeps what late records need; content must not stay in memory with the turn. */
function forgetContent(turn: AgentTurn, isWaiting: boolean): void {
  if (turn.trace.stray === turn) turn.trace.stray = undefined
  turn.requestedCalls = []
  turn.history = undefined
  turn.answer = undefined
  if (!isWaiting) turn.prompt = undefined
}

function endOf(turn: AgentTurn, failure: SpanFailure | undefined): HostTurnEnd {
  if (failure === undefined) return { outcome: 'completed' }
  const { type = '' } = failure
  if (turn.hasTrippedGuardrail || type.endsWith('GuardrailTripwireTriggered'))
    return { outcome: 'interrupted', reason: 'guardrail' }
  if (type === 'AbortError' || type === 'APIUserAbortError') return { outcome: 'interrupted', reason: 'aborted' }
  if (type === 'MaxTurnsExceededError') return { outcome: 'failed', reason: 'max_turns' }
  if (turn.requests.failures > 0) return { outcome: 'failed', reason: 'model_error' }
  if (type === 'ToolCallError') return { outcome: 'failed', reason: 'tool_error' }
  return { outcome: 'failed', reason: type === '' || type === 'Error' ? 'error' : type }
}

/**
 * Starts a function span's tool. The span has no call id; the answer that requested it has.
 *
 * @param mayWait a traced runner will report the call id if no answer did
 */
function startTool(turn: AgentTurn, node: AgentSpanNode, span: RawSpan, mayWait: boolean): void {
  const name = textOf(peek(span.data, 'name')) ?? 'unknown'
  const input = textOf(peek(span.data, 'input'))
  const call = claimCall(turn, name, input)
  if (call?.from !== undefined) {
    // The interrupted run continues, with the same prompt and model.
    turn.prompt ??= call.from.prompt
    turn.model ??= call.from.model
  }
  const tool = new ToolRun(turn, call?.id ?? span.id, name, span.startAt)
  tool.text = call?.args ?? input
  tool.requestId = turn.requests.lastId
  node.tool = tool
  node.isTool = true
  turn.openTools.add(tool)
  if (call !== undefined || !mayWait) emitToolStart(tool)
}

function endTool(tool: ToolRun, span: RawSpan): void {
  emitToolStart(tool)
  tool.turn.openTools.delete(tool)
  const failure = failureOf(span.error)
  const output = peek(span.data, 'output') ?? undefined
  tool.emitEnd(span.endAt, {
    result: output === '' ? undefined : output,
    status: statusOf(tool, span.error, failure),
    error_type: failure?.type,
    error_message: failure?.message,
  })
}

function isRejected(error: unknown): boolean {
  return textOf(peek(peek(error, 'data'), 'error'))?.endsWith('was manually rejected by user.') === true
}

type ClaimedCall = AnswerToolCall & { readonly from?: AgentTurn }

function claimCall(turn: AgentTurn, name: string, input: string | undefined): ClaimedCall | undefined {
  const own = bestMatch(turn.requestedCalls, name, input)
  if (own !== undefined) turn.requestedCalls = turn.requestedCalls.filter(call => call !== own)
  const { pendingApprovals: waiting, decisions: decided } = turn.trace
  if (own !== undefined || waiting.size + decided.length === 0) return own
  const left = [...waiting.values()].filter(({ turn, isAnswered }) => turn.hasEnded || isAnswered)
  const claimed = left.map(({ call, turn }) => ({ ...call, from: turn }))
  return bestMatch<ClaimedCall>([...claimed, ...decided.map(({ call }) => call)], name, input)
}

/** Matches by name and arguments, else by name, else by arguments (namespaced tools have another name). */
function bestMatch<Call extends AnswerToolCall>(calls: readonly Call[], name: string, input?: string) {
  if (calls.length === 0) return undefined
  return (
    calls.find(call => call.name === name && input !== undefined && call.args === input) ??
    calls.find(call => call.name === name && (input === undefined || call.args === undefined)) ??
    calls.find(call => input !== undefined && call.args === input)
  )
}

function statusOf(tool: ToolRun, error: unknown, failure: SpanFailure | undefined): string {
  if (failure === undefined) return tool.isInterrupted ? 'interrupted' : 'ok'
  if (isRejected(error)) return 'blocked'
  return failure.type === 'ToolTimeoutError' ? 'timeout' : 'error'
}

/**
 * A span of the Responses API names its model only at its end, and a span cannot be renamed. Its start is emitted then,
 * with its own time.
 */
function startRequest(turn: AgentTurn, node: AgentSpanNode, { type, data, startAt }: RawSpan): void {
  emitUncountedAnswer(turn, undefined)
  flushToolHooks(turn)
  const asked = { request: turn.requests.nextRequest(startAt, { keepsId: false }), turn, type, data }
  node.request = asked
  turn.openRequests.add(asked)
  if (isModelKnown(type, data)) emitRequestStart(asked, data)
}

function endRequest(asked: OpenModelRequest, span: RawSpan, loop: AgentSpanNode | undefined): void {
  const { turn, request } = asked
  emitRequestStart(asked, span.data)
  turn.openRequests.delete(asked)
  const failure = failureOf(span.error)
  if (failure !== undefined) {
    turn.requests.failures += 1
    const { type, message, statusCode } = failure
    request.emitFailure(span.endAt, { status_code: statusCode, error: { type, message } })
    return
  }
  turn.requests.failures = 0
  const answer = answerOf(asked.type, span.data)
  turn.requestedCalls = answer.calls
  turn.answer = answer.calls.length > 0 ? undefined : answer.text
  turn.tokens = addUsage(turn.tokens, answer.tokens)
  if (answer.tokens === undefined && loop?.kind === 'turn' && !turn.hasEnded) {
    turn.uncounted = { request, at: span.endAt, answer }
  } else emitAnswer(request, span.endAt, answer, answer.tokens)
}

/**
 * Without traced content, the host reports tokens only for the loop around a request. The loop has one request, and
 * agents in its tools, whose share is known.
 */
function emitUncountedAnswer(turn: AgentTurn, tokens: UsageCounts | undefined): void {
  const { uncounted: held } = turn
  if (held === undefined) return
  turn.uncounted = undefined
  turn.tokens = addUsage(turn.tokens, tokens)
  emitAnswer(held.request, held.at, held.answer, tokens)
}

function emitOpenStarts({ openRequests, openTools }: AgentTurn): void {
  for (const asked of openRequests) emitRequestStart(asked, asked.data)
  for (const tool of openTools) emitToolStart(tool)
  openRequests.clear()
  openTools.clear()
}

function emitRequestStart({ request, turn, type }: OpenModelRequest, data: unknown): void {
  if (request.isStartEmitted) return
  const { input, model = turn.model, facts } = requestOf(type, data)
  turn.model = model
  turn.readInput(input)
  openLoop(turn)
  facts.model = model
  request.emitStart(facts)
}

function emitAnswer(request: ModelRequest, at: number, answer: ModelAnswer, usage: UsageCounts | undefined): void {
  const message = answerMessage(answer)
  request.emitAnswer(at, {
    finish_reason: answer.finishReason,
    response_model: answer.model,
    response_id: answer.id,
    assistant_tool_call_count: answer.calls.length,
    response: message === undefined ? undefined : { assistant_message: message },
    usage,
  })
}

/**
 * One event of a span. `type`: `task`, `agent`, `turn`, `response`, `generation`, `function`, `handoff`, `guardrail`, `custom`, …
 * The host fills `data`, its own object, until the span ends. Times are parsed on demand and once: that costs as much as everything else.
 */
class RawSpan {
  readonly id: string
  readonly traceId: string
  readonly parentId: string | undefined
  readonly type: string
  readonly data: unknown
  readonly error: unknown
  readonly #event: TimedEvent
  #startAt: number | undefined

  constructor(id: string, traceId: string, event: TimedEvent) {
    const data = peek(event.data, 'span_data')
    const type = textOf(peek(data, 'type')) ?? 'unknown'
    // Spans of the SDK's run loop are `task` and `turn` on the live object, and `custom` in its JSON.
    const inner = type === 'custom' ? peek(data, 'data') : undefined
    const innerType = textOf(peek(inner, 'sdk_span_type'))
    this.id = id
    this.traceId = traceId
    this.parentId = idOf(peek(event.data, 'parent_id'))
    this.type = innerType ?? type
    this.data = innerType === undefined ? data : inner
    this.error = peek(event.data, 'error') ?? undefined
    this.#event = event
  }

  get startAt(): number {
    this.#startAt ??= this.#timeOf('started_at')
    return this.#startAt
  }

  get endAt(): number {
    return this.#timeOf('ended_at')
  }

  #timeOf(field: string): number {
    const at = Date.parse(textOf(peek(this.#event.data, field)) ?? '')
    return Number.isNaN(at) ? this.#event.at : at
  }
}

type SpanFailure = NonNullable<ReturnType<typeof failureOf>>

const CLASS_NAME_LIMIT = 80

/** The OpenAI client's classes by HTTP status or message: the host reports only the message, which begins with the status. */
const CLASSES: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [400, 'BadRequestError'],
  [401, 'AuthenticationError'],
  [403, 'PermissionDeniedError'],
  [404, 'NotFoundError'],
  [409, 'ConflictError'],
  [422, 'UnprocessableEntityError'],
  [429, 'RateLimitError'],
  ['Connection error.', 'APIConnectionError'],
  ['Request timed out.', 'APIConnectionTimeoutError'],
  ['Request was aborted.', 'APIUserAbortError'],
])

/** `TypeError: x` -> `TypeError` and `x`. Text without a class name is all message. */
function split(text: string): { type: string | undefined; message: string } {
  const colon = text.indexOf(': ')
  const name = colon > 0 && colon <= CLASS_NAME_LIMIT ? text.slice(0, colon) : ''
  const isClass = name !== '' && !name.includes(' ')
  return isClass ? { type: name, message: text.slice(colon + 2) } : { type: undefined, message: text }
}

function leadingStatus(message: string): number | undefined {
  if (message.length > 3 && message[3] !== ' ') return undefined
  const status = Number(message.slice(0, 3))
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined
}

/** The message is often a generic heading, with the exception in the span's data. */
function failureOf(error: unknown) {
  if (error === undefined || error === null) return undefined
  const heading = textOf(peek(error, 'message')) ?? textOf(error) ?? 'failed'
  const { type, message } = split(textOf(peek(peek(error, 'data'), 'error')) ?? heading)
  const statusCode = leadingStatus(message)
  const ofServer = statusCode !== undefined && statusCode >= 500 ? 'InternalServerError' : undefined
  const known = CLASSES.get(message) ?? CLASSES.get(statusCode) ?? ofServer
  return { type: type === undefined || type === 'Error' ? (known ?? type) : type, message, statusCode }
}
