import type { AgentScript, ChildScript, RequestScript, SessionScript, ToolScript, TurnScript } from './agent-script.ts'
import { type ExpectedSpan, expectedSpan } from './expected-span.ts'
import { type FedRecord, START_AT } from './feed.ts'

/** One record of one session, as its host fires it. */
export interface Step {
  readonly record: FedRecord
  /** A record of another session that this one can only follow: a child starts after its delegation. */
  readonly after: Step | undefined
  /** Nothing comes between the one before it and this one. */
  readonly glued: boolean
  /** Without an id of its own only a delivery id can tell a repeat from a second call. */
  readonly isAnonymous: boolean
}

/** What was fed, to compare the counters with. */
export interface Fed {
  turns: number
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  reasoning: number
  apiErrors: number
  toolCalls: number
  subagents: number
  approvals: number
}

export interface ScriptRun {
  /** Per session, each in the order of its times. A child's come after its parent's. */
  readonly lanes: readonly (readonly Step[])[]
  /** The traces that must come out when everything arrives. */
  readonly traces: readonly ExpectedSpan[]
  readonly fed: Fed
}

interface Running {
  readonly script: TurnScript
  readonly id: string
  root: ExpectedSpan
  llm: ExpectedSpan
  calls: number
  attempts: number
  toolCalls: number
  readonly sums: { in: number; out: number; cr: number; cw: number; rs: number }
  readonly skills: Set<string>
  /** Spans that nobody ends. */
  readonly open: Set<ExpectedSpan>
  /** Tools without an id: first in, first out. */
  readonly queues: Map<string, ExpectedSpan[]>
}

export function runScript(script: AgentScript): ScriptRun {
  const lanes: Step[][] = []
  const traces: ExpectedSpan[] = []
  const fed: Fed = {
    turns: 0,
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    reasoning: 0,
    apiErrors: 0,
    toolCalls: 0,
    subagents: 0,
    approvals: 0,
  }
  script.sessions.forEach((session, index) => {
    new Conversation({ lanes, traces, fed, name: `s${index + 1}`, at: START_AT + index }).tell(session)
  })
  return { lanes, traces, fed }
}

interface ConversationParts {
  readonly lanes: Step[][]
  readonly traces: ExpectedSpan[]
  readonly fed: Fed
  readonly name: string
  readonly at: number
  /** Of a child agent. */
  readonly delegation?: { readonly step: Step; readonly span: ExpectedSpan; readonly parentSessionId: string }
}

/** Tells one session, and through its delegations all that descend from it. */
class Conversation {
  readonly #parts: ConversationParts
  readonly #steps: Step[] = []
  #sessionId: string
  #rotations = 0
  #at: number
  #pace = 1
  #children = 0
  #turns = 0
  #silent: Running | undefined

