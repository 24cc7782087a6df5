import type { HookResult, SessionStart, SubagentStart } from '../contract/index.ts'
import {
  attemptAttribute,
  earlyEnd,
  endedBehind,
  foldedByEnd,
  isPromptAgain,
  isRepeat,
  noteFollowed,
  retryCount,
} from './attempts.ts'
import type { CoreOptions } from './options.ts'
import { parentOf } from './parents.ts'
import { idsOf, type ReceivedHook, senderOf, startedAt } from './received-hook.ts'
import { HERMES, linkCaller } from './root-span.ts'
import { isRequest } from './span-timing.ts'
import type { SpanTracker } from './span-tracker.ts'
import { isEscalation } from './spans/approval.ts'
import { AttributeList } from './spans/attribute-list.ts'
import { opensTurn } from './spans/control-hook.ts'
import type { AnyDefinition } from './spans/hook-plan.ts'
import { sessionStartAttributes } from './spans/session.ts'
import { isQueued } from './spans/tool.ts'
import type { CapturedMetadata } from './spans/turn-metadata.ts'
import { decidedAttributes, escalationAt } from './tool-decisions.ts'
import type { TrackedSpan, TrackedTurn } from './turn.ts'
import { rotatedIdentity, type TurnFacts } from './turn-facts.ts'
import { type EndedMark, slot } from './turn-history.ts'
import type { TurnLifecycle } from './turn-lifecycle.ts'
import type { TurnOpening } from './turn-opening.ts'
import { isFailed, isWorking } from './turn-outcome.ts'
import type { TurnRegistry } from './turn-registry.ts'

/** Limit of open spans in a turn. Beyond it the oldest one is ended, marked and counted. */
const OPEN_SPANS_LIMIT = 10_000
/** Limit for the time between two hooks of a running Hermes turn in which nothing is open. It is usually milliseconds. */
const RUNNING_MILLIS = 2000
/** The beginning of each Hermes review prompt. */
const REVIEW_PROMPT = 'Review the conversation above and '

export interface StartNeeds {
  readonly options: CoreOptions
  readonly registry: TurnRegistry
  readonly tracker: SpanTracker
  readonly lifecycle: TurnLifecycle
  readonly opening: TurnOpening
  readonly facts: TurnFacts
}

/** Handles records that start something: finds or opens their turn and starts the span there. */
export class HookStarts {
  readonly #needs: StartNeeds

  constructor(needs: StartNeeds) {
    this.#needs = needs
  }

  /** `on_session_start`: opens the turn's root, or adds attributes to the open one. */
  session(incoming: ReceivedHook): HookResult {
    const { registry, lifecycle, opening, facts } = this.#needs
    const { event, ids, host } = incoming
    const session = registry.session(host, ids)
    const reported = facts.metadataOf(event)
    const wasStarted = session.started
    session.started = true
    this.#endKilled(session.main, incoming)
    let open = this.#rooted(incoming)
    // Some hosts start the session again with each turn, even if they reported no end of the turn before.
    if (open !== undefined && (isFailed(open) || open.answeredAt !== undefined) && event.at > open.activityAt) {
      this.#interrupt(open, event.at)
      open = undefined
    }
    if (open !== undefined) {
      session.metadata = facts.mergeMetadata(session.metadata, reported)
      lifecycle.promote(open)
      return this.#supply(open, incoming, reported)
    }
    // A late or repeated start: its turn has already ended.
    const late = registry.findEnded(host, ids, startedAt(incoming), true)?.session
    if (late !== undefined) return wasStarted || (late.forgotten && late.started) ? 'duplicate' : 'ok'
    if (ids.turnId !== undefined) this.#interrupt(session.main, event.at)
    session.metadata = reported
    opening.open(session, incoming, { isSide: false })
    return 'ok'
  }

