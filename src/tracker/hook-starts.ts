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
import { idsOf, type ReceivedHook, senderOf, startedAt } from './incoming.ts'
import type { CoreOptions } from './options.ts'
import { parentOf } from './parents.ts'
import { HERMES, linkCaller } from './root-span.ts'
import { isRequest } from './span-ends.ts'
import type { SpanTracker } from './span-tracker.ts'
import { isEscalation } from './spans/approval.ts'
import { AttributeList } from './spans/attribute-list.ts'
import type { Belonging } from './spans/belongings.ts'
import { opensTurn } from './spans/control-hook.ts'
import type { AnyDefinition } from './spans/hook-plan.ts'
import { sessionStartAttributes } from './spans/session.ts'
import { isQueued } from './spans/tool.ts'
import { decidedAttributes, escalationAt } from './tool-decisions.ts'
import type { OpenSpan, Turn } from './turn.ts'
import { rotatedIdentity, type TurnFacts } from './turn-facts.ts'
import type { TurnLifecycle } from './turn-lifecycle.ts'
import { type EndedMark, slot } from './turn-memory.ts'
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
    const { event: fired, ids, host } = incoming
    const session = registry.session(host, ids)
    const said = facts.said(fired)
    const wasStarted = session.started
    session.started = true
    this.#endKilled(session.main, incoming)
    let open = this.#rooted(incoming)
    // Some hosts start the session again with each turn, even if they reported no end of the turn before.
    if (open !== undefined && (isFailed(open) || open.answeredAt !== undefined) && fired.at > open.activityAt) {
      this.#interrupt(open, fired.at)
      open = undefined
    }
    if (open !== undefined) {
      session.belonging = facts.join(session.belonging, said)
      lifecycle.promote(open)
      return this.#supply(open, incoming, said)
    }
    // A late or repeated start: its turn has already ended.
    const late = registry.findEnded(host, ids, startedAt(incoming), true)?.session
    if (late !== undefined) return wasStarted || (late.forgotten && late.started) ? 'duplicate' : 'ok'
    if (ids.turnId !== undefined) this.#interrupt(session.main, fired.at)
    session.belonging = said
    opening.open(session, incoming, { isSide: false })
    return 'ok'
  }

  /** `pre_llm_call`: begins a turn. Another turn of its session that is still open was interrupted. */
  turn(definition: AnyDefinition, incoming: ReceivedHook): HookResult {
    const { options, registry, lifecycle, opening, facts } = this.#needs
    const { event: fired, ids, host } = incoming
    const session = registry.session(host, ids)
    session.prompted = true
    this.#endKilled(session.main, incoming)
    this.#endAnswered(registry.find(host, ids) ?? session.main, incoming)
    const known = this.#rooted(incoming)
    if (known !== undefined && isPromptAgain(known, incoming)) return 'duplicate'
    if (known === undefined) {
      const late = opening.late(incoming, true)
      if (late !== undefined) {
        facts.learn(late, fired, facts.said(fired))
        return this.#open(late, definition, incoming)
      }
    }
    const isReview = known?.isReview ?? isReviewPrompt(incoming)
    // A turn that began before the open one arrives late. It is opened beside it and interrupts nothing.
    const isBehind = isReview || (session.main !== known && this.#isBehind(session.main, incoming))
    if (session.main !== known && !isBehind && !isStillRunning(session.main, incoming))
      this.#interrupt(session.main, fired.at)
    const turn = known ?? opening.open(session, incoming, { isSide: isBehind, isBackground: isReview, isReview })
    if (!isBehind && turn.root !== undefined && turn.session === session) session.lead(turn)
    turn.sender = senderOf(incoming) ?? turn.sender
    lifecycle.promote(turn)
    linkCaller(options, turn, fired.payload as SessionStart)
    facts.learn(turn, fired, facts.said(fired))
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
  #isKnownDelegation({ event: fired, host, isExplicit }: ReceivedHook): boolean {
    const known = this.#needs.lifecycle.delegations.find(host, fired.payload as SubagentStart)
    return known !== undefined && isExplicit && known.open.startIsExplicit && fired.at <= known.open.startAt
  }

  #open(turn: Turn, definition: AnyDefinition, incoming: ReceivedHook): HookResult {
    const { tracker, lifecycle, options } = this.#needs
    const { event: fired, ids } = incoming
    const key = tracker.keyOf(definition, fired)
    if (key === undefined) return 'ignored'
    const place = slot(definition.kind, key)
    const predecessor = isQueued(key) ? undefined : turn.find(place)
    const ended = isQueued(key) ? undefined : this.#endedOf(turn, definition, place, incoming, predecessor)
    const early = earlyEnd(ended, incoming)
    const before = ended === undefined ? predecessor : undefined
    if (early === undefined && !isQueued(key) && isRepeat(ended, before, incoming)) {
      lifecycle.closeWhenEmpty(turn)
      return 'duplicate'
    }
    lifecycle.touch(turn, fired.at)
    turn.taskId ??= ids.taskId
    // If this attempt's end arrived first, the attempt before it still gets its own end.
    if (predecessor !== undefined && early === undefined) this.#supersede(predecessor, incoming)
    const outermost = turn.openCount < OPEN_SPANS_LIMIT ? undefined : turn.outermost()
    if (outermost !== undefined) lifecycle.abandon(outermost, 'orphaned', fired.at)
    if (definition.kind === 'api') noteFollowed(turn, fired.payload, fired.at)
    const isNumbered = early === undefined && isRequest(definition.kind)
    const attempt = isNumbered ? turn.memory.nextAttempt(place, retryCount(fired.payload)) : ended?.attempt
    const open = tracker.start(turn, definition, fired, {
      slot: place,
      parent: parentOf(turn, definition, fired.payload, options.delegatingTools),
      startAt: fired.at,
      isExplicit: incoming.isExplicit,
      attempt,
      attributes: this.#extra(turn, definition, place, incoming, attempt),
    })
    if (early === undefined || !foldedByEnd(open)) tracker.foldStart(turn, fired)
    if (definition.kind === 'llm' && turn.root !== undefined) options.noteAgain?.(turn.root.span)
    if (early === undefined) this.#watch(open, incoming)
    else tracker.endCounted(open, early)
    return 'ok'
  }

  /** The mark of the span that ended in this slot. An end from before the turn was open is now folded into the turn's totals. */
  #endedOf(
    turn: Turn,
    definition: AnyDefinition,
    place: string,
    incoming: ReceivedHook,
    predecessor: OpenSpan | undefined,
  ): EndedMark | undefined {
    if (predecessor !== undefined) return endedBehind(predecessor, incoming.event.payload)
    const known = turn.memory.ended(place)
    const { looseMemory } = turn.session
    if (known !== undefined || looseMemory === undefined) return known
    const ended = looseMemory.ended(place)
    const early = earlyEnd(ended, incoming)
    if (ended === undefined || early === undefined) return undefined
    looseMemory.forgetEnded(place)
    turn.memory.keepEnded(place, ended)
    this.#needs.tracker.foldCounted(turn, definition, early)
    return ended
  }

  /**
   * Ends the span that is still open under the key of a new start. If a guardian escalated its question, that is its
   * decision.
   */
  #supersede(open: OpenSpan, { event: { at, payload } }: ReceivedHook): void {
    const { lifecycle } = this.#needs
    if (isEscalation(open, payload)) lifecycle.endByHost(open, escalationAt(at))
    else lifecycle.abandon(open, 'superseded', at)
  }

  #extra(
    turn: Turn,
    { kind }: AnyDefinition,
    place: string,
    { ids }: ReceivedHook,
    attempt: number | undefined,
  ): AttributeList | undefined {
    const { draw } = this.#needs.options
    const rotated = rotatedIdentity(draw, turn, ids.sessionId)
    const isTool = kind === 'tool'
    const own = isTool
      ? decidedAttributes(turn, place, draw)
      : attemptAttribute(kind === 'api' ? attempt : undefined, draw)
    return rotated === undefined ? own : rotated.addAll(own)
  }

  /**
   * Watches delegations and approvals, which have their own limit. Links a child that started before its delegation was
   * reported.
   */
  #watch(open: OpenSpan, { event: fired, ids, host }: ReceivedHook): void {
    const { lifecycle, options, registry, facts } = this.#needs
    if (open.kind !== 'subagent' && open.kind !== 'approval') return
    lifecycle.watch(open, fired.at)
    if (open.kind === 'approval') return
    const payload = fired.payload as SubagentStart
    const said = facts.said(fired)
    if (said !== undefined) facts.attributesOf(facts.join(open.turn.belonging, said)).writeTo(open.span)
    const delegation = lifecycle.delegations.add(open, payload, ids.sessionId, said)
    if (delegation.childSessionId === undefined) return
    const child = registry.knownSession(host, idsOf(fired.hook, { session_id: delegation.childSessionId }))?.main
    if (child?.root === undefined || child === open.turn) return
    delegation.childSeen = true
    const { link } = options.draw.names.own
    child.root.span.addLink?.({
      context: open.span.spanContext(),
      attributes: link === '' ? {} : { [link]: 'delegation' },
    })
  }

  /**
   * The open turn that a record which begins a turn belongs to. Ignores turns without a root, which hold late and loose
   * spans.
   */
  #rooted({ host, ids }: ReceivedHook): Turn | undefined {
    const turn = this.#needs.registry.claim(host, ids, true)
    return turn?.root === undefined ? undefined : turn
  }

  /** A repeated session start adds missing attributes and has no other effect. */
  #supply(turn: Turn, { event: fired }: ReceivedHook, said: Belonging | undefined): HookResult {
    const { options, lifecycle, facts } = this.#needs
    lifecycle.touch(turn, fired.at)
    if (turn.root === undefined) return 'ignored'
    const payload = fired.payload as SessionStart
    const { own } = options.draw.names
    const fresh = sessionStartAttributes(payload, options.draw)
    const before = sessionStartAttributes((turn.root.start ?? {}) as SessionStart, options.draw)
    const supplied = new AttributeList()
    fresh.names.forEach((name, at) => {
      const value = fresh.values[at]
      const isKind = name === own.sessionKind
      const isMissing = isKind ? value !== 'session' : before.get(name) === undefined
      if (isMissing) supplied.set(name, value)
    })
    turn.tell(supplied)
    options.noteAgain?.(turn.root.span)
    linkCaller(options, turn, payload)
    facts.learn(turn, fired, said)
    return 'ok'
  }

  #isBehind(main: Turn | undefined, { event: fired, isExplicit }: ReceivedHook): boolean {
    const root = main?.root
    return root !== undefined && isExplicit && root.startIsExplicit && fired.at < root.startAt
  }

  /** Interrupts a turn that already has its answer, if the new prompt does not name it. */
  #endAnswered(turn: Turn | undefined, { event: fired, ids, isExplicit }: ReceivedHook): void {
    if (turn?.answeredAt === undefined || (ids.turnId !== undefined && ids.turnId === turn.turnId)) return
    const isRepeated = isExplicit && fired.at <= turn.answeredAt
    if (!isRepeated) this.#interrupt(turn, fired.at)
  }

  /** Another process continues the session, so the process of this turn was killed. Ends the turn at its last activity. */
  #endKilled(turn: Turn | undefined, incoming: ReceivedHook): void {
    const sender = turn?.sender === undefined ? undefined : senderOf(incoming)
    if (turn !== undefined && sender !== undefined && sender !== turn.sender) this.#interrupt(turn, turn.activityAt)
  }

  #interrupt(turn: Turn | undefined, at: number): void {
    if (turn === undefined) return
    this.#needs.lifecycle.finish(turn, { at, finalStatus: 'interrupted', descendants: 'turn_ended' })
  }
}

/**
 * Returns true if a turn continues beside the prompt of another one. Hermes can run two turns of one session at once,
 * and it reports each interruption. There a prompt alone does not interrupt a turn with work in progress.
 */
function isStillRunning(turn: Turn | undefined, { host, event: fired }: ReceivedHook): boolean {
  if (turn === undefined || host !== HERMES || turn.turnId === undefined || isFailed(turn)) return false
  return isWorking(turn) || fired.at - turn.activityAt < RUNNING_MILLIS
}

/** Until 0.19, Hermes emits the hooks of a whole turn for its reviews. Only the prompt distinguishes them from turns. */
function isReviewPrompt({ host, event: fired }: ReceivedHook): boolean {
  const message = host === HERMES ? fired.payload['user_message'] : undefined
  return typeof message === 'string' && message.startsWith(REVIEW_PROMPT)
}
