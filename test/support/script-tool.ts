import type { ToolScript } from './agent-script.ts'
import type { ExpectedSpan } from './expected-span.ts'
import type { TurnTelling } from './script-turn.ts'

const SKILL = 'docx'
const GUARD = 'no-rm'

/** One tool call, in the three moments between which other calls may come. */
export class ToolTelling {
  readonly #turn: TurnTelling
  readonly #script: ToolScript
  /** The request that asked for it, and the span of its last attempt. */
  readonly #request: string
  readonly #api: ExpectedSpan
  /** The turn breaks off while it runs. */
  readonly #isCut: boolean
  #call = ''
  #span: ExpectedSpan
  #childReturned: () => void = () => undefined

  constructor(turn: TurnTelling, script: ToolScript, request: string, api: ExpectedSpan, isCut: boolean) {
    this.#turn = turn
    this.#script = script
    this.#request = request
    this.#api = api
    this.#span = api
    this.#isCut = isCut
  }

  tell(): void {
    this.start()
    this.work()
    this.end()
  }

  /** Calls of one tool at one instant can be told apart by nothing else. */
  get #hasId(): boolean {
    return this.#script.hasId || this.#turn.lane.standsStill
  }

  start(): void {
    const { name } = this.#script
    const hasId = this.#hasId
    this.#turn.toolCalls += 1
    this.#call = `${this.#turn.id}.k${this.#turn.toolCalls}`
    if (this.#script.guard === 'blocks early') this.#guard(this.#api)
    this.#span = this.#turn.below(this.#api, `tool.${name}`, hasId ? { call: this.#call, ...this.#blockedBy } : {})
    this.#turn.lane.emit('pre_tool_call', this.#payload, { isAnonymous: !hasId })
    this.#turn.open.add(this.#span)
    if (!hasId) this.#turn.queues.set(name, [...(this.#turn.queues.get(name) ?? []), this.#span])
  }

  work(): void {
    const { approval, child, guard } = this.#script
    if (guard === 'passes' || guard === 'blocks') this.#guard(this.#hasId ? this.#span : this.#api)
    if (approval !== 'none') this.#ask()
    if (child !== undefined && !this.#isCut) {
      this.#childReturned = this.#turn.delegate(this.#turn, child, this.#call, this.#span)
    }
  }

  end(): void {
    const { name, outcome } = this.#script
    const hasId = this.#hasId
    const { lane, queues, open, fed } = this.#turn
    this.#childReturned()
    lane.emit('post_tool_call', { ...this.#payload, status: outcome }, { isAnonymous: !hasId })
    const span = hasId ? this.#span : (queues.get(name)?.shift() ?? this.#span)
    const isFailed = outcome === 'error' && span.facts['blockedBy'] === undefined
    span.facts['status'] = isFailed ? 'ERROR' : 'OK'
    span.facts['outcome'] = outcome === 'ok' ? 'completed' : isFailed ? outcome : 'blocked'
    open.delete(span)
    fed.toolCalls += 1
    if (name === 'skill_view' && outcome === 'ok') this.#loadSkill()
  }

  get #payload(): object {
    const { name } = this.#script
    const args = name === 'skill_view' ? { name: SKILL } : { path: `${this.#call}.txt` }
    const id = this.#hasId ? { tool_call_id: this.#call } : {}
    return { ...this.#turn.ids, api_request_id: this.#request, tool_name: name, args, ...id }
  }

  get #blockedBy(): { blockedBy?: string } {
    return this.#hasId && this.#script.guard.startsWith('blocks') ? { blockedBy: GUARD } : {}
  }

  /** @param below what it looks at, as far as that is known */
  #guard(below: ExpectedSpan): void {
    const isBlock = this.#script.guard.startsWith('blocks')
    const { lane, ids, fed } = this.#turn
    const verdict = isBlock ? 'block' : 'pass'
    this.#turn.below(below, `hook.${GUARD}`, { status: 'OK', verdict })
    const about = {
      ...ids,
      api_request_id: this.#request,
      ...(this.#hasId ? { tool_call_id: this.#call } : {}),
      hook_run_id: `guard of ${this.#call}`,
      hook_name: GUARD,
      hook_phase: 'before_tool',
      hook_judges: true,
    }
    lane.emit('pre_control_hook', about)
    lane.emit('post_control_hook', { ...about, verdict, action: isBlock ? 'blocked' : 'ran' })
    fed.hookRuns += 1
  }

  /** One window per skill and turn. */
  #loadSkill(): void {
    const { skills, root } = this.#turn
    if (!skills.has(SKILL)) this.#turn.below(root, `skill.${SKILL}`, { status: 'OK' })
    skills.add(SKILL)
  }

  #ask(): void {
    const { approval, approvalNamesSession } = this.#script
    const hasId = this.#hasId
    const { id, ids, lane, llm, open, fed } = this.#turn
    const pattern = `p${this.#call}`
    const span = this.#turn.below(hasId ? this.#span : llm, `approval.${pattern}`, {})
    const named = approvalNamesSession || !lane.namesTurns ? ids : { turn_id: id }
    const payload = { ...named, pattern_key: pattern, ...(hasId ? { tool_call_id: this.#call } : {}) }
    lane.emit('pre_approval_request', { ...payload, command: 'rm x' })
    open.add(span)
    if (this.#isCut || approval === 'unanswered') return
    lane.emit('post_approval_response', { ...payload, choice: approval })
    span.facts['status'] = 'OK'
    span.facts['choice'] = approval
    open.delete(span)
    fed.approvals += 1
  }
}
