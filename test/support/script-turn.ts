import type { ChildScript, RequestScript, TurnScript } from './agent-script.ts'
import { type ExpectedSpan, expectedSpan } from './expected-span.ts'
import type { Beside, Fed, Lane, Telling } from './script-lane.ts'
import { RequestTelling } from './script-request.ts'
import { ToolTelling } from './script-tool.ts'
import { type Used, usageFacts, usageFields, usageOf } from './script-usage.ts'

/** Tells of a child agent; what it gives back tells of its return. */
export type Delegate = (turn: TurnTelling, child: ChildScript, call: string, tool: ExpectedSpan) => () => void

export interface TurnParts {
  readonly id: string
  readonly script: TurnScript
  readonly telling: Pick<Telling, 'fed' | 'beside'>
  readonly mayRotate: boolean
  readonly delegate: Delegate
}

/** Tells one turn, and draws what must come of it. */
export class TurnTelling {
  readonly id: string
  readonly lane: Lane
  readonly fed: Fed
  readonly beside: Beside
  readonly delegate: Delegate
  readonly root: ExpectedSpan
  llm: ExpectedSpan
  /** Spans that nobody ends. */
  readonly open: Set<ExpectedSpan> = new Set()
  /** Attempts that got no answer, and were followed by one that did. */
  readonly followed: Set<ExpectedSpan> = new Set()
  readonly skills: Set<string> = new Set()
  /** Tools without an id: first in, first out. */
  readonly queues: Map<string, ExpectedSpan[]> = new Map()
  toolCalls = 0
  readonly #script: TurnScript
  readonly #mayRotate: boolean
  readonly #sums = { in: 0, out: 0, cr: 0, cw: 0, rs: 0 }
  #requests = 0
  #attempts = 0
  #afterStart: () => void = () => undefined

  constructor(lane: Lane, { id, script, telling, mayRotate, delegate }: TurnParts) {
    this.lane = lane
    this.id = id
    this.fed = telling.fed
    this.beside = telling.beside
    this.delegate = delegate
    this.#script = script
    this.#mayRotate = mayRotate
    this.root = expectedSpan('agent', { session: lane.name, ...this.#turnFact })
    this.llm = this.root
  }

  get isSilent(): boolean {
    return this.#ending === 'silent'
  }

  get ids(): object {
    return { session_id: this.lane.sessionId, ...(this.lane.namesTurns ? { turn_id: this.id } : {}) }
  }

  /** Two prompts in one turn are one turn where nobody names them. */
  get #ending(): TurnScript['ending'] {
    const { ending } = this.#script
    return ending === 'silent' && !this.lane.namesTurns ? 'completed' : ending
  }

  get #turnFact(): { turn?: string } {
    return this.lane.namesTurns ? { turn: this.id } : {}
  }