  /** `pre_llm_call`: begins a turn. Another turn of its session that is still open was interrupted. */
  turn(definition: AnyDefinition, incoming: ReceivedHook): HookResult {
    const { options, registry, lifecycle, opening, facts } = this.#needs
    const { event, ids, host } = incoming
    const session = registry.session(host, ids)
    session.prompted = true
    this.#endKilled(session.main, incoming)
    this.#endAnswered(registry.find(host, ids) ?? session.main, incoming)
    const known = this.#rooted(incoming)
    if (known !== undefined && isPromptAgain(known, incoming)) return 'duplicate'
    if (known === undefined) {
      const late = opening.openLate(incoming, true)
      if (late !== undefined) {
        facts.addFacts(late, event, facts.metadataOf(event))
        return this.#open(late, definition, incoming)
      }
    }
    const isReview = known?.isReview ?? isReviewPrompt(incoming)
    // A turn that began before the open one arrives late. It is opened beside it and interrupts nothing.
    const isBehind = isReview || (session.main !== known && this.#isBehind(session.main, incoming))
    if (session.main !== known && !isBehind && !isStillRunning(session.main, incoming))
      this.#interrupt(session.main, event.at)
    const turn = known ?? opening.open(session, incoming, { isSide: isBehind, isBackground: isReview, isReview })
    if (!isBehind && turn.root !== undefined && turn.session === session) session.setCurrentTurn(turn)
    turn.sender = senderOf(incoming) ?? turn.sender
    lifecycle.promote(turn)
    linkCaller(options, turn, event.payload as SessionStart)
    facts.addFacts(turn, event, facts.metadataOf(event))
    return this.#open(turn, definition, incoming)
  }

  /** Handles every other start. */
  span(definition: AnyDefinition, incoming: ReceivedHook): HookResult {
    if (definition.kind === 'subagent' && this.#isKnownDelegation(incoming)) return 'duplicate'
    const isHook = definition.kind === 'hook'
    const isBeside = definition.kind === 'auxiliary' || (isHook && !opensTurn(incoming.event.payload))
    const turn = this.#needs.opening.turnFor(incoming, isBeside)
    return this.#open(turn, definition, incoming)
  }

  /** A delegation outlives its turn, so a repeated start must be looked up by the child's ids. */
  #isKnownDelegation({ event, host, isExplicit }: ReceivedHook): boolean {
    const known = this.#needs.lifecycle.delegations.find(host, event.payload as SubagentStart)
    return known !== undefined && isExplicit && known.open.startIsExplicit && event.at <= known.open.startAt
  }

  #open(turn: TrackedTurn, definition: AnyDefinition, incoming: ReceivedHook): HookResult {
    const { tracker, lifecycle, options } = this.#needs
    const { event, ids } = incoming
    const key = tracker.keyOf(definition, event)
    if (key === undefined) return 'ignored'
    const place = slot(definition.kind, key)
    const predecessor = isQueued(key) ? undefined : turn.find(place)
    const ended = isQueued(key) ? undefined : this.#endedOf(turn, definition, place, incoming, predecessor)
    const early = earlyEnd(ended, incoming)
    const before = ended === undefined ? predecessor : undefined
    if (early === undefined && !isQueued(key) && isRepeat(ended, before, incoming)) {
      lifecycle.closeIfEmpty(turn)
      return 'duplicate'
    }
    lifecycle.touch(turn, event.at)
    turn.taskId ??= ids.taskId
    // If this attempt's end arrived first, the attempt before it still gets its own end.
    if (predecessor !== undefined && early === undefined) this.#supersede(predecessor, incoming)
    const outermost = turn.openCount < OPEN_SPANS_LIMIT ? undefined : turn.outermost()
    if (outermost !== undefined) lifecycle.abandonSpan(outermost, 'orphaned', event.at)
    if (definition.kind === 'api') noteFollowed(turn, event.payload, event.at)
    const isNumbered = early === undefined && isRequest(definition.kind)
    const attempt = isNumbered ? turn.history.nextAttempt(place, retryCount(event.payload)) : ended?.attempt
    const open = tracker.startSpan(turn, definition, event, {
      slot: place,
      parent: parentOf(turn, definition, event.payload, options.delegatingTools),
      startAt: event.at,
      isExplicit: incoming.isExplicit,
      attempt,
      attributes: this.#extra(turn, definition, place, incoming, attempt),
    })
    if (early === undefined || !foldedByEnd(open)) tracker.foldStart(turn, event)
    if (definition.kind === 'llm' && turn.root !== undefined) options.noteAgain?.(turn.root.span)
    if (early === undefined) this.#watch(open, incoming)
    else tracker.endCounted(open, early)
    return 'ok'
  }

