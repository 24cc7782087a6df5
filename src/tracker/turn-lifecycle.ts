import { literal } from '../content/safe-text.ts'
import type { FinalStatus, IncompleteReason, SessionEnd, SessionStart, SpanKindName } from '../contract/index.ts'
import { BoundedMap } from './bounded-map.ts'
import { DelegationRegistry, openAbove, traceOf } from './delegation.ts'
import type { CoreOptions } from './options.ts'
import { OrphanSweep, type SweepItem } from './orphan-sweep.ts'
import { agentNameOf, callerOf, rootAttributes, rootLinks, rootParent } from './root-span.ts'
import type { SpanTracker } from './span-tracker.ts'
import { AttributeList } from './spans/attribute-list.ts'
import { LOOP } from './spans/llm.ts'
import { type RootSpanEnd, session as rootDefinition } from './spans/session.ts'
import type { AnyHookEvent } from './spans/span-definition.ts'
import { workspaceAttributes } from './spans/turn-metadata.ts'
import { addChild } from './spans/turn-totals.ts'
import { contextOfSpan, type TrackedSession, type TrackedSpan, TrackedTurn } from './turn.ts'
import { inheritedMetadata, rememberedAttributes, turnIdentity } from './turn-facts.ts'
import { slot, TurnHistory } from './turn-history.ts'
import { type EndedTurn, type ReceivedHook, startedAt, type TurnRegistry } from './turn-registry.ts'

/** Limit of open turns. Beyond it the turn that was silent longest is ended, marked and counted. */
const OPEN_TURNS_LIMIT = 20_000
/** Longest silence of background work, between whose hooks only milliseconds pass. */
const BACKGROUND_LIMIT_MILLIS = 5000
/** Records of a child may arrive after the stop of its delegation. A turn that begins later is independent. */
const LATE_CHILD_LIMIT_MILLIS = 5000
/** After a request that failed for good, a host may switch to another model provider within seconds. */
const PRESUMED_OVER_LIMIT_MILLIS = 30_000
const IDENTITIES_LIMIT = 10_000

interface OpeningOptions {
  readonly isSide: boolean
  readonly isBackground?: boolean
  readonly isReview?: boolean
  /** Differs from the record's time only for a span that is created afterwards. */
  readonly startAt?: number | undefined
}

export interface TrackedTurnEnd {
  readonly at: number
  readonly finalStatus: FinalStatus
  readonly payload?: SessionEnd
  /** Reason why hookspan ends the turn itself. Otherwise only the spans that are still open in it are incomplete. */
  readonly incomplete?: IncompleteReason
  /** True if the root gets no status: the turn did not succeed, but not because of an error. */
  readonly isUnset?: boolean
}

/** Opens turns, keeps them alive, and ends them with their open spans: because of a record, a silence or the end of the process. */
export class TurnLifecycle {
  readonly delegations: DelegationRegistry
  readonly #options: CoreOptions
  readonly #registry: TurnRegistry
  readonly #tracker: SpanTracker
  readonly #turns: OrphanSweep<TrackedTurn>
  /** Background work has no end hook: silence ends it. `#spans`: delegations and approvals, with their own limit. */
  readonly #background: OrphanSweep<TrackedTurn>
  readonly #presumedOver: OrphanSweep<TrackedTurn>
  readonly #spans: OrphanSweep<TrackedSpan>
  /** Turns with identical ids are distinguished by arrival order. */
  readonly #sameIdentity = new BoundedMap<string, number>(IDENTITIES_LIMIT)
  /** Number of ended turns and, for hosts that report no end, of answers. */
  endedCount = 0

  constructor(options: CoreOptions, registry: TurnRegistry, tracker: SpanTracker) {
    const limit = options.rootSpanTtlMillis
    const workLimit = options.openWorkTtlMillis
    this.#options = options
    this.#registry = registry
    this.#tracker = tracker
    this.#turns = new OrphanSweep(limit, { limitMillis: workLimit, isFor: isAtWork })
    this.#background = new OrphanSweep(Math.min(BACKGROUND_LIMIT_MILLIS, limit))
    this.#presumedOver = new OrphanSweep(Math.min(PRESUMED_OVER_LIMIT_MILLIS, limit))
    this.#spans = new OrphanSweep(limit, { limitMillis: workLimit, isFor: open => this.#isOpenWork(open) })
    this.delegations = new DelegationRegistry(Math.min(LATE_CHILD_LIMIT_MILLIS, limit), ({ open }) =>
      this.#orphan(open),
    )
  }

