import { literal } from '../content/capture.ts'
import type { IncompleteReason } from '../contract/index.ts'
import { DelegationRegistry } from './delegation.ts'
import type { CoreOptions } from './options.ts'
import { OrphanSweep } from './orphan-sweep.ts'
import type { AnyHookEvent } from './received-hook.ts'
import type { SpanTracker } from './span-tracker.ts'
import { AttributeList } from './spans/attribute-list.ts'
import type { SamplingReason } from './spans/keep.ts'
import type { RootSpanEnd } from './spans/session.ts'
import { addChild } from './spans/turn-totals.ts'
import { contextOfSpan, type TrackedSpan, type TrackedTurn } from './turn.ts'
import { isAtWork, isIdle, isPresumedOver, provenEnd, type TurnOutcome } from './turn-outcome.ts'
import type { EndedTurn, TurnRegistry } from './turn-registry.ts'
import { openAbove, sampleEarly, traceOf } from './turns-above.ts'

/** Limit of open turns. Beyond it the turn that was silent longest is ended, marked and counted. */
const OPEN_TURNS_LIMIT = 20_000
/** Longest silence of background work, between whose hooks only milliseconds pass. */
const BACKGROUND_LIMIT_MILLIS = 5000
/** Records of a child may arrive after the stop of its delegation. A turn that begins later is independent. */
const LATE_CHILD_LIMIT_MILLIS = 5000
/** After a request that failed for good, a host may switch to another model provider within seconds. */
const PRESUMED_OVER_LIMIT_MILLIS = 30_000

/** Keeps turns alive and ends them with their open spans: because of a record, a silence or the end of the process. */
export class TurnLifecycle {
  readonly delegations: DelegationRegistry
  readonly #options: CoreOptions
  readonly #registry: TurnRegistry
  readonly #tracker: SpanTracker
  readonly #turns: OrphanSweep<TrackedTurn>
  /** Background work has no end hook and is ended after a short silence. */
  readonly #background: OrphanSweep<TrackedTurn>
  /** Turns of which no further hook is expected; see `isPresumedOver`. */
  readonly #presumedOver: OrphanSweep<TrackedTurn>
  /** Delegations and approvals, which have their own limit. */
  readonly #spans: OrphanSweep<TrackedSpan>
  #endedCount = 0

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

  /** Number of ended turns and, for hosts that report no end, of answers. */
  get endedCount(): number {
    return this.#endedCount
  }

