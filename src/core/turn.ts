import { type Context, ROOT_CONTEXT, type Span, type SpanContext, trace } from '@opentelemetry/api'
import type { SafeText } from '../content/capture.ts'
import type { SpanKindName } from '../contract/index.ts'
import { AttributeList } from '../spans/attribute-list.ts'
import type { Belonging } from '../spans/belongings.ts'
import type { AnyDefinition } from '../spans/index.ts'
import type { Fired } from '../spans/span-definition.ts'
import { emptyTotals, type TurnTotals } from '../spans/turn-totals.ts'
import { BoundedMap } from './bounded-map.ts'
import { ParentStack } from './parent-stack.ts'

/** A span that has started and not ended. */
export interface OpenSpan {
  readonly kind: SpanKindName
  readonly name: SafeText
  /** Unique among the open spans of its turn, but for queued tools, which share one and chain through `next`. */
  readonly key: string
  readonly definition: AnyDefinition
  readonly span: Span
  readonly turn: Turn
  readonly startAt: number
  /** Whether the host said when it started; two starts of the same instant are then one delivery twice. */
  readonly startIsExplicit: boolean
  /** The payload that started it, by reference; undefined when the start was never seen. */
  readonly start: unknown
  /** Attempt of an api span, from 0. */
  readonly attempt: number
  next: OpenSpan | undefined
  /** Of the first in such a chain: the last. */
  last: OpenSpan | undefined
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

/** What is remembered of a span that has ended: late children still find their parent, repeats are recognised. */
export interface EndedMark {
  readonly context: SpanContext
  readonly startAt: number
  readonly endAt: number
  readonly attempt: number
  /** The host ended it; false when we did, and the host's own end may still come. */
  readonly byHost: boolean
  /** It ended in an error, so a success under the same key tells of a later attempt. */
  readonly failed: boolean
  /** The end itself, where it came before its start and drew nothing: the start, should it still come, is drawn with it. */
  readonly early?: EarlyEnd | undefined
}

export interface EarlyEnd {
  readonly fired: Fired<Readonly<Record<string, unknown>>>
  /** When the attempt before it had ended: its start is not earlier. */
  readonly after: number
}

/** Remembered per turn; beyond this the oldest are forgotten, and a very late child goes under the root. */
const ENDED_MARKS_LIMIT = 4096

/** One user turn: its open spans, its sums, and what is known of it. */
export interface Turn {
  readonly host: string
  readonly session: Session
  /** Sessions that the turn's own rotated into. */
  sharedWith: readonly Session[]
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
  /** Where spans go that have no open parent: the ended root of a late turn; undefined = a trace of their own. */
  readonly anchor: Context
  readonly open: Map<string, OpenSpan>
  readonly stack: ParentStack<OpenSpan>
  readonly ended: BoundedMap<string, EndedMark>
  readonly totals: TurnTotals
  /** Attempts per api request, to number those that hosts do not. */
  readonly attempts: Map<string, number>
  /** What deterministic ids of the turn are derived from: its session, its id, when it began, how many were like it. */
  readonly seed: string
  /** Spans per seed, so that deterministic ids stay distinct. */
  readonly seeds: Map<string, number>
  /** Set on every span of the turn. */
  readonly identity: AttributeList
  /** What was said of it, and of what it is a part of: on every span, as the identity is. */
  belonging: Belonging | undefined
  readonly agentName: SafeText | undefined
  /** The delegation that this turn is the child of. */
  readonly delegation: Delegation | undefined
  /** A span of somebody else's that has asked for it. */
  caller: SpanContext | undefined
  activityAt: number
  seenAt: number
  /** The error of the last attempt, when no retry of it can follow and nothing has. */
  deadEnd: { readonly type: SafeText; readonly at: number } | undefined
  over: boolean
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
export interface Session {
  /** Its name among the sessions of its host. */
  readonly key: string
  /** Its identity was torn down. */
  forgotten: boolean
  readonly host: string
  /** Undefined for records that name none. */
  readonly id: string | undefined
  /** `on_session_start` was seen. */
  started: boolean
  /** `pre_llm_call` was seen: what begins without one is no turn. */
  prompted: boolean
  readonly turns: Set<Turn>
  /** The turn that records without a turn id belong to. */
  main: Turn | undefined
  turnCount: number
  /** Said once, true for every later turn: correlation id, sender. */
  readonly remembered: AttributeList
  /** What its last start said of it: every turn has it until the next one. */
  belonging: Belonging | undefined
  /** Only with `trace_scope: session`, where later turns go under it. */
  firstRoot: SpanContext | undefined
  lastRoot: SpanContext | undefined
  /** The turn that ended last: its key among the ended, and when. */
  lastEndedKey: string | undefined
  /** Of spans that belong to no turn. */
  looseMemory: TurnMemory | undefined
  previous: { readonly id: SafeText | undefined; readonly root: SpanContext | undefined } | undefined
}

/** What a turn remembers of its own past; a late turn goes on with it, so that nothing is drawn or numbered twice. */
export type TurnMemory = Pick<Turn, 'ended' | 'attempts' | 'seeds' | 'seed'>

/** A finished turn whose late records still find their trace. */
export interface EndedTurn extends Pick<Turn, 'session' | 'turnId' | 'identity' | 'number' | 'delegation' | 'anchor'> {
  readonly memory: TurnMemory
  readonly endAt: number
  /** When it was known to be over, which for a silent turn is long after its end. */
  readonly closedAt: number
}

export function contextOf(open: OpenSpan): Context {
  open.context ??= trace.setSpan(ROOT_CONTEXT, open.span)
  return open.context
}

export function contextOfSpan(context: SpanContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, context)
}

export function newSession(key: string, host: string, id: string | undefined): Session {
  return {
    key,
    forgotten: false,
    host,
    id,
    started: false,
    prompted: false,
    turns: new Set(),
    main: undefined,
    turnCount: 0,
    remembered: new AttributeList(),
    belonging: undefined,
    firstRoot: undefined,
    lastRoot: undefined,
    lastEndedKey: undefined,
    looseMemory: undefined,
    previous: undefined,
  }
}

export type TurnSeed = Pick<
  Turn,
  'session' | 'turnId' | 'number' | 'isSide' | 'identity' | 'belonging' | 'agentName' | 'delegation'
> &
  Partial<Pick<Turn, 'anchor' | 'caller' | 'isBackground' | 'isReview'>> & {
    readonly memory: TurnMemory
    readonly at: number
    readonly seenAt: number
  }

export function newMemory(seed: string): TurnMemory {
  return { ended: new BoundedMap(ENDED_MARKS_LIMIT), attempts: new Map(), seeds: new Map(), seed }
}

const NOBODY: readonly Session[] = []

export function newTurn(seed: TurnSeed): Turn {
  const { memory } = seed
  return {
    ended: memory.ended,
    attempts: memory.attempts,
    seeds: memory.seeds,
    seed: memory.seed,
    host: seed.session.host,
    session: seed.session,
    sharedWith: NOBODY,
    turnId: seed.turnId,
    taskId: undefined,
    number: seed.number,
    isSide: seed.isSide,
    isReview: seed.isReview ?? false,
    isBackground: seed.isBackground ?? false,
    root: undefined,
    anchor: seed.anchor ?? ROOT_CONTEXT,
    open: new Map(),
    stack: new ParentStack(),
    totals: emptyTotals(),
    identity: seed.identity,
    belonging: seed.belonging,
    agentName: seed.agentName,
    delegation: seed.delegation,
    caller: seed.caller,
    activityAt: seed.at,
    seenAt: seed.seenAt,
    deadEnd: undefined,
    over: false,
  }
}