  /** The mark of the span that ended in this slot. An end from before the turn was open is now folded into the turn's totals. */
  #endedOf(
    turn: TrackedTurn,
    definition: AnyDefinition,
    place: string,
    incoming: ReceivedHook,
    predecessor: TrackedSpan | undefined,
  ): EndedMark | undefined {
    if (predecessor !== undefined) return endedBehind(predecessor, incoming.event.payload)
    const known = turn.history.ended(place)
    const { orphanHistory: looseMemory } = turn.session
    if (known !== undefined || looseMemory === undefined) return known
    const ended = looseMemory.ended(place)
    const early = earlyEnd(ended, incoming)
    if (ended === undefined || early === undefined) return undefined
    looseMemory.forgetEnded(place)
    turn.history.keepEnded(place, ended)
    this.#needs.tracker.foldCounted(turn, definition, early)
    return ended
  }

  /**
   * Ends the span that is still open under the key of a new start. If a guardian escalated its question, that is its
   * decision.
   */
  #supersede(open: TrackedSpan, { event: { at, payload } }: ReceivedHook): void {
    const { lifecycle } = this.#needs
    if (isEscalation(open, payload)) lifecycle.endSpan(open, escalationAt(at))
    else lifecycle.abandonSpan(open, 'superseded', at)
  }

  #extra(
    turn: TrackedTurn,
    { kind }: AnyDefinition,
    place: string,
    { ids }: ReceivedHook,
    attempt: number | undefined,
  ): AttributeList | undefined {
    const { attributeOptions } = this.#needs.options
    const rotated = rotatedIdentity(attributeOptions, turn, ids.sessionId)
    const isTool = kind === 'tool'
    const own = isTool
      ? decidedAttributes(turn, place, attributeOptions)
      : attemptAttribute(kind === 'api' ? attempt : undefined, attributeOptions)
    return rotated === undefined ? own : rotated.addAll(own)
  }

  /**
   * Watches delegations and approvals, which have their own limit. Links a child that started before its delegation was
   * reported.
   */
  #watch(open: TrackedSpan, { event, ids, host }: ReceivedHook): void {
    const { lifecycle, options, registry, facts } = this.#needs
    if (open.kind !== 'subagent' && open.kind !== 'approval') return
    lifecycle.watchSpan(open, event.at)
    if (open.kind === 'approval') return
    const payload = event.payload as SubagentStart
    const reported = facts.metadataOf(event)
    if (reported !== undefined) facts.attributesOf(facts.mergeMetadata(open.turn.metadata, reported)).writeTo(open.span)
    const delegation = lifecycle.delegations.add(open, payload, ids.sessionId, reported)
    if (delegation.childSessionId === undefined) return
    const child = registry.knownSession(host, idsOf(event.hook, { session_id: delegation.childSessionId }))?.main
    if (child?.root === undefined || child === open.turn) return
    delegation.childSeen = true
    const { link } = options.attributeOptions.names.own
    child.root.span.addLink?.({
      context: open.span.spanContext(),
      attributes: link === '' ? {} : { [link]: 'delegation' },
    })
  }

  /**
   * The open turn that a record which begins a turn belongs to. Ignores turns without a root, which hold late and loose
   * spans.
   */
  #rooted({ host, ids }: ReceivedHook): TrackedTurn | undefined {
    const turn = this.#needs.registry.findOrIndex(host, ids, true)
    return turn?.root === undefined ? undefined : turn
  }

  /** A repeated session start adds missing attributes and has no other effect. */
  #supply(turn: TrackedTurn, { event }: ReceivedHook, reported: CapturedMetadata | undefined): HookResult {
    const { options, lifecycle, facts } = this.#needs
    lifecycle.touch(turn, event.at)
    if (turn.root === undefined) return 'ignored'
    const payload = event.payload as SessionStart
    const { own } = options.attributeOptions.names
    const fresh = sessionStartAttributes(payload, options.attributeOptions)
    const before = sessionStartAttributes((turn.root.start ?? {}) as SessionStart, options.attributeOptions)
    const supplied = new AttributeList()
    fresh.names.forEach((name, at) => {
      const value = fresh.values[at]
      const isKind = name === own.sessionKind
      const isMissing = isKind ? value !== 'session' : before.get(name) === undefined
      if (isMissing) supplied.set(name, value)
    })
    turn.setRootAttributes(supplied)
    options.noteAgain?.(turn.root.span)
    linkCaller(options, turn, payload)
    facts.addFacts(turn, event, reported)
    return 'ok'
  }

  #isBehind(main: TrackedTurn | undefined, { event, isExplicit }: ReceivedHook): boolean {
    const root = main?.root
    return root !== undefined && isExplicit && root.startIsExplicit && event.at < root.startAt
  }

  /** Interrupts a turn that already has its answer, if the new prompt does not name it. */
  #endAnswered(turn: TrackedTurn | undefined, { event, ids, isExplicit }: ReceivedHook): void {
    if (turn?.answeredAt === undefined || (ids.turnId !== undefined && ids.turnId === turn.turnId)) return
    const isRepeated = isExplicit && event.at <= turn.answeredAt
    if (!isRepeated) this.#interrupt(turn, event.at)
  }

  /** Another process continues the session, so the process of this turn was killed. Ends the turn at its last activity. */
  #endKilled(turn: TrackedTurn | undefined, incoming: ReceivedHook): void {
    const sender = turn?.sender === undefined ? undefined : senderOf(incoming)
    if (turn !== undefined && sender !== undefined && sender !== turn.sender) this.#interrupt(turn, turn.activityAt)
  }

  #interrupt(turn: TrackedTurn | undefined, at: number): void {
    if (turn === undefined) return
    this.#needs.lifecycle.endTurn(turn, { at, finalStatus: 'interrupted', descendants: 'turn_ended' })
  }
}

/**
 * Returns true if a turn continues beside the prompt of another one. Hermes can run two turns of one session at once,
 * and it reports each interruption. There a prompt alone does not interrupt a turn with work in progress.
 */
function isStillRunning(turn: TrackedTurn | undefined, { host, event }: ReceivedHook): boolean {
  if (turn === undefined || host !== HERMES || turn.turnId === undefined || isFailed(turn)) return false
  return isWorking(turn) || event.at - turn.activityAt < RUNNING_MILLIS
}

/** Until 0.19, Hermes emits the hooks of a whole turn for its reviews. Only the prompt distinguishes them from turns. */
function isReviewPrompt({ host, event }: ReceivedHook): boolean {
  const message = host === HERMES ? event.payload['user_message'] : undefined
  return typeof message === 'string' && message.startsWith(REVIEW_PROMPT)
}
