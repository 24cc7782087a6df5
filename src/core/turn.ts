import { type Context, ROOT_CONTEXT, type Span, type SpanContext, trace } from '@opentelemetry/api'
import type { SafeText } from '../content/capture.ts'
import type { SpanKindName } from '../contract/index.ts'
import { AttributeList } from '../spans/attribute-list.ts'
import type { Belonging } from '../spans/belongings.ts'
import type { AnyDefinition } from '../spans/hook-plan.ts'
import type { SamplingReason } from '../spans/keep.ts'
import type { Draw } from '../spans/span-definition.ts'
import { emptyTotals, type TurnTotals } from '../spans/turn-totals.ts'
import { ParentStack } from './parent-stack.ts'
import { type EndedMark, slot, type TurnMemory } from './turn-memory.ts'

/** A span that has started and not ended. */
export interface OpenSpan {
  readonly kind: SpanKindName
  readonly name: SafeText
  /** Its place in the turn, that of its kind and key; queued tools share one. */
  readonly slot: string
  readonly definition: AnyDefinition
  readonly span: Span
  readonly turn: Turn
  readonly startAt: number
  /** Whether the host said when it started; two starts of the same instant are then one delivery twice. */
  readonly startIsExplicit: boolean
  /** What is kept of the payload that started it; undefined when the start was never seen. */
  readonly start: unknown
  /** Attempt of an api span, from 0. */
  readonly attempt: number
  /** For its children; made when the first one comes. */
  context: Context | undefined
  ended: boolean
  /** Of a request: when the turn made its next one, or told of a later attempt. One that is never answered was over by then. */
  followedAt: number | undefined
  /** Of a request: the end of its stream, for those of which the host says no other. */
  streamEnd: { readonly at: number; readonly error: string | undefined } | undefined
  /** What was handed to others that may change it, and when: a result, or (on the root) an answer. */
  offered: { readonly at: number; readonly text: string } | undefined
  /** For limits of its own (delegations, approvals): the last sign of life, epoch ms, and when we saw it. */
  activityAt: number
  seenAt: number
}

export function contextOf(open: OpenSpan): Context {
  open.context ??= trace.setSpan(ROOT_CONTEXT, open.span)
  return open.context
}

export function contextOfSpan(context: SpanContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, context)
}

/** A child agent that was delegated to, from `subagent_start` until its own turn is over. */
export interface Delegation {
  readonly host: string
  readonly open: OpenSpan
  readonly childSessionId: string | undefined
  readonly childSubagentId: string | undefined
  readonly role: unknown
  readonly parentSessionId: string | undefined
  /** What belongs to the child's turns, beside what belongs to the turn that delegates. */
  readonly belonging: Belonging | undefined
  /** `subagent_stop` was seen, or we ended the span. */
  stopped: boolean
  /** By the records' time, epoch ms. */
  stoppedAt: number
  /** Turns of the child that are open now. */
  readonly childTurns: Set<Turn>
  childSeen: boolean
}

/** One conversation, as long as its identity lives. */
export class Session {
  /** Its name among the sessions of its host. */
  readonly key: string
  readonly host: string
  /** Undefined for records that name none. */
  readonly id: string | undefined
  /** Its identity was torn down. */
  forgotten = false
  /** `on_session_start` was seen. */
  started = false
  /** `pre_llm_call` was seen: what begins without one is no turn. */
  prompted = false
  turnCount = 0
  /** Said once, true for every later turn: correlation id, sender. */
  readonly remembered: AttributeList = new AttributeList()
  /** What its last start said of it: every turn has it until the next one. */
  belonging: Belonging | undefined
  /** Only with `trace_scope: session`, where later turns go under it. */
  firstRoot: SpanContext | undefined
  lastRoot: SpanContext | undefined
  /** Of spans that belong to no turn. */
  looseMemory: TurnMemory | undefined
  previous: { readonly id: SafeText | undefined; readonly root: SpanContext | undefined } | undefined
  readonly #turns = new Set<Turn>()
  #main: Turn | undefined

  constructor(key: string, host: string, id: string | undefined) {
    this.key = key
    this.host = host
    this.id = id
  }

  get turns(): ReadonlySet<Turn> {
    return this.#turns
  }

  /** The turn that records without a turn id belong to. */
  get main(): Turn | undefined {
    return this.#main
  }

  get isIdle(): boolean {
    return this.#turns.size === 0 && this.#main === undefined
  }

  add(turn: Turn): void {
    this.#turns.add(turn)
    if (!turn.isSide && turn.root !== undefined) this.#main = turn
  }