  /** Open turns that are not presumed over. */
  get turnsOpen(): number {
    let count = this.#registry.openCount
    for (const turn of this.#presumedOver.items()) if (this.#isPresumedOver(turn)) count -= 1
    return count
  }

  /** Start of the oldest turn that is open, or has an open span or an open child turn: by the records' time. */
  openSince(): number | undefined {
    let since = Number.POSITIVE_INFINITY
    const look = (first: TrackedTurn): void => {
      for (let turn: TrackedTurn | undefined = first; turn !== undefined; turn = turn.delegation?.open.turn) {
        for (const { startAt } of turn.root === undefined ? turn.openSpans(() => true) : [turn.root]) {
          since = Math.min(since, startAt)
        }
      }
    }
    for (const turn of this.#registry.openTurns()) look(turn)
    for (const { turn } of this.#spans.items()) look(turn)
    return Number.isFinite(since) ? since : undefined
  }

  /** See `Core.judgeEarly`. */
  sampleEarly(traceId: string): SamplingReason | undefined {
    return sampleEarly(this.#registry, traceId, this.#options)
  }

  addTurn(turn: TrackedTurn, at: number): void {
    this.#registry.addTurn(turn)
    this.touch(turn, at)
    const oldest = this.#registry.openCount > OPEN_TURNS_LIMIT ? this.#turns.oldest() : undefined
    if (oldest !== undefined && oldest !== turn) this.#timeOut(oldest, Math.min(at, oldest.activityAt))
  }

  /** Records activity of a turn and of everything above it that waits for it. */
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

  /** Watches a span that may outlive its turn or wait for the user. */
  watchSpan(open: TrackedSpan, at: number): void {
    this.#spans.touch(open, at, this.#options.now())
  }

  /** Turns supposed background work into a regular turn, because a turn hook names it. */
  promote(turn: TrackedTurn): void {
    if (!turn.isBackground || turn.isReview || turn.hasEnded) return
    const { own } = this.#options.attributeOptions.names
    turn.isBackground = false
    this.#background.forget(turn)
    turn.number = turn.session.nextNumber()
    if (turn.session.main === undefined) turn.session.setCurrentTurn(turn)
    turn.setRootAttributes(
      new AttributeList().set(own.sessionKind, literal('session')).set(own.turnNumber, turn.number),
    )
  }

  endSpan(open: TrackedSpan, event: AnyHookEvent): void {
    if (!open.turn.hasEnded) this.touch(open.turn, event.at)
    this.#spans.forget(open)
    this.#tracker.endSpan(open, event)
    if (open.kind === 'llm' && !this.#registry.areSessionsReported(open.turn.host)) this.#endedCount += 1
    if (this.#isPresumedOver(open.turn)) this.#presumedOver.touch(open.turn, event.at, this.#options.now())
  }

  /** Ends a span that the host did not end, and drops its delegation. */
  abandonSpan(open: TrackedSpan, reason: IncompleteReason, at: number): void {
    this.#spans.forget(open)
    const delegation = open.kind === 'subagent' ? this.delegations.of(open) : undefined
    this.#tracker.abandonSpan(open, reason, at)
    if (delegation !== undefined) this.delegations.forget(delegation)
  }

  endTurn(turn: TrackedTurn, outcome: TurnOutcome): void {
    if (turn.hasEnded) return
    const over = provenEnd(turn, outcome)
    // The host did not end a silent turn and may continue it.
    const isSilent = outcome.finalStatus === 'timed_out'
    const closedAt = over.at + (isSilent ? this.#options.openWorkTtlMillis : 0)
    turn.hasEnded = true
    this.#endedCount += 1
    if (over.finalStatus === 'timed_out') turn.totals.signs.errors += 1
    this.#endDescendants(turn, over)
    if (turn.root !== undefined) this.#endRoot(turn, turn.root, over)
    this.#forgetTurn(turn, over, { closedAt, isSilent })
  }

  /** A turn without a root ends with its last span. */
  closeIfEmpty(turn: TrackedTurn): void {
    if (turn.hasEnded || turn.root !== undefined || turn.openCount > 0) return
    turn.hasEnded = true
    addToParent(turn)
    this.#turns.forget(turn)
    this.#registry.removeTurn(turn)
  }

  /** Ends everything that has been silent for too long by the time of a record. */
  expireByEventTime(at: number): void {
    this.#endPresumedOver(this.#presumedOver.dueAt(at))
    this.#endDue(this.#turns.dueAt(at), this.#background.dueAt(at), this.#spans.dueAt(at))
    this.#registry.forgetEndedBefore(at - this.#options.rootSpanTtlMillis)
  }

  /** Like `endSilent`, by the clock of this process. */
  expireByClock(now: number): void {
    this.#endPresumedOver(this.#presumedOver.dueSeen(now))
    this.#endDue(this.#turns.dueSeen(now), this.#background.dueSeen(now), this.#spans.dueSeen(now))
  }

  /** @param guarded runs each end by itself, so that one failure keeps no other turn open */
  endAll(guarded: (end: () => void) => void): void {
    const { sweepByClock, now } = this.#options
    // Children end before their parents, whose totals include them.
    for (const turn of [...this.#registry.openTurns()].reverse()) {
      const at = Math.max(turn.activityAt, sweepByClock ? now() : turn.activityAt)
      const how = { descendants: 'shutdown', root: 'shutdown', rootStatus: 'unset' } as const
      guarded(() => this.endTurn(turn, { at, finalStatus: 'incomplete', ...how }))
    }
    for (const open of this.#spans.dueSeen(Number.POSITIVE_INFINITY)) {
      guarded(() => this.#tracker.abandonSpan(open, 'shutdown', open.activityAt))
    }
  }

  #endDue(turns: readonly TrackedTurn[], background: readonly TrackedTurn[], spans: readonly TrackedSpan[]): void {
    for (const turn of turns) this.#timeOut(turn, turn.activityAt)
    for (const turn of background) {
      // Work that waits continues when its answer arrives. A side call without requests may belong to a turn that
      // begins later.
      if (!isIdle(turn) || turn.totals.apiCalls === 0) continue
      this.endTurn(turn, { at: turn.activityAt, finalStatus: 'completed', descendants: 'turn_ended' })
    }
    for (const open of spans) this.#orphan(open)
  }

  #isPresumedOver(turn: TrackedTurn): boolean {
    return isPresumedOver(turn, this.#registry.areSessionsReported(turn.host))
  }

  /** The records of these turns prove how they ended. */
  #endPresumedOver(turns: readonly TrackedTurn[]): void {
    for (const turn of turns) {
      if (!this.#isPresumedOver(turn)) continue
      this.endTurn(turn, { at: turn.activityAt, finalStatus: 'incomplete', descendants: 'turn_ended' })
    }
  }

  /** Returns true for an approval, and for a delegation whose turn or child turn is open. */
  #isOpenWork(open: TrackedSpan): boolean {
    if (open.kind !== 'subagent' || !open.turn.hasEnded) return true
    return this.delegations.of(open)?.childTurns.size !== 0
  }

  #timeOut(turn: TrackedTurn, at: number): void {
    this.endTurn(turn, { at, finalStatus: 'timed_out', descendants: 'orphaned', root: 'orphaned' })
  }

  #orphan(open: TrackedSpan): void {
    this.abandonSpan(open, 'orphaned', open.activityAt)
    this.closeIfEmpty(open.turn)
  }

  #endDescendants(turn: TrackedTurn, over: TurnOutcome): void {
    for (const open of turn.openSpans(open => open !== turn.root)) {
      if (open.kind === 'skill') this.#tracker.endSpan(open, endOfTurn(over, { finalStatus: over.finalStatus }))
      else if (over.descendants !== 'shutdown' && open.kind === 'subagent' && this.delegations.outlivesTurn(open)) {
        turn.totals.subagentsOpen += 1
        this.#spans.hasten(open)
      } else this.abandonSpan(open, over.descendants, over.at)
    }
  }

  #endRoot(turn: TrackedTurn, root: TrackedSpan, over: TurnOutcome): void {
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
      turn.setRootAttributes(new AttributeList().set(this.#options.attributeOptions.names.own.sessionSynthesized, true))
    this.#tracker.endSpan(root, endOfTurn(over, payload), { incomplete: over.root, status: over.rootStatus })
  }

  #forgetTurn(turn: TrackedTurn, over: TurnOutcome, how: Pick<EndedTurn, 'closedAt' | 'isSilent'>): void {
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

function endOfTurn({ at }: TurnOutcome, payload: object): AnyHookEvent {
  return { hook: 'on_session_end', at, payload: payload as AnyHookEvent['payload'], facts: {} }
}

/** A child may continue after its parent has ended, so its totals go to the nearest open turn. */
function addToParent(turn: TrackedTurn): void {
  const parent = openAbove(turn)
  if (parent !== undefined) addChild(parent.totals, turn.totals)
}