  constructor(parts: ConversationParts) {
    this.#parts = parts
    this.#sessionId = parts.name
    this.#at = parts.at
    parts.lanes.push(this.#steps)
  }

  get lastStep(): Step | undefined {
    return this.#steps.at(-1)
  }

  get at(): number {
    return this.#at
  }

  tell(script: SessionScript): void {
    this.#pace = script.pace
    script.turns.forEach((turn, index) => {
      this.#turn(script, turn, index)
    })
    // A turn of which nothing more is heard stays open until the plugin is shut down.
    if (this.#silent !== undefined) this.#breakOff(this.#silent, 'shutdown', 'incomplete')
  }

  emit(hook: string, payload: object, how: Partial<Omit<Step, 'record'>> = {}): Step {
    const after = how.after ?? (this.#steps.length === 0 ? this.#parts.delegation?.step : undefined)
    const ticks = 1 + ((this.#steps.length * this.#pace) % 300)
    this.#at = Math.max(this.#at, after?.record.at ?? 0) + ticks
    const step: Step = {
      record: { hook, at: this.#at, payload },
      after,
      glued: how.glued ?? false,
      isAnonymous: how.isAnonymous ?? false,
    }
    this.#steps.push(step)
    return step
  }

  #turn(session: SessionScript, script: TurnScript, index: number): void {
    this.#turns += 1
    this.#parts.fed.turns += 1
    const id = `${this.#parts.name}.t${this.#turns}`
    if (session.starts === 'every turn' || (session.starts === 'once' && index === 0)) {
      if (session.startNamesTurn) this.#interruptSilent()
      const named = session.startNamesTurn ? { turn_id: id } : {}
      this.emit('on_session_start', { session_id: this.#sessionId, model: 'm', platform: 'cli', ...named })
    }
    const turn = this.#begin(script, id)
    const around = this.#auxiliaryBefore(turn)
    this.#interruptSilent()
    this.emit('pre_llm_call', { ...this.#ids(turn), model: 'm', user_message: `do ${id}`, ...this.#parentId() })
    turn.llm = this.#below(turn.root, 'llm.m', { turn: id })
    turn.open.add(turn.llm)
    around?.()
    this.#auxiliaryInLoop(turn)
    this.#requests(turn, session.turns.length === index + 1)
    this.#end(turn)
  }

  #begin(script: TurnScript, id: string): Running {
    const root = expectedSpan('agent', { session: this.#parts.name, turn: id })
    const { delegation, traces } = this.#parts
    if (delegation === undefined) traces.push(root)
    else delegation.span.children.push(root)
    return {
      script,
      id,
      root,
      llm: root,
      calls: 0,
      attempts: 0,
      toolCalls: 0,
      sums: { in: 0, out: 0, cr: 0, cw: 0, rs: 0 },
      skills: new Set(),
      open: new Set(),
      queues: new Map(),
    }
  }

  #ids(turn: Running): object {
    return { session_id: this.#sessionId, turn_id: turn.id }
  }

  #parentId(): object {
    const parent = this.#parts.delegation?.parentSessionId
    return parent === undefined ? {} : { parent_session_id: parent }
  }

  #below(parent: ExpectedSpan, name: string, facts: ExpectedSpan['facts']): ExpectedSpan {
    const span = expectedSpan(name, { session: this.#parts.name, ...facts })
    parent.children.push(span)
    return span
  }

  /** A side call that names its turn belongs to it, also before the loop; the end of one that goes on into the loop. */
  #auxiliaryBefore(turn: Running): (() => void) | undefined {
    const { auxiliary } = turn.script
    if (auxiliary !== 'before the loop' && auxiliary !== 'around the loop') return undefined
    this.#below(turn.root, 'aux.title', { turn: turn.id, status: 'OK' })
    const ids = { ...this.#ids(turn), api_request_id: `${turn.id}.aux`, aux_task: 'title', model: 'small' }
    this.emit('pre_auxiliary_call', ids)
    const end = (): void => void this.emit('post_auxiliary_call', ids)
    if (auxiliary === 'around the loop') return end
    end()
    return undefined
  }

  #auxiliaryInLoop(turn: Running): void {
    const { auxiliary } = turn.script
    if (auxiliary !== 'in the loop' && auxiliary !== 'failed in the loop') return
    const isFailed = auxiliary === 'failed in the loop'
    this.#below(turn.root, 'aux.vision', { turn: turn.id, status: isFailed ? 'ERROR' : 'OK' })
    const ids = { ...this.#ids(turn), api_request_id: `${turn.id}.aux`, aux_task: 'vision', model: 'small' }
    this.emit('pre_auxiliary_call', ids)
    this.emit('post_auxiliary_call', isFailed ? { ...ids, error_type: 'Timeout' } : ids)
    if (isFailed) this.#parts.fed.apiErrors += 1
  }

  #requests(turn: Running, isLastTurn: boolean): void {
    const { requests, ending, cut, rotates } = turn.script
    const mayRotate = (this.#parts.delegation === undefined || isLastTurn) && (ending !== 'silent' || requests.length > 1)
    requests.forEach((request, index) => {
      const isCut = ending !== 'completed' && index === requests.length - 1 ? cut : 'between'
      this.#request(turn, request, isCut)
      if (index === 0 && rotates && mayRotate) {
        this.#rotations += 1
        this.#sessionId = `${this.#parts.name}~${this.#rotations}`
      }
    })
  }

  #request(turn: Running, script: RequestScript, cut: TurnScript['cut']): void {
    turn.calls += 1
    const request = `${turn.id}.r${turn.calls}`
    const said = (attempt: number): object =>
      script.retryCount === 'absent' ? {} : { retry_count: script.retryCount === 'told' ? attempt : 0 }
    const ids = { api_request_id: request, api_call_count: turn.calls, model: 'm', provider: 'p' }
    let span = turn.llm
    for (let attempt = 0; attempt <= script.failures; attempt += 1) {
      const isLast = attempt === script.failures
      turn.attempts += 1
      this.emit('pre_api_request', { ...this.#ids(turn), ...ids, ...said(attempt) })
      span = this.#below(turn.llm, 'api.m', { turn: turn.id, call: turn.calls, attempt })
      if (isLast && cut === 'in request') {
        turn.open.add(span)
        return
      }
      const hook = isLast ? 'post_api_request' : 'api_request_error'
      const outcome = isLast ? this.#usage(turn, script.tokens) : { error: { type: 'RateLimit' }, retryable: true }
      this.emit(hook, { ...this.#ids(turn), ...ids, ...said(attempt), ...outcome })
      span.facts.status = isLast ? 'OK' : 'ERROR'
      if (!isLast) this.#parts.fed.apiErrors += 1
    }
    this.#tools(turn, script, request, span, cut === 'in tools')
  }

  #usage({ sums }: Running, tokens: number): object {
    const output = tokens % 97
    const usage = {
      prompt_tokens: tokens,
      output_tokens: output,
      cache_read_tokens: Math.floor(tokens / 2),
      cache_write_tokens: tokens % 7,
      reasoning_tokens: output % 5,
    }
    const { fed } = this.#parts
    sums.in += usage.prompt_tokens
    sums.out += usage.output_tokens
    sums.cr += usage.cache_read_tokens
    sums.cw += usage.cache_write_tokens
    sums.rs += usage.reasoning_tokens
    fed.input += usage.prompt_tokens
    fed.output += usage.output_tokens
    fed.cacheRead += usage.cache_read_tokens
    fed.cacheWrite += usage.cache_write_tokens
    fed.reasoning += usage.reasoning_tokens
    return { usage }
  }

  #tools(turn: Running, { tools, parallel }: RequestScript, request: string, api: ExpectedSpan, isCut: boolean): void {
    const calls = tools.map(script => new ToolTelling(this, turn, script, request, api, isCut))
    if (parallel === 'no' && !isCut) {
      for (const call of calls) {
        call.start()
        call.work()
        call.end()
      }
      return
    }
    for (const call of calls) call.start()
    for (const call of calls) call.work()
    if (isCut) return
    for (const call of parallel === 'last in first out' ? calls.reverse() : calls) call.end()
  }

  toolStarted(turn: Running, script: ToolScript, request: string, api: ExpectedSpan): { call: string; span: ExpectedSpan } {
    turn.toolCalls += 1
    const call = `${turn.id}.k${turn.toolCalls}`
    const span = this.#below(api, `tool.${script.name}`, { turn: turn.id, ...(script.hasId ? { call } : {}) })
    this.emit('pre_tool_call', this.toolPayload(turn, script, request, call), { isAnonymous: !script.hasId })
    turn.open.add(span)
    if (!script.hasId) turn.queues.set(script.name, [...(turn.queues.get(script.name) ?? []), span])
    return { call, span }
  }

  toolPayload(turn: Running, script: ToolScript, request: string, call: string): object {
    const args = script.name === 'skill_view' ? { name: 'docx' } : { path: `${call}.txt` }
    const id = script.hasId ? { tool_call_id: call } : {}
    return { ...this.#ids(turn), api_request_id: request, tool_name: script.name, args, ...id }
  }

  toolEnded(turn: Running, script: ToolScript, request: string, call: string, started: ExpectedSpan): void {
    const status = { ok: 'ok', error: 'error', blocked: 'blocked' }[script.outcome]
    this.emit('post_tool_call', { ...this.toolPayload(turn, script, request, call), status }, { isAnonymous: !script.hasId })
    const span = script.hasId ? started : (turn.queues.get(script.name)?.shift() ?? started)
    span.facts.status = script.outcome === 'error' ? 'ERROR' : 'OK'
    span.facts.outcome = script.outcome === 'ok' ? 'completed' : script.outcome
    turn.open.delete(span)
    this.#parts.fed.toolCalls += 1
    if (script.name !== 'skill_view' || script.outcome !== 'ok' || turn.skills.has('docx')) return
    turn.skills.add('docx')
    this.#below(turn.root, 'skill.docx', { turn: turn.id, status: 'OK' })
  }

  approval(turn: Running, script: ToolScript, call: string, toolSpan: ExpectedSpan, isCut: boolean): void {
    const parent = script.hasId ? toolSpan : turn.llm
    const pattern = `p${call}`
    const span = this.#below(parent, `approval.${pattern}`, { turn: turn.id })
    const session = script.approvalNamesSession ? this.#ids(turn) : { turn_id: turn.id }
    const ids = { ...session, pattern_key: pattern, ...(script.hasId ? { tool_call_id: call } : {}) }
    this.emit('pre_approval_request', { ...ids, command: 'rm x' })
    turn.open.add(span)
    if (isCut || script.approval === 'unanswered') return
    this.emit('post_approval_response', { ...ids, choice: script.approval })
    span.facts.status = 'OK'
    span.facts.choice = script.approval
    turn.open.delete(span)
    this.#parts.fed.approvals += 1
  }

  /** Starts a child agent; returns what its return is told with. */
  delegate(turn: Running, child: ChildScript, call: string, toolSpan: ExpectedSpan): () => void {
    this.#children += 1
    const name = `${this.#parts.name}.c${this.#children}`
    const span = this.#below(toolSpan, 'subagent.leaf', { turn: turn.id, child: name, status: 'OK' })
    const ids = {
      parent_session_id: this.#sessionId,
      parent_turn_id: turn.id,
      child_session_id: name,
      child_subagent_id: `a-${name}`,
      child_role: 'leaf',
      tool_call_id: call,
    }
    const step = this.emit('subagent_start', { ...ids, child_goal: 'help' })
    const conversation = new Conversation({
      ...this.#parts,
      name,
      at: this.#at,
      delegation: { step, span, parentSessionId: this.#sessionId },
    })
    const isWaitedFor = child.mode === 'waited for'
    conversation.tell(isWaitedFor ? child.session : { ...child.session, turns: child.session.turns.slice(0, 1) })
    this.#parts.fed.subagents += 1
    if (isWaitedFor) return () => void this.emit('subagent_stop', { ...ids, child_status: 'ok' }, { after: conversation.lastStep })
    conversation.emit('subagent_stop', { ...ids, child_status: 'ok' }, { glued: true })
    return () => undefined
  }

  #end(turn: Running): void {
    const { ending } = turn.script
    if (ending === 'silent') {
      this.#silent = turn
      return
    }
    if (ending === 'completed') {
      this.emit('post_llm_call', { ...this.#ids(turn), assistant_response: `did ${turn.id}` })
      turn.llm.facts.status = 'OK'
      turn.open.delete(turn.llm)
    }
    this.emit('on_session_end', { ...this.#ids(turn), [ending]: true })
    for (const span of turn.open) span.facts.incomplete = 'turn_ended'
    this.#sumUp(turn, ending, ending === 'failed' ? 'ERROR' : 'OK')
  }

  #interruptSilent(): void {
    if (this.#silent !== undefined) this.#breakOff(this.#silent, 'turn_ended', 'interrupted')
    this.#silent = undefined
  }

  #breakOff(turn: Running, incomplete: 'turn_ended' | 'shutdown', finalStatus: string): void {
    for (const span of turn.open) span.facts.incomplete = incomplete
    if (incomplete === 'shutdown') turn.root.facts.incomplete = incomplete
    this.#sumUp(turn, finalStatus, incomplete === 'shutdown' ? 'UNSET' : 'OK')
  }

  #sumUp(turn: Running, final: string, status: string): void {
    const { sums, attempts, toolCalls } = turn
    Object.assign(turn.root.facts, { ...sums, final, status, apis: attempts, tools: toolCalls })
  }
}

/** One tool call, in the three moments between which others may come. */
class ToolTelling {
  readonly #conversation: Conversation
  readonly #turn: Running
  readonly #script: ToolScript
  readonly #request: string
  readonly #api: ExpectedSpan
  readonly #isCut: boolean
  #call = ''
  #span: ExpectedSpan
  #returned: () => void = () => undefined

  constructor(
    conversation: Conversation,
    turn: Running,
    script: ToolScript,
    request: string,
    api: ExpectedSpan,
    isCut: boolean,
  ) {
    this.#conversation = conversation
    this.#turn = turn
    this.#script = script
    this.#request = request
    this.#api = api
    this.#span = api
    this.#isCut = isCut
  }

  start(): void {
    const { call, span } = this.#conversation.toolStarted(this.#turn, this.#script, this.#request, this.#api)
    this.#call = call
    this.#span = span
  }

  work(): void {
    const { approval, child } = this.#script
    if (approval !== 'none') this.#conversation.approval(this.#turn, this.#script, this.#call, this.#span, this.#isCut)
    if (child === undefined || this.#isCut) return
    this.#returned = this.#conversation.delegate(this.#turn, child, this.#call, this.#span)
  }

  end(): void {
    this.#returned()
    this.#conversation.toolEnded(this.#turn, this.#script, this.#request, this.#call, this.#span)
  }
}
