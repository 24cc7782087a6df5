import type { ChildScript, RequestScript, TurnScript } from './agent-script.ts'
import { type ExpectedSpan, expectedSpan } from './expected-span.ts'
import type { Fed, Lane } from './script-lane.ts'
import { ToolTelling } from './script-tool.ts'

/** Tells of a child agent; what it gives back tells of its return. */
export type Delegate = (turn: TurnTelling, child: ChildScript, call: string, tool: ExpectedSpan) => () => void

export interface TurnParts {
  readonly id: string
  readonly script: TurnScript
  readonly fed: Fed
  readonly mayRotate: boolean
  readonly delegate: Delegate
}

/** Tells one turn, and draws what must come of it. */
export class TurnTelling {
  readonly id: string
  readonly lane: Lane
  readonly fed: Fed
  readonly delegate: Delegate
  readonly root: ExpectedSpan
  llm: ExpectedSpan
  /** Spans that nobody ends. */
  readonly open: Set<ExpectedSpan> = new Set()
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

  constructor(lane: Lane, { id, script, fed, mayRotate, delegate }: TurnParts) {
    this.lane = lane
    this.id = id
    this.fed = fed
    this.delegate = delegate
    this.#script = script
    this.#mayRotate = mayRotate
    this.root = expectedSpan('agent', { session: lane.name, turn: id })
    this.llm = this.root
  }

  get isSilent(): boolean {
    return this.#script.ending === 'silent'
  }

  get ids(): object {
    return { session_id: this.lane.sessionId, turn_id: this.id }
  }

  below(parent: ExpectedSpan, name: string, facts: ExpectedSpan['facts']): ExpectedSpan {
    const span = expectedSpan(name, { session: this.lane.name, turn: this.id, ...facts })
    parent.children.push(span)
    return span
  }

  /** A side call that names its turn belongs to it, also before the loop; it may go on into the loop. */
  beforeLoop(): void {
    const { auxiliary } = this.#script
    if (auxiliary !== 'before the loop' && auxiliary !== 'around the loop') return
    const end = this.#sideCall('title', false)
    if (auxiliary === 'before the loop') end()
    else this.#afterStart = end
  }

  loop(payload: object): void {
    this.lane.emit('pre_llm_call', { ...this.ids, model: 'm', user_message: `do ${this.id}`, ...payload })
    this.llm = this.below(this.root, 'llm.m', {})
    this.open.add(this.llm)
    this.#afterStart()
    const { auxiliary, requests, ending, cut, rotates } = this.#script
    if (auxiliary === 'in the loop' || auxiliary === 'failed in the loop') {
      this.#sideCall('vision', auxiliary === 'failed in the loop')()
    }
    requests.forEach((request, index) => {
      this.#request(request, ending !== 'completed' && index === requests.length - 1 ? cut : 'between')
      // The new id must be heard before the turn falls silent, else nobody can know that it belongs here.
      if (index === 0 && rotates && this.#mayRotate && (ending !== 'silent' || requests.length > 1)) this.lane.rotate()
    })
  }

  end(): void {
    const { ending } = this.#script
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
    Object.assign(this.root.facts, this.#sums, { final, status, apis: this.#attempts, tools: this.toolCalls })
  }

  #sideCall(task: string, fails: boolean): () => void {
    this.below(this.root, `aux.${task}`, { status: fails ? 'ERROR' : 'OK' })
    const ids = { ...this.ids, api_request_id: `${this.id}.aux`, aux_task: task, model: 'small' }
    this.lane.emit('pre_auxiliary_call', ids)
    if (fails) this.fed.apiErrors += 1
    return () => void this.lane.emit('post_auxiliary_call', fails ? { ...ids, error_type: 'Timeout' } : ids)
  }

  #request(script: RequestScript, cut: TurnScript['cut']): void {
    this.#requests += 1
    const id = `${this.id}.r${this.#requests}`
    let span = this.llm
    for (let attempt = 0; attempt <= script.failures; attempt += 1) {
      const isLast = attempt === script.failures
      const told = script.retryCount === 'absent' ? {} : { retry_count: script.retryCount === 'told' ? attempt : 0 }
      const payload = { api_request_id: id, api_call_count: this.#requests, model: 'm', provider: 'p', ...told }
      this.#attempts += 1
      this.lane.emit('pre_api_request', { ...this.ids, ...payload })
      span = this.below(this.llm, 'api.m', { call: this.#requests, attempt })
      if (isLast && cut === 'in request') {
        this.open.add(span)
        return
      }
      if (isLast) this.lane.emit('post_api_request', { ...this.ids, ...payload, usage: this.#usage(script.tokens) })
      else
        this.lane.emit('api_request_error', { ...this.ids, ...payload, error: { type: 'RateLimit' }, retryable: true })
      span.facts['status'] = isLast ? 'OK' : 'ERROR'
      if (!isLast) this.fed.apiErrors += 1
    }
    this.#tools(script, id, span, cut === 'in tools')
  }

  #usage(tokens: number): object {
    const output = tokens % 97
    const used = { in: tokens, out: output, cr: Math.floor(tokens / 2), cw: tokens % 7, rs: output % 5 }
    for (const key of ['in', 'out', 'cr', 'cw', 'rs'] as const) this.#sums[key] += used[key]
    this.fed.input += used.in
    this.fed.output += used.out
    this.fed.cacheRead += used.cr
    this.fed.cacheWrite += used.cw
    this.fed.reasoning += used.rs
    return {
      prompt_tokens: used.in,
      output_tokens: used.out,
      cache_read_tokens: used.cr,
      cache_write_tokens: used.cw,
      reasoning_tokens: used.rs,
    }
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