  /** Its own, or one that rotated into it. */
  remove(turn: Turn): void {
    this.#turns.delete(turn)
    if (this.#main === turn) this.#main = undefined
  }

  /** What names no turn is meant for this one from now on. */
  lead(turn: Turn): void {
    this.#main = turn
  }

  /** The session's id has changed in the middle of a turn of another one's. */
  share(turn: Turn): void {
    this.#main = turn
    this.prompted ||= turn.session.prompted
    turn.sharedWith = [...turn.sharedWith, this]
  }

  nextNumber(): number {
    this.turnCount += 1
    return this.turnCount
  }
}

type Told = 'session' | 'turnId' | 'number' | 'isSide' | 'identity' | 'belonging' | 'delegation' | 'memory'
type Optional = 'isBackground' | 'isReview' | 'agentName' | 'caller' | 'anchor'

export type TurnSeed = Pick<Turn, Told | 'activityAt' | 'seenAt'> & {
  readonly [Name in Optional]?: Turn[Name] | undefined
}

const NOBODY: readonly Session[] = []

/** One user turn: its open spans, its past, its sums, and what is known of it. */
export class Turn {
  readonly host: string
  readonly session: Session
  /** Sessions that the turn's own rotated into. */
  sharedWith: readonly Session[] = NOBODY
  /** Undefined until a record brings one. */
  turnId: string | undefined
  taskId: string | undefined
  /** Ordinal among the turns of the session, this process; undefined for background work. */
  number: number | undefined
  /** It stands beside the session's own turn, which goes on: a late turn, background work. */
  readonly isSide: boolean
  /** Hermes reviews a turn by a fork that tells of itself as of a turn. */
  readonly isReview: boolean
  /** No hook of a turn has named it, in a session whose turns are told (a review of the turn before): it is none. */
  isBackground: boolean
  root: OpenSpan | undefined
  /** Where spans go that have no open parent: the ended root of a late turn; else a trace of their own. */
  readonly anchor: Context
  readonly memory: TurnMemory
  readonly totals: TurnTotals = emptyTotals()
  /** Set on every span of the turn. */
  readonly identity: AttributeList
  /** What was said of it, and of what it is a part of: on every span, as the identity is. */
  belonging: Belonging | undefined
  readonly agentName: SafeText | undefined
  /** The delegation that this turn is the child of. */
  readonly delegation: Delegation | undefined
  /** A span of somebody else's that has asked for it. */
  caller: SpanContext | undefined
  /** As in `TurnEnd`. */
  judgedEarly: SamplingReason | undefined
  activityAt: number
  seenAt: number
  /** The process that reported its prompt; see `senderOf`. */
  sender: string | undefined
  /** The error of the last attempt, when no retry of it can follow and nothing has. `isReported`: the host says that none follows. */
  deadEnd: { readonly type: SafeText; readonly at: number; readonly isReported: boolean } | undefined
  /** When its answer was reported, if nothing of its loop has begun since, epoch ms. */
  answeredAt: number | undefined
  over = false
  readonly #open = new Map<string, OpenSpan>()
  /** Tools that no id tells apart share a slot: those behind the first. */
  readonly #queued = new Map<string, Set<OpenSpan>>()
  readonly #stack = new ParentStack<OpenSpan>()

  constructor(seed: TurnSeed) {
    this.host = seed.session.host
    this.session = seed.session
    this.turnId = seed.turnId
    this.number = seed.number
    this.isSide = seed.isSide
    this.isReview = seed.isReview ?? false
    this.isBackground = seed.isBackground ?? false
    this.anchor = seed.anchor ?? ROOT_CONTEXT
    this.memory = seed.memory
    this.identity = seed.identity
    this.belonging = seed.belonging
    this.agentName = seed.agentName
    this.delegation = seed.delegation
    this.caller = seed.caller
    this.activityAt = seed.activityAt
    this.seenAt = seed.seenAt
  }

  /** Spans that are open, the root included. */
  get openCount(): number {
    return this.#stack.size
  }

  get holders(): readonly Session[] {
    return [this.session, ...this.sharedWith]
  }

  /** The open span in a slot; of several that share it, the one that started first. */
  find(slot: string): OpenSpan | undefined {
    return this.#open.get(slot)
  }

  openTool(id: string | undefined): OpenSpan | undefined {
    return id === undefined ? undefined : this.#open.get(slot('tool', id))
  }

  endedTool(id: string | undefined): EndedMark | undefined {
    return id === undefined ? undefined : this.memory.ended(slot('tool', id))
  }

  openRequest(id: string): OpenSpan | undefined {
    return this.#open.get(slot('api', id))
  }

  endedRequest(id: string): EndedMark | undefined {
    return this.memory.ended(slot('api', id))
  }

  innermost(kind: SpanKindName): OpenSpan | undefined {
    return this.#stack.innermost(kind)
  }

  /** The longest open span below the root. */
  outermost(): OpenSpan | undefined {
    return this.#stack.outermostBut(this.root)
  }

  onlyToolNamed(names: ReadonlySet<string>): OpenSpan | undefined {
    return this.#stack.onlyToolNamed(names)
  }

  /** Innermost first; a copy, so that the caller may end them as it goes. */
  openSpans(matches: (open: OpenSpan) => boolean): OpenSpan[] {
    return this.#stack.all(matches)
  }

  hasOpen(matches: (open: OpenSpan) => boolean): boolean {
    return this.#stack.some(matches)
  }

  add(open: OpenSpan): void {
    this.#stack.push(open)
    if (!this.#open.has(open.slot)) this.#open.set(open.slot, open)
    else this.#queued.set(open.slot, (this.#queued.get(open.slot) ?? new Set()).add(open))
  }

  remove(open: OpenSpan): void {
    this.#stack.remove(open)
    const queue = this.#queued.get(open.slot)
    if (this.#open.get(open.slot) !== open) {
      queue?.delete(open)
      return
    }
    const next = queue?.values().next().value
    if (next === undefined) this.#open.delete(open.slot)
    else this.#open.set(open.slot, next)
    if (next === undefined || !queue?.delete(next) || queue.size === 0) this.#queued.delete(open.slot)
  }

  /** For the root alone. */
  tell(attributes: AttributeList): void {
    if (this.root !== undefined) attributes.writeTo(this.root.span)
  }

  /** It was opened without an id and has got one: every span says it from now on, and the root. */
  identify(turnId: string, { names, capture }: Draw): void {
    this.turnId = turnId
    const id = capture.id(turnId)
    this.identity.put(names.own.turnId, id)
    this.tell(new AttributeList().set(names.own.turnId, id))
  }
}
