import type { LoosePayload } from '../host-event.ts'
import { LimitedMap } from './limited-map.ts'
import type { Records } from './records.ts'
import { Requests } from './requests.ts'
import { Tool } from './tool.ts'
import { toolKey } from './tool-key.ts'
import { type Outcome, Turn } from './turn.ts'

const TURNS_LIMIT = 100
const TOOLS_LIMIT = 1000

/** What a hook says of a tool call. */
export interface Called {
  /** Undefined where the agent has none, or does not say it. */
  readonly id: string | undefined
  readonly name: unknown
  readonly args: unknown
}

/** How it ended. */
export interface CallEnd {
  readonly status?: string | undefined
  readonly result?: unknown
  readonly durationMillis?: number | undefined
  readonly message?: string | undefined
}

class HookedCall extends Tool<HookedTurn> {
  readonly key: string
  /** Its id is ours. */
  readonly isMadeUp: boolean

  constructor(turn: HookedTurn, called: Called, at: number) {
    super(turn, called.id ?? turn.nextId(), called.name, at)
    this.key = toolKey(called.name, called.args)
    this.isMadeUp = called.id === undefined
    this.args = called.args
  }
}

/** A turn of an agent whose hooks tell of prompts and tools, and of no request. */
export class HookedTurn extends Turn {
  readonly startAt: number
  readonly requests: Requests = new Requests(this)
  readonly calls: LimitedMap<string, HookedCall> = new LimitedMap(TOOLS_LIMIT)
  readonly #platform: string
  #prompt: { readonly at: number; readonly text: unknown } | undefined
  model: string | undefined
  answer: unknown
  lastAt: number
  /** When it was heard of before that. */
  beforeAt: number
  isOver = false
  #made = 0

  constructor(session: HookedSession, turnId: string, at: number, prompt: unknown) {
    super(session.records, session.id, turnId)
    this.startAt = at
    this.lastAt = at
    this.beforeAt = at
    this.#platform = session.platform
    this.#prompt = { at, text: prompt }
    this.model = session.model
  }

  /** The start of the turn, once. */
  tellPrompt(prompt?: unknown): void {
    if (this.#prompt === undefined) return
    const { at, text } = this.#prompt
    this.#prompt = undefined
    const facts = { user_message: prompt ?? text, model: this.model, platform: this.#platform }
    this.tell('pre_llm_call', at, facts)
  }

  toolStarted(at: number, called: Called): void {
    if (called.id !== undefined && this.calls.has(called.id)) return
    const call = new HookedCall(this, called, at)
    this.calls.set(call.id, call)
    // A model that asks for a tool has answered.
    this.requests.failures = 0
    this.tellPrompt()
    call.tellStart(call.isMadeUp ? 'inferred' : undefined)
  }

  /** Without an id it is, of equal ones, the first that has not ended. One whose start was not seen began when it ended. */
  toolEnded(at: number, called: Called, end: CallEnd): void {
    const call = this.#open(called) ?? this.#unseen(at - (end.durationMillis ?? 0), called)
    if (call === undefined) return
    const facts: LoosePayload<'post_tool_call'> = {
      status: end.status,
      result: end.result,
      duration_ms: end.durationMillis,
      error_message: end.message,
    }
    call.tellEnd(at, facts, call.isMadeUp ? 'inferred' : undefined)
  }

  /** For a call that has none. */
  nextId(): string {
    this.#made += 1
    return `${this.turnId}:tool:${this.#made}`
  }

  /** What another hook tells of a call that has been told of without an id. @returns whether there is one that runs */
  identified(id: string | undefined, called: Called): boolean {
    const call = this.#open({ ...called, id: undefined })
    if (call !== undefined && id !== undefined) this.calls.set(id, call)
    return call !== undefined
  }

  #open({ id, name, args }: Called): HookedCall | undefined {
    if (id !== undefined) return this.calls.get(id)
    const key = toolKey(name, args)
    return [...this.calls.values()].find(call => call.key === key && call.state === 'running')
  }

  #unseen(at: number, called: Called): HookedCall | undefined {
    this.toolStarted(at, called)
    return this.#open(called)
  }

  /** Once, however often it is called. */
  end(at: number, outcome: Outcome, reason: string = outcome): void {
    if (this.isOver) return
    this.isOver = true
    this.tellPrompt()
    for (const call of this.calls.values()) {
      const correlation = call.isMadeUp ? 'inferred' : undefined
      if (call.state === 'running') call.tellEnd(Math.max(at, call.startAt), { status: 'cancelled' }, correlation)
    }
    const { model, answer } = this
    this.answered(at, answer, model)
    this.over(at, { outcome, reason, model, platform: this.#platform })
  }
}

/** A session of such an agent. */
export class HookedSession {
  readonly records: Records
  readonly id: string
  readonly platform: string
  model: string | undefined
  readonly #turns = new LimitedMap<string, HookedTurn>(TURNS_LIMIT)
  #count = 0
  #isAnnounced = false
  /** The last one, also when it is over. */
  turn: HookedTurn | undefined

  constructor(records: Records, id: string, platform: string) {
    this.records = records
    this.id = id
    this.platform = platform
  }

  /** A prompt: the turn before it is over. @param turnId without: they are counted */
  prompted(at: number, prompt: unknown, turnId?: string): void {
    const known = turnId === undefined ? undefined : this.#turns.get(turnId)
    const turn = known ?? this.#open(at, turnId, prompt)
    turn.tellPrompt(prompt)
  }

  /** The turn that a hook is about; one whose prompt was not seen begins here. */
  turnFor(at: number, turnId?: string): HookedTurn {
    const known = turnId === undefined ? this.turn : this.#turns.get(turnId)
    const turn = known ?? this.#open(at, turnId, undefined)
    turn.beforeAt = turn.lastAt
    turn.lastAt = Math.max(turn.lastAt, at)
    return turn
  }

  /** The turn in which something began, of those that are known. */
  turnAt(at: number): HookedTurn | undefined {
    const turns = [...this.#turns.values()]
    return turns.findLast(({ startAt }) => startAt <= at) ?? turns[0]
  }

  /** It was heard of, and the agent has not left it. */
  get isOpen(): boolean {
    return this.#isAnnounced
  }

  #open(at: number, turnId: string | undefined, prompt: unknown): HookedTurn {
    this.turn?.end(this.turn.lastAt, 'interrupted')
    this.#count += 1
    const turn = new HookedTurn(this, turnId ?? `${this.id}:${this.#count}`, at, prompt)
    this.turn = turn
    this.#turns.set(turn.turnId ?? '', turn)
    if (this.#isAnnounced) return turn
    this.#isAnnounced = true
    turn.tell('on_session_start', at, { model: this.model, platform: this.platform })
    return turn
  }

  /** The agent leaves it. */
  ended(at: number, outcome: Outcome, reason: string): void {
    this.turn?.end(at, outcome, reason)
    this.turn = undefined
    if (!this.#isAnnounced) return
    this.#isAnnounced = false
    this.records.add('on_session_finalize', at, { session_id: this.id, platform: this.platform, reason })
  }
}
