import { idOf, peek } from '../../contract/foreign.ts'
import type { Correlation } from '../../contract/index.ts'
import type { LoosePayload } from '../host-event.ts'
import { AgentLoop, AgentSession } from './agent-loop.ts'
import { LimitedMap } from './limited-map.ts'
import type { TurnResult } from './records.ts'
import { Tool, toolKey } from './tool.ts'

export interface ReportedCall {
  /** Undefined if the agent has no ids, or does not report this one. */
  readonly id: string | undefined
  readonly name: unknown
  readonly args: unknown
}

/** The call in a hook of the names of Claude Code. Copilot has an id in it only if VS Code reads the same files. */
export function calledIn(data: unknown): ReportedCall {
  return { id: idOf(peek(data, 'tool_use_id')), name: peek(data, 'tool_name'), args: peek(data, 'tool_input') }
}

type ReportedEnd = LoosePayload<'post_tool_call'> & { readonly duration_ms?: number | undefined }

class HookedCall extends Tool<HookedTurn> {
  /** `inferred` if the agent has not reported an id. */
  readonly correlation: Correlation | undefined
  #key: string | undefined

  constructor(turn: HookedTurn, called: ReportedCall, at: number) {
    super(turn, called.id ?? turn.nextId(), called.name, at)
    this.correlation = called.id === undefined ? 'inferred' : undefined
    this.args = called.args
  }

  /** Computed once, for the first end without an id: each such end compares all running calls. */
  get key(): string {
    this.#key ??= toolKey(this.name, this.args)
    return this.#key
  }
}

/** A turn of an agent whose hooks report prompts and tools, and no requests. */
export class HookedTurn extends AgentLoop<HookedSession> {
  readonly toolCalls: LimitedMap<string, HookedCall> = new LimitedMap(1000)
  answer: unknown
  previousAt: number = this.startAt
  #made = 0

  startTool(at: number, called: ReportedCall): HookedCall {
    const known = this.toolCalls.get(called.id ?? '')
    if (known !== undefined) return known
    const call = new HookedCall(this, called, at)
    this.toolCalls.set(call.id, call)
    // A model that requests a tool has answered.
    this.requests.failures = 0
    this.emitPrompt()
    call.emitStart(call.correlation)
    return call
  }

  /**
   * Ends a tool call. Without an id, the first running call of the same name and arguments ends. A call without a recorded start
   * gets one, computed from the duration.
   */
  endTool(at: number, called: ReportedCall, facts: ReportedEnd): void {
    const call = this.#open(called) ?? this.startTool(at - (facts.duration_ms ?? 0), called)
    call.emitEnd(at, facts, call.correlation)
  }

  nextId(): string {
    this.#made += 1
    return `${this.turnId}:tool:${this.#made}`
  }

  assignCallId(id: string | undefined, called: ReportedCall): boolean {
    const call = this.#open({ ...called, id: undefined })
    if (call !== undefined && id !== undefined) this.toolCalls.set(id, call)
    return call !== undefined
  }

  #open({ id, name, args }: ReportedCall): HookedCall | undefined {
    if (id !== undefined) return this.toolCalls.get(id)
    const key = toolKey(name, args)
    return [...this.toolCalls.values()].find(call => call.state === 'running' && call.key === key)
  }

  endTurn(at: number, outcome: TurnResult, reason: string = outcome): void {
    if (this.hasEnded) return
    this.hasEnded = true
    this.emitPrompt()
    for (const call of this.toolCalls.values())
      if (call.state === 'running') call.emitEnd(Math.max(at, call.startAt), { status: 'cancelled' }, call.correlation)
    this.emitLoopEnd(at, { outcome, reason, text: this.answer })
  }
}

export class HookedSession extends AgentSession {
  readonly #turns = new LimitedMap<string, HookedTurn>(100)
  #count = 0
  turn: HookedTurn | undefined

  /** Handles a prompt, which ends the previous turn. @param turnId if undefined, turns are numbered */
  startTurn(at: number, prompt: unknown, turnId?: string): void {
    const turn = this.#turns.get(turnId ?? '') ?? this.#open(at, turnId, prompt)
    if (turn.prompt !== undefined) turn.prompt = { at: turn.startAt, text: prompt ?? turn.prompt.text }
    turn.emitPrompt()
  }

  /** Returns the turn that a hook belongs to. If its prompt was not received, the turn begins here. */
  turnFor(at: number, turnId?: string): HookedTurn {
    const known = turnId === undefined ? this.turn : this.#turns.get(turnId)
    const turn = known ?? this.#open(at, turnId, undefined)
    turn.previousAt = turn.lastAt
    turn.lastAt = Math.max(turn.lastAt, at)
    return turn
  }

  turnAt(at: number): HookedTurn | undefined {
    const turns = [...this.#turns.values()]
    return turns.findLast(({ startAt }) => startAt <= at) ?? turns[0]
  }

  #open(at: number, turnId: string | undefined, prompt: unknown): HookedTurn {
    this.turn?.endTurn(this.turn.lastAt, 'interrupted')
    this.#count += 1
    const turn = new HookedTurn(this, { turnId: turnId ?? `${this.id}:${this.#count}` }, at, prompt)
    this.turn = turn
    this.#turns.set(turn.turnId ?? '', turn)
    turn.announceSession()
    return turn
  }

  endSession(at: number, outcome: TurnResult, reason: string): void {
    this.turn?.endTurn(at, outcome, reason)
    this.turn = undefined
    if (!this.isAnnounced) return
    this.isAnnounced = false
    this.records.addRecord('on_session_finalize', at, { session_id: this.id, platform: this.platform, reason })
  }
}
