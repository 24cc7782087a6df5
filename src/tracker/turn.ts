import { type Context, ROOT_CONTEXT, type Span, type SpanContext, trace } from '@opentelemetry/api'
import type { SafeText } from '../content/safe-text.ts'
import type { SpanKindName } from '../contract/index.ts'
import { SpanStack } from './span-stack.ts'
import { AttributeList } from './spans/attribute-list.ts'
import type { AnyDefinition } from './spans/hook-plan.ts'
import type { SamplingReason } from './spans/keep.ts'
import type { AttributeOptions } from './spans/span-definition.ts'
import type { CapturedMetadata } from './spans/turn-metadata.ts'
import { TurnTotals } from './spans/turn-totals.ts'
import { type EndedMark, slot, type TurnHistory } from './turn-history.ts'

export interface TrackedSpan {
  readonly kind: SpanKindName
  readonly name: SafeText
  /** Kind and key of the span; queued tools share one slot. */
  readonly slot: string
  readonly definition: AnyDefinition
  readonly span: Span
  readonly turn: TrackedTurn
  readonly startAt: number
  /** True if the host sent the start time. Two starts of the same instant are then one delivery repeated. */
  readonly startIsExplicit: boolean
  readonly start: unknown
  readonly attempt: number
  context: Context | undefined
  ended: boolean
  /**
   * Requests only: start of the turn's next request, or end of a later attempt. A request without an answer ended by then.
   * `streamEnd`: the end of the stream, in case the host reports no other end.
   */
  followedAt: number | undefined
  streamEnd: { readonly at: number; readonly error: string | undefined } | undefined
  /** Text that other plugins may change, and its time: a tool result, or the answer (on the root). */
  transformable: { readonly at: number; readonly text: string } | undefined
  /** Only for spans with their own limit (delegations, approvals): last activity by record time and by our clock, epoch ms. */
  activityAt: number
  seenAt: number
}

export function contextOf(open: TrackedSpan): Context {
  open.context ??= trace.setSpan(ROOT_CONTEXT, open.span)
  return open.context
}

export function contextOfSpan(context: SpanContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, context)
}

/** A delegation to a child agent, from `subagent_start` until the child's own turn has ended. */
export interface TrackedDelegation {
  readonly open: TrackedSpan
  readonly childSessionId: string | undefined
  /** Keys of the child in `DelegationRegistry`. */
  readonly keys: readonly string[]
  readonly role: unknown
  readonly parentSessionId: string | undefined
  /** Metadata of the child's turns, in addition to that of the delegating turn. */
  readonly metadata: CapturedMetadata | undefined
  stopped: boolean
  stoppedAt: number
  readonly childTurns: Set<TrackedTurn>
  childSeen: boolean
}

export class TrackedSession {
  readonly key: string
  readonly host: string
  readonly id: string | undefined
  forgotten = false
  /** `on_session_start` was seen; `prompted`: `pre_llm_call`. From then on, a named turn without one is background work. */
  started = false
  prompted = false
  turnCount = 0
  /**
   * Stated once, valid for every later turn: correlation id, sender. `workspace`: working directory, repository and branch,
   * which only root spans carry.
   */
  readonly remembered: AttributeList = new AttributeList()
  readonly workspace: AttributeList = new AttributeList()
  /** Metadata from the last session start, valid for every turn until the next one. */
  metadata: CapturedMetadata | undefined
  lastRoot: SpanContext | undefined
  orphanHistory: TurnHistory | undefined
  previous: { readonly id: SafeText | undefined; readonly root: SpanContext | undefined } | undefined
  readonly turns: Set<TrackedTurn> = new Set()
  /** The session's current turn. Side turns exist beside it. */
  main: TrackedTurn | undefined

  constructor(key: string, host: string, id: string | undefined) {
    this.key = key
    this.host = host
    this.id = id
  }

  get isIdle(): boolean {
    return this.turns.size === 0 && this.main === undefined
  }

  addTurn(turn: TrackedTurn): void {
    this.turns.add(turn)
    if (!turn.isSide && turn.root !== undefined) this.main = turn
  }

  removeTurn(turn: TrackedTurn): void {
    this.turns.delete(turn)
    if (this.main === turn) this.main = undefined
  }