  get turnsOpen(): number {
    let count = this.#registry.openCount
    for (const turn of this.#presumedOver.items()) if (this.#isPresumedOver(turn)) count -= 1
    return count
  }

  openSince(): number | undefined {
    let since = Number.POSITIVE_INFINITY
    const look = (first: TrackedTurn): void => {
      for (let turn: TrackedTurn | undefined = first; turn !== undefined; turn = turn.delegation?.open.turn) {
        for (const { startAt } of turn.root === undefined ? turn.open.all(() => true) : [turn.root]) {
          since = Math.min(since, startAt)
        }
      }
    }
    for (const turn of this.#registry.openTurns()) look(turn)
    for (const { turn } of this.#spans.items()) look(turn)
    return Number.isFinite(since) ? since : undefined
  }

  turnFor(event: ReceivedHook, isSideCall: boolean, startAt?: number): TrackedTurn {
    const turn = this.#registry.findOrIndex(event, false) ?? this.openLate(event, false)
    if (turn !== undefined) return turn
    // A side call between turns that names no turn belongs to none, and must not look like a turn of its own.
    if (isSideCall && event.turnId === undefined) return this.openOrphan(event)
    const session = this.#registry.session(event)
    const isBackground = session.prompted && event.turnId !== undefined
    return this.openTurn(session, event, { isSide: isBackground || session.main !== undefined, isBackground, startAt })
  }

  /** A late turn: continues one that has ended, for a record that arrives after the end. */
  openLate(event: ReceivedHook, begins: boolean): TrackedTurn | undefined {
    const named = this.#registry.findEnded(event, event.at, false)
    // Without a time, only a missing prompt shows that this one is late: a host may use the id of an ended turn again.
    const loop = named?.history.ended.get(slot('llm', LOOP))
    const hadPrompt = loop !== undefined && loop.early === undefined && loop.startAt !== startedAt(event)
    const ended = begins && hadPrompt ? this.#registry.findEnded(event, startedAt(event), true) : named
    if (ended === undefined) return undefined
    const open = this.#registry.findOrIndex(event, begins)
    return open !== undefined && open.root === undefined ? open : this.#openRootless(ended.session, event, ended)
  }

  /** A turn without a root, for spans that belong to no turn. */
  openOrphan(event: ReceivedHook): TrackedTurn {
    return this.#openRootless(this.#registry.session(event), event, undefined)
  }

  orphanHistoryOf(session: TrackedSession): TurnHistory {
    session.orphanHistory ??= new TurnHistory(this.#seed(session, 'loose', 0))
    return session.orphanHistory
  }

  openTurn(session: TrackedSession, event: ReceivedHook, how: OpeningOptions): TrackedTurn {
    const payload = event.payload as SessionStart
    const turn = this.#turnOf(session, event, how)
    const links = rootLinks(this.#options, this.#registry, turn, payload)
    turn.root = this.#tracker.startSpan(turn, rootDefinition, ambiguousWithoutId(event), {
      slot: slot('session', 'root'),
      parent: rootParent(this.#options, turn),
      startAt: how.startAt ?? event.at,
      isExplicit: event.isExplicit,
      ...(links.length === 0 ? {} : { links }),
      attributes: rootAttributes(this.#options, turn, payload),
    })
    session.previous = undefined
    if (turn.delegation !== undefined) this.delegations.childStarted(turn.delegation, turn)
    this.#addTurn(turn, event.at)
    return turn
  }

  #turnOf(session: TrackedSession, event: ReceivedHook, how: OpeningOptions): TrackedTurn {
    const { isSide, isBackground, isReview } = how
    const payload = event.payload as SessionStart
    const delegation = this.delegations.forChild(session.host, session.id, event.at)
    session.remembered.putAll(rememberedAttributes(payload, this.#options.attributeOptions))
    session.workspace.putAll(workspaceAttributes(payload, this.#options.attributeOptions))
    const metadata = inheritedMetadata(session, delegation, this.#options.attributeOptions)
    // A replayed record without a time has the time of the replay, which would make the seed vary.
    const beganAt = event.isExplicit || this.#options.sweepByClock ? event.at : undefined
    return new TrackedTurn({
      session,
      turnId: event.turnId,
      number: isBackground ? undefined : session.nextNumber(),
      isSide,
      isBackground,
      isReview,
      identity: turnIdentity(this.#options.attributeOptions, session, event.turnId, metadata, delegation),
      metadata,
      agentName: agentNameOf(this.#options, session.host, payload),
      delegation,
      caller: callerOf(this.#options, payload),
      activityAt: event.at,
      seenAt: this.#options.now(),
      history: new TurnHistory(this.#seed(session, event.turnId, beganAt)),
    })
  }

  #openRootless(session: TrackedSession, event: ReceivedHook, ended: EndedTurn | undefined): TrackedTurn {
    const turn = new TrackedTurn({
      session,
      turnId: ended?.turnId ?? event.turnId,
      number: ended?.number ?? session.turnCount,
      isSide: true,
      identity:
        ended?.identity ?? turnIdentity(this.#options.attributeOptions, session, event.turnId, session.metadata),
      metadata: ended === undefined ? session.metadata : ended.metadata,
      agentName: ended?.agentName,
      delegation: ended?.delegation,
      activityAt: event.at,
      seenAt: this.#options.now(),
      history: ended?.history ?? this.orphanHistoryOf(session),
      anchor: ended?.anchor,
    })
    this.#addTurn(turn, event.at)
    return turn
  }

  #seed(session: TrackedSession, turnId: string | undefined, at: number | undefined): string {
    const known = `${session.host}\u0000${session.key}\u0000${turnId ?? ''}\u0000${at ?? ''}`
    if (this.#options.seedIds === undefined) return known
    const ordinal = this.#sameIdentity.get(known) ?? 0
    this.#sameIdentity.set(known, ordinal + 1)
    return ordinal === 0 ? known : `${known}\u0000${ordinal}`
  }

  #addTurn(turn: TrackedTurn, at: number): void {
    this.#registry.addTurn(turn)
    this.touch(turn, at)
    const oldest = this.#registry.openCount > OPEN_TURNS_LIMIT ? this.#turns.oldest() : undefined
    if (oldest !== undefined && oldest !== turn) this.#timeOut(oldest, Math.min(at, oldest.activityAt))
  }

  touch(turn: TrackedTurn, at: number): void {
    const now = this.#options.now()
    if (turn.isBackground) this.#background.touch(turn, at, now)
    let current: TrackedTurn | undefined = turn
    while (current !== undefined && !current.hasEnded) {
      this.#turns.touch(current, at, now)
      const parent: TrackedSpan | undefined = current.delegation?.open
      if (parent === undefined || parent.ended) return
      this.#spans.touch(parent, at, now)
      current = parent.turn
    }
  }

  watchSpan(open: TrackedSpan, at: number): void {
    this.#spans.touch(open, at, this.#options.now())
  }

  /** Turns supposed background work into a regular turn, because a turn hook names it. */
  promote(turn: TrackedTurn): void {
    if (!turn.isBackground || turn.isReview || turn.hasEnded) return
    const { facts } = this.#options.attributeOptions
    turn.isBackground = false
    this.#background.forget(turn)
    turn.number = turn.session.nextNumber()
    if (turn.session.main === undefined) turn.session.main = turn
    turn.setRootAttributes(
      new AttributeList().set(facts.sessionKind, literal('session')).set(facts.turnNumber, turn.number),
    )
  }

  endSpan(open: TrackedSpan, event: AnyHookEvent, isCounted = false): void {
    if (!open.turn.hasEnded) this.touch(open.turn, event.at)
    this.#spans.forget(open)
    if (isCounted) this.#tracker.endCounted(open, event)
    else this.#tracker.endSpan(open, event)
    if (open.kind === 'llm' && !this.#registry.areSessionsReported(open.turn.host)) this.endedCount += 1
    if (this.#isPresumedOver(open.turn)) this.#presumedOver.touch(open.turn, event.at, this.#options.now())
  }

  abandonSpan(open: TrackedSpan, reason: IncompleteReason, at: number): void {
    this.#spans.forget(open)
    const delegation = open.kind === 'subagent' ? this.delegations.of(open) : undefined
    this.#tracker.abandonSpan(open, reason, at)
    if (delegation !== undefined) this.delegations.forget(delegation)
  }

  endTurn(turn: TrackedTurn, outcome: TrackedTurnEnd): void {
    if (turn.hasEnded) return
    const over = provenEnd(turn, outcome)
    // The host did not end a silent turn and may continue it.
    const isSilent = outcome.finalStatus === 'timed_out'
    const closedAt = over.at + (isSilent ? this.#options.openWorkTtlMillis : 0)
    turn.hasEnded = true
    this.endedCount += 1
    if (over.finalStatus === 'timed_out') turn.totals.signs.errors += 1
    this.#endDescendants(turn, over)
    if (turn.root !== undefined) this.#endRoot(turn, turn.root, over)
    this.#forgetTurn(turn, over, { closedAt, isSilent })
  }

  /** A turn without a root ends with its last span. */
  closeIfEmpty(turn: TrackedTurn): void {
    if (turn.hasEnded || turn.root !== undefined || turn.open.size > 0) return
    turn.hasEnded = true
    addToParent(turn)
    this.#turns.forget(turn)
    this.#registry.removeTurn(turn)
    this.#registry.rememberLate(turn)
  }

  expire(now: number, by: keyof SweepItem): void {
    for (const turn of this.#presumedOver.due(now, by)) {
      if (!this.#isPresumedOver(turn)) continue
      this.endTurn(turn, { at: turn.activityAt, finalStatus: 'incomplete' })
    }
    const turns = this.#turns.due(now, by)
    const background = this.#background.due(now, by)
    const spans = this.#spans.due(now, by)
    for (const turn of turns) this.#timeOut(turn, turn.activityAt)
    for (const turn of background) {
      // Work that waits continues when its answer arrives. A side call without requests may belong to a turn that begins later.
      if (!isIdle(turn) || turn.totals.apiCalls === 0) continue
      this.endTurn(turn, { at: turn.activityAt, finalStatus: 'completed' })
    }
    for (const open of spans) this.#orphan(open)
    if (by === 'activityAt') this.#registry.forgetEndedBefore(now - this.#options.rootSpanTtlMillis)
  }

  /** Children end before parents, whose totals include them. Each is `guarded`: a failure keeps no other turn open. */
  endAll(guarded: (end: () => void) => void): void {
    const { sweepByClock, now } = this.#options
    for (const turn of [...this.#registry.openTurns()].reverse()) {
      const at = Math.max(turn.activityAt, sweepByClock ? now() : turn.activityAt)
      guarded(() => this.endTurn(turn, { at, finalStatus: 'incomplete', incomplete: 'shutdown', isUnset: true }))
    }
    for (const open of this.#spans.due(Number.POSITIVE_INFINITY, 'seenAt')) {
      guarded(() => this.#tracker.abandonSpan(open, 'shutdown', open.activityAt))
    }
  }

  /**
   * Returns true if no further hook is expected of a turn whose end was not reported. Its request failed for good, or it
   * has its answer and its host reports no sessions.
   */
  #isPresumedOver(turn: TrackedTurn): boolean {
    const isAnswered = turn.answeredAt !== undefined && !this.#registry.areSessionsReported(turn.host)
    const isSettled = turn.deadEnd?.isReported === true || isAnswered
    return isSettled && turn.root !== undefined && !turn.hasEnded && !isWorking(turn)
  }

  #isOpenWork(open: TrackedSpan): boolean {
    if (open.kind !== 'subagent' || !open.turn.hasEnded) return true
    return this.delegations.of(open)?.childTurns.size !== 0
  }

  #timeOut(turn: TrackedTurn, at: number): void {
    this.endTurn(turn, { at, finalStatus: 'timed_out', incomplete: 'orphaned' })
  }

  #orphan(open: TrackedSpan): void {
    this.abandonSpan(open, 'orphaned', open.activityAt)
    this.closeIfEmpty(open.turn)
  }

  #endDescendants(turn: TrackedTurn, over: TrackedTurnEnd): void {
    for (const open of turn.open.all(open => open !== turn.root)) {
      if (open.kind === 'skill') this.#tracker.endSpan(open, endOfTurn(over.at, { finalStatus: over.finalStatus }))
      else if (over.incomplete !== 'shutdown' && open.kind === 'subagent' && this.delegations.outlivesTurn(open)) {
        turn.totals.subagentsOpen += 1
        this.#spans.hasten(open)
      } else this.abandonSpan(open, over.incomplete ?? 'turn_ended', over.at)
    }
  }

  #endRoot(turn: TrackedTurn, root: TrackedSpan, over: TrackedTurnEnd): void {
    const payload: RootSpanEnd = {
      ...over.payload,
      finalStatus: over.finalStatus,
      totals: turn.totals,
      durationMillis: Math.max(0, over.at - root.startAt),
      agentName: turn.agentName,
      isBackground: turn.isBackground,
      traceId: traceOf(turn),
      isPart: turn.delegation !== undefined,
      earlySampling: turn.earlySampling,
    }
    if (!turn.session.started)
      turn.setRootAttributes(new AttributeList().set(this.#options.attributeOptions.facts.sessionSynthesized, true))
    this.#tracker.endSpan(root, endOfTurn(over.at, payload, over.payload), over)
  }

  #forgetTurn(turn: TrackedTurn, over: TrackedTurnEnd, how: Pick<EndedTurn, 'closedAt' | 'isSilent'>): void {
    this.#turns.forget(turn)
    this.#background.forget(turn)
    this.#presumedOver.forget(turn)
    this.#registry.removeTurn(turn)
    const context = turn.root?.span.spanContext()
    if (context !== undefined) {
      if (!turn.isBackground) for (const session of turn.sessions) session.lastRoot = context
      this.#registry.rememberEnded(turn, { anchor: contextOfSpan(context), endAt: over.at, ...how })
    }
    if (turn.delegation === undefined) return
    // The child was active until now, and so was its delegation.
    if (!turn.delegation.open.ended) this.watchSpan(turn.delegation.open, over.at)
    addToParent(turn)
    this.delegations.childEnded(turn.delegation, turn)
  }
}

function endOfTurn(at: number, payload: object, reported: object = {}): AnyHookEvent {
  return {
    hook: 'on_session_end',
    at,
    payload: payload as AnyHookEvent['payload'],
    reported: reported as AnyHookEvent['payload'],
    facts: {},
  }
}

/** A child may continue after its parent has ended, so its totals go to the nearest open turn. */
function addToParent(turn: TrackedTurn): void {
  const parent = openAbove(turn)
  if (parent !== undefined) addChild(parent.totals, turn.totals)
}

/** Marks a root that no id names as ambiguous: the tree is uncertain. */
function ambiguousWithoutId(event: ReceivedHook): ReceivedHook {
  const isNamed = event.sessionId !== undefined || event.turnId !== undefined || event.taskId !== undefined
  return isNamed || event.correlation !== undefined ? event : { ...event, correlation: 'ambiguous' }
}

const WORK: readonly SpanKindName[] = ['api', 'tool', 'subagent', 'approval', 'auxiliary', 'hook']

export function isWorking(turn: TrackedTurn): boolean {
  return WORK.some(kind => turn.open.innermost(kind) !== undefined)
}

function isIdle(turn: TrackedTurn): boolean {
  return turn.open.size <= 1
}

/** Kinds that stay open without work in progress, for example between two requests of the loop. */
const IDLE_KINDS: ReadonlySet<SpanKindName> = new Set(['session', 'llm', 'skill'])

/** Returns true if a process or the user is working on an open span. Silence is no end then. */
function isAtWork(turn: TrackedTurn): boolean {
  return !isFailed(turn) && turn.open.some(isWork)
}

function isWork({ kind, followedAt }: TrackedSpan): boolean {
  return !IDLE_KINDS.has(kind) && followedAt === undefined
}

function waitsFor(turn: TrackedTurn, kind: 'api' | 'llm'): boolean {
  const open = turn.open.innermost(kind)
  return open !== undefined && open.followedAt === undefined
}

/**
 * Returns true if the turn has stopped at a failed request. It failed for good, or it was begun again after an attempt
 * without an answer and got none then. Such answers were unusable, and hosts report nothing of them.
 */
export function isFailed(turn: TrackedTurn): boolean {
  if (turn.deadEnd !== undefined) return true
  const open = turn.open.innermost('api')
  const before = open === undefined ? undefined : turn.history.ended.get(open.slot)
  return before !== undefined && !before.byHost
}

/** Corrects the end of a turn if its records prove more than the event that ended it. */
function provenEnd(turn: TrackedTurn, outcome: TrackedTurnEnd): TrackedTurnEnd {
  if (turn.root === undefined) return outcome
  if (isFailed(turn) && outcome.payload?.interrupted !== true) {
    const at = outcome.payload === undefined ? turn.activityAt : outcome.at
    return { ...(outcome.payload && { payload: outcome.payload }), at, finalStatus: 'failed' }
  }
  // The answer is reported only for turns that succeeded.
  const hasSucceeded = turn.answeredAt !== undefined || (turn.isBackground && isIdle(turn))
  if (hasSucceeded && outcome.payload === undefined) return { at: turn.activityAt, finalStatus: 'completed' }
  if (!waitsFor(turn, 'api')) return outcome
  // Closing a session while a request is pending is a decision of the user, but the turn did not succeed.
  if (outcome.finalStatus === 'finalized' || outcome.finalStatus === 'reset') return { ...outcome, isUnset: true }
  // A child killed by its parent's exit is reported as completed.
  const isKilled = outcome.finalStatus === 'completed' && turn.delegation !== undefined && waitsFor(turn, 'llm')
  return isKilled ? { ...outcome, finalStatus: 'interrupted' } : outcome
}