  below(parent: ExpectedSpan, name: string, facts: ExpectedSpan['facts']): ExpectedSpan {
    const span = expectedSpan(name, { session: this.lane.name, ...this.#turnFact, ...facts })
    parent.children.push(span)
    return span
  }

  /** A side call that names its turn belongs to it, also before the loop; it may go on into the loop. */
  beforeLoop(): void {
    const { auxiliary } = this.#script
    if (!this.lane.namesTurns || (auxiliary !== 'before the loop' && auxiliary !== 'around the loop')) return
    const end = this.#sideCall('title', false)
    if (auxiliary === 'before the loop') end()
    else this.#afterStart = end
  }

  loop(payload: object): void {
    this.lane.emit('pre_llm_call', { ...this.ids, model: 'm', user_message: `do ${this.id}`, ...payload })
    this.llm = this.below(this.root, 'llm.m', {})
    this.open.add(this.llm)
    this.#afterStart()
    const { auxiliary, requests, cut, rotates } = this.#script
    const ending = this.#ending
    if (auxiliary === 'in the loop' || auxiliary === 'failed in the loop') {
      this.#sideCall('vision', auxiliary === 'failed in the loop')()
    }
    requests.forEach((request, index) => {
      this.#request(request, ending !== 'completed' && index === requests.length - 1 ? cut : 'between')
      // The new id must be heard before the turn falls silent, else nobody can know that it belongs here.
      const isHeard = ending !== 'silent' || requests.length > 1
      if (index === 0 && rotates && this.#mayRotate && this.lane.namesTurns && isHeard) this.lane.rotate()
    })
  }

  /** Work that the host does when the turn is over, such as a review of it; what it gives back tells of its end. */
  background(roots: ExpectedSpan[]): (() => void) | undefined {
    const { background } = this.#script
    if (background === 'none' || this.isSilent || !this.lane.namesTurns) return undefined
    const turn = `${this.id}.bg`
    const facts = { session: this.lane.name, turn, status: 'OK' }
    const used = usageOf(this.lane.at % 5000)
    const root = expectedSpan('agent', { ...facts, kind: 'background', final: 'completed', apis: 1, ...used })
    root.children.push(expectedSpan('api.m', { ...facts, call: 1, ...usageFacts(used) }))
    roots.push(root)
    const payload = { ...this.ids, turn_id: turn, api_request_id: `${turn}.r1`, api_call_count: 1, model: 'm' }
    this.lane.emit('pre_api_request', payload)
    const end = (): void => void this.lane.emit('post_api_request', { ...payload, usage: this.#feed(used) })
    this.fed.turns += 1
    this.beside.background += 1
    if (background === 'into the next') return end
    end()
    return undefined
  }

  end(): void {
    const ending = this.#ending
    if (ending === 'silent') return
    if (ending === 'completed') {
      this.lane.emit('post_llm_call', { ...this.ids, assistant_response: `did ${this.id}` })
      this.llm.facts['status'] = 'OK'
      this.open.delete(this.llm)
    }
    this.lane.emit('on_session_end', { ...this.ids, [ending]: true })
    this.#close('turn_ended', ending, ending === 'failed' ? 'ERROR' : 'OK')
  }

  /** The next turn of its session begins although nothing was said of its end. */
  interrupted(): void {
    this.#close('turn_ended', 'interrupted', 'OK')
  }

  /** Nothing was said of its end when the plugin was shut down. */
  shutDown(): void {
    this.root.facts['incomplete'] = 'shutdown'
    this.#close('shutdown', 'incomplete', 'UNSET')
  }

  #close(incomplete: string, final: string, status: string): void {
    for (const span of this.open) span.facts['incomplete'] = incomplete
    for (const span of this.followed) span.facts['incomplete'] = incomplete === 'turn_ended' ? 'superseded' : incomplete
    Object.assign(this.root.facts, this.#sums, { final, status, apis: this.#attempts, tools: this.toolCalls })
  }

  #sideCall(task: string, fails: boolean): () => void {
    this.below(this.root, `aux.${task}`, { status: fails ? 'ERROR' : 'OK' })
    const ids = { ...this.ids, api_request_id: `${this.id}.aux`, aux_task: task, model: 'small' }
    this.lane.emit('pre_auxiliary_call', ids)
    if (fails) this.fed.apiErrors += 1
    const usage = fails ? {} : { usage: this.#feed(usageOf(this.toolCalls + 11)) }
    return () => void this.lane.emit('post_auxiliary_call', { ...ids, ...(fails ? { error_type: 'Timeout' } : usage) })
  }

  #request(script: RequestScript, cut: TurnScript['cut']): void {
    this.#requests += 1
    const id = `${this.id}.r${this.#requests}`
    const request = new RequestTelling(this, script, id, this.#requests)
    for (let attempt = 0; attempt < script.failures; attempt += 1) request.fail(attempt)
    const used = usageOf(script.tokens)
    const isAnswered = cut !== 'in request'
    const span = request.answer(isAnswered ? used : undefined)
    this.#attempts += request.attempts
    if (!isAnswered) return
    this.#feed(used)
    for (const key of ['in', 'out', 'cr', 'cw', 'rs'] as const) this.#sums[key] += used[key]
    this.#tools(script, id, span, cut === 'in tools')
  }

  #feed(used: Used): object {
    this.fed.input += used.in
    this.fed.output += used.out
    this.fed.cacheRead += used.cr
    this.fed.cacheWrite += used.cw
    this.fed.reasoning += used.rs
    return usageFields(used)
  }

  #tools({ tools, parallel }: RequestScript, request: string, api: ExpectedSpan, isCut: boolean): void {
    const calls = tools.map(script => new ToolTelling(this, script, request, api, isCut))
    if (parallel === 'no' && !isCut) {
      for (const call of calls) call.tell()
      return
    }
    for (const call of calls) call.start()
    for (const call of calls) call.work()
    if (isCut) return
    for (const call of parallel === 'last in first out' ? calls.reverse() : calls) call.end()
  }
}