  /** Adds a turn of another session whose session id changed to this one during the turn. */
  shareTurn(turn: TrackedTurn): void {
    this.main = turn
    this.prompted ||= turn.session.prompted
    turn.sharedWith = [...turn.sharedWith, this]
  }

  nextNumber(): number {
    this.turnCount += 1
    return this.turnCount
  }
}

type RequiredField = 'session' | 'turnId' | 'number' | 'isSide' | 'identity' | 'metadata' | 'delegation' | 'history'
type OptionalField = 'isBackground' | 'isReview' | 'agentName' | 'caller' | 'anchor'

export type TurnSeed = Pick<TrackedTurn, RequiredField | 'activityAt' | 'seenAt'> & {
  readonly [Name in OptionalField]?: TrackedTurn[Name] | undefined
}

const NO_SESSIONS: readonly TrackedSession[] = []

export class TrackedTurn {
  readonly host: string
  readonly session: TrackedSession
  sharedWith: readonly TrackedSession[] = NO_SESSIONS
  turnId: string | undefined
  taskId: string | undefined
  /** Ordinal among the session's turns in this process; undefined for background work. */
  number: number | undefined
  /** A late turn or background work, which exists beside the session's own turn. */
  readonly isSide: boolean
  /** A review by Hermes. It runs in a fork whose hooks look like those of a turn. */
  readonly isReview: boolean
  /** No turn hook has named it, in a session whose turns have prompts. Such work, like a review, is not a regular turn. */
  isBackground: boolean
  root: TrackedSpan | undefined
  /** Parent of spans without an open parent: the ended root of a late turn, else none, which starts a trace of their own. */
  readonly anchor: Context
  readonly history: TurnHistory
  readonly totals: TurnTotals = new TurnTotals()
  readonly identity: AttributeList
  /** Metadata of the turn and of the turns above it, set on every span like the identity. */
  metadata: CapturedMetadata | undefined
  readonly agentName: SafeText | undefined
  readonly delegation: TrackedDelegation | undefined
  caller: SpanContext | undefined
  earlySampling: SamplingReason | undefined
  activityAt: number
  seenAt: number
  /** The process that reported its prompt; see `senderOf`. */
  sender: string | undefined
  /** The failure of the last attempt, if no retry can follow and nothing has. `isReported`: the host confirms that none follows. */
  deadEnd: { readonly at: number; readonly isReported: boolean } | undefined
  /** Time of the reported answer, if nothing of its loop has begun since, epoch ms. */
  answeredAt: number | undefined
  hasEnded = false
  readonly open: SpanStack<TrackedSpan> = new SpanStack()

  constructor(seed: TurnSeed) {
    this.host = seed.session.host
    this.session = seed.session
    this.turnId = seed.turnId
    this.number = seed.number
    this.isSide = seed.isSide
    this.isReview = seed.isReview ?? false
    this.isBackground = seed.isBackground ?? false
    this.anchor = seed.anchor ?? ROOT_CONTEXT
    this.history = seed.history
    this.identity = seed.identity
    this.metadata = seed.metadata
    this.agentName = seed.agentName
    this.delegation = seed.delegation
    this.caller = seed.caller
    this.activityAt = seed.activityAt
    this.seenAt = seed.seenAt
  }

  get sessions(): readonly TrackedSession[] {
    return [this.session, ...this.sharedWith]
  }

  openSpan(kind: 'tool' | 'api', id: string | undefined): TrackedSpan | undefined {
    return id === undefined ? undefined : this.open.find(slot(kind, id))
  }

  endedSpan(kind: 'tool' | 'api', id: string | undefined): EndedMark | undefined {
    return id === undefined ? undefined : this.history.ended.get(slot(kind, id))
  }

  setRootAttributes(attributes: AttributeList): void {
    if (this.root !== undefined) attributes.writeTo(this.root.span)
  }

  /** Sets the id of a turn that was opened without one: on the root, and on every span that starts from now on. */
  identify(turnId: string, { facts, capture }: AttributeOptions): void {
    this.turnId = turnId
    const id = capture.id(turnId)
    const attributes = new AttributeList().set(facts.turnId, id)
    this.identity.putAll(attributes)
    this.setRootAttributes(attributes)
  }
}
