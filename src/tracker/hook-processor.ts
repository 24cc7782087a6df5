import { type Attributes, type Context, INVALID_SPAN_CONTEXT, type Span, trace } from '@opentelemetry/api'
import type { SafeText } from '../content/safe-text.ts'
import { idOf, peek, textOf, wholeOf } from '../contract/foreign.ts'
import type { HookResult, SessionReset, SessionStart, SubagentStart, SubagentStop } from '../contract/index.ts'
import { nameOf, type SpanFact } from '../contract/semconv/index.ts'
import {
  earlyEnd,
  endedBehind,
  isEndOf,
  isOfEarlierAttempt,
  isOfLaterAttempt,
  isPromptAgain,
  isRepeat,
  noteFollowed,
  notePassed,
  retryCount,
  unseenAttempt,
} from './attempts.ts'
import { BoundedMap } from './bounded-map.ts'
import type { CoreOptions } from './options.ts'
import { noteCalls, parentOf } from './parents.ts'
import { HERMES, linkAttributes, linkCaller } from './root-span.ts'
import { isFailedEnd, isRequest, reportedDuration, type SpanTracker } from './span-tracker.ts'
import { ESCALATED, isEscalation, isGuarded } from './spans/approval.ts'
import { AttributeList } from './spans/attribute-list.ts'
import { opensTurn, toolDecision } from './spans/control-hook.ts'
import type { HookPhase } from './spans/hook-plan.ts'
import {
  finalStatusOf,
  iterationAttributes,
  readSessionEnd,
  sessionStartAttributes,
  turnEventAttributes,
} from './spans/session.ts'
import { type KeptTool, skill, skillLifecycle } from './spans/skill.ts'
import type { AnyHookEvent, AttributeOptions } from './spans/span-definition.ts'
import { argumentAttributes, isQueued, toolEndOf } from './spans/tool.ts'
import { type CapturedMetadata, mergeMetadata, metadataAttributes, readMetadata } from './spans/turn-metadata.ts'
import type { TrackedSession, TrackedSpan, TrackedTurn } from './turn.ts'
import { addFacts, rotatedIdentity } from './turn-facts.ts'
import { type EndedMark, slot, type TurnHistory } from './turn-history.ts'
import { isFailed, isWorking, type TurnLifecycle } from './turn-lifecycle.ts'
import { idsOf, type ReceivedHook, type RecordIds, senderOf, startedAt, type TurnRegistry } from './turn-registry.ts'

/** Limit of open spans in a turn. Beyond it the oldest one is ended, marked and counted. */
const OPEN_SPANS_LIMIT = 10_000
/** Limit for the time between two hooks of a running Hermes turn in which nothing is open. It is usually milliseconds. */
const RUNNING_MILLIS = 2000
const REVIEW_PROMPT = 'Review the conversation above and '
const FINALIZED_LIMIT = 1000
/** Matches finished turns by key, whatever the record's time. */
const ANY_TIME = Number.NEGATIVE_INFINITY

type Predecessor = NonNullable<TrackedSession['previous']>

export class HookProcessor {
  readonly #options: CoreOptions
  readonly #attributeOptions: AttributeOptions
  readonly #registry: TurnRegistry
  readonly #tracker: SpanTracker
  readonly #lifecycle: TurnLifecycle
  readonly #finalized = new BoundedMap<string, Predecessor>(FINALIZED_LIMIT)
  /** Last torn-down session by host. A reset that names only the new session replaces it. */
  readonly #lastFinalized = new BoundedMap<string, Predecessor>(FINALIZED_LIMIT)

  constructor(options: CoreOptions, registry: TurnRegistry, tracker: SpanTracker, lifecycle: TurnLifecycle) {
    this.#options = options
    this.#attributeOptions = options.attributeOptions
    this.#registry = registry
    this.#tracker = tracker
    this.#lifecycle = lifecycle
  }

  process(event: ReceivedHook, phase: HookPhase): HookResult {
    const { hook } = event
    const { kind } = event.definition
    const isHumanInput = hook === 'on_human_input_request' || hook === 'on_human_input_resolved'
    // The approval hooks report it as well, and it must not appear twice.
    if (isHumanInput && event.payload['kind'] === 'approval') return 'ok'
    if (kind === 'session' && phase !== 'event') this.#registry.noteSessionHook(event.host)
    switch (phase) {
      case 'start':
        if (kind === 'session') return this.#startSession(event)
        return kind === 'llm' ? this.#startTurn(event) : this.#startSpan(event)
      case 'end':
        if (kind === 'session') return this.#endTurn(event)
        return kind === 'subagent' ? this.#endSubagent(event) : this.#endSpan(event)
      case 'event':
        return this.#addEvent(event)
      case 'identity':
        return hook === 'on_session_reset' ? this.#resetSession(event) : this.#finalizeSession(event)
    }
  }

  #startSession(event: ReceivedHook): HookResult {
    const session = this.#registry.session(event)
    const reported = readMetadata(event.payload, this.#attributeOptions)
    const wasStarted = session.started
    session.started = true
    this.#endKilled(session.main, event)
    let open = this.#rootedTurn(event)
    // Some hosts start the session again with each turn, even if they reported no end of the turn before.
    if (open !== undefined && (isFailed(open) || open.answeredAt !== undefined) && event.at > open.activityAt) {
      this.#interrupt(open, event.at)
      open = undefined
    }
    if (open !== undefined) {
      session.metadata = mergeMetadata(session.metadata, reported, this.#attributeOptions)
      this.#lifecycle.promote(open)
      return this.#addMissingAttributes(open, event, reported)
    }
    // A late or repeated start: its turn has already ended.
    const late = this.#registry.findEnded(event, startedAt(event), true)?.session
    if (late !== undefined) return wasStarted || (late.forgotten && late.started) ? 'duplicate' : 'ok'
    if (event.turnId !== undefined) this.#interrupt(session.main, event.at)
    session.metadata = reported
    this.#lifecycle.openTurn(session, event, { isSide: false })
    return 'ok'
  }

  /** `pre_llm_call`: begins a turn. Another turn of its session that is still open was interrupted. */
  #startTurn(event: ReceivedHook): HookResult {
    const session = this.#registry.session(event)
    session.prompted = true
    this.#endKilled(session.main, event)
    this.#endAnswered(this.#registry.find(event) ?? session.main, event)
    const known = this.#rootedTurn(event)
    if (known !== undefined && isPromptAgain(known, event)) return 'duplicate'
    if (known === undefined) {
      const late = this.#lifecycle.openLate(event, true)
      if (late !== undefined) {
        this.#addFacts(late, event)
        return this.#openSpan(late, event)
      }
    }
    const isReview = known?.isReview ?? isReviewPrompt(event)
    // A turn that began before the open one arrives late. It is opened beside it and interrupts nothing.
    const isBeside = isReview || (session.main !== known && this.#isEarlier(session.main, event))
    if (session.main !== known && !isBeside && !isStillRunning(session.main, event))
      this.#interrupt(session.main, event.at)
    const turn =
      known ?? this.#lifecycle.openTurn(session, event, { isSide: isBeside, isBackground: isReview, isReview })
    if (!isBeside && turn.root !== undefined && turn.session === session) session.main = turn
    turn.sender = senderOf(event) ?? turn.sender
    this.#lifecycle.promote(turn)
    linkCaller(this.#options, turn, event.payload as SessionStart)
    this.#addFacts(turn, event)
    return this.#openSpan(turn, event)
  }

  #addFacts(turn: TrackedTurn, event: ReceivedHook): void {
    addFacts(turn, event.payload, this.#attributeOptions, readMetadata(event.payload, this.#attributeOptions))
  }

  #startSpan(event: ReceivedHook): HookResult {
    const { kind } = event.definition
    if (kind === 'subagent' && this.#isKnownDelegation(event)) return 'duplicate'
    const isBeside = kind === 'auxiliary' || (kind === 'hook' && !opensTurn(event.payload))
    return this.#openSpan(this.#lifecycle.turnFor(event, isBeside), event)
  }

  /** A delegation outlives its turn, so a repeated start must be looked up by the child's ids. */
  #isKnownDelegation(event: ReceivedHook): boolean {
    const known = this.#lifecycle.delegations.find(event.host, event.payload as SubagentStart)
    return known !== undefined && event.isExplicit && known.open.startIsExplicit && event.at <= known.open.startAt
  }

  #openSpan(turn: TrackedTurn, event: ReceivedHook): HookResult {
    const { kind } = event.definition
    const key = this.#tracker.keyOf(event)
    if (key === undefined) return 'ignored'
    const place = slot(kind, key)
    const isShared = isQueued(place)
    const predecessor = isShared ? undefined : turn.open.find(place)
    const ended = isShared ? undefined : this.#endedOf(turn, place, event, predecessor)
    const early = earlyEnd(ended, event)
    if (early === undefined && !isShared && isRepeat(ended, ended === undefined ? predecessor : undefined, event)) {
      this.#lifecycle.closeIfEmpty(turn)
      return 'duplicate'
    }
    this.#lifecycle.touch(turn, event.at)
    turn.taskId ??= event.taskId
    // If this attempt's end arrived first, the attempt before it still gets its own end.
    if (predecessor !== undefined && early === undefined) this.#supersede(predecessor, event)
    const outermost = turn.open.size < OPEN_SPANS_LIMIT ? undefined : turn.open.outermostBut(turn.root)
    if (outermost !== undefined) this.#lifecycle.abandonSpan(outermost, 'orphaned', event.at)
    if (kind === 'api') noteFollowed(turn, event.payload, event.at)
    const isNumbered = early === undefined && isRequest(kind)
    const attempt = isNumbered ? turn.history.nextAttempt(place, retryCount(event.payload)) : ended?.attempt
    const own = this.#ownAttributes(turn, place, event, attempt)
    const open = this.#tracker.startSpan(turn, event.definition, event, {
      slot: place,
      parent: this.#parentOf(turn, event),
      startAt: event.at,
      isExplicit: event.isExplicit,
      attempt,
      attributes: rotatedIdentity(this.#attributeOptions, turn, event.sessionId)?.addAll(own) ?? own,
    })
    // The end of a request or tool without a start has already added the start to the turn's totals.
    if (early === undefined || (kind !== 'api' && kind !== 'tool')) this.#tracker.foldStart(turn, event)
    if (kind === 'llm' && turn.root !== undefined) this.#options.noteAgain?.(turn.root.span)
    if (early === undefined) this.#watchSpan(open, event)
    else this.#tracker.endCounted(open, early)
    return 'ok'
  }

  #parentOf(turn: TrackedTurn, { definition, payload }: ReceivedHook): Context {
    return parentOf(turn, definition, payload, this.#options.delegatingTools)
  }

  /** The mark of the span that ended in this slot. An end from before the turn was open is now folded into the turn's totals. */
  #endedOf(turn: TrackedTurn, place: string, event: ReceivedHook, open?: TrackedSpan): EndedMark | undefined {
    if (open !== undefined) return endedBehind(open, event.payload)
    const known = turn.history.ended.get(place)
    const { orphanHistory } = turn.session
    if (known !== undefined || orphanHistory === undefined) return known
    const ended = orphanHistory.ended.get(place)
    const early = earlyEnd(ended, event)
    if (ended === undefined || early === undefined) return undefined
    orphanHistory.ended.delete(place)
    turn.history.ended.set(place, ended)
    this.#tracker.foldCounted(turn, event.definition.kind, early)
    return ended
  }

  /** Ends the span that is still open under a new start's key. If a guardian escalated it, that is its decision. */
  #supersede(open: TrackedSpan, { at, payload }: ReceivedHook): void {
    if (isEscalation(open, payload)) this.#lifecycle.endSpan(open, escalationAt(at))
    else this.#lifecycle.abandonSpan(open, 'superseded', at)
  }

  /** The decisions of guards about a tool call, or the number of a request's attempt. */
  #ownAttributes(turn: TrackedTurn, place: string, { definition }: ReceivedHook, attempt?: number) {
    if (definition.kind === 'tool') return decidedAttributes(turn, place, this.#attributeOptions)
    if (definition.kind !== 'api' || attempt === undefined) return undefined
    return new AttributeList().set(this.#attributeOptions.facts.apiAttempt, attempt)
  }

  /** Watches delegations and approvals, which have their own limit. Links a child that started earlier. */
  #watchSpan(open: TrackedSpan, event: ReceivedHook): void {
    if (open.kind !== 'subagent' && open.kind !== 'approval') return
    this.#lifecycle.watchSpan(open, event.at)
    if (open.kind === 'approval') return
    const payload = event.payload as SubagentStart
    const reported = readMetadata(payload, this.#attributeOptions)
    const metadata = reported && mergeMetadata(open.turn.metadata, reported, this.#attributeOptions)
    if (metadata !== undefined) metadataAttributes(metadata, this.#attributeOptions).writeTo(open.span)
    const delegation = this.#lifecycle.delegations.add(open, payload, event.sessionId, reported)
    if (delegation.childSessionId === undefined) return
    const child = this.#registry.knownSession(named(delegation.childSessionId, event.host))?.main
    if (child?.root === undefined || child === open.turn) return
    delegation.childSeen = true
    child.root.span.addLink?.({
      context: open.span.spanContext(),
      attributes: linkAttributes(this.#attributeOptions.facts.link, 'delegation'),
    })
  }

  /** The open turn of a record that begins a turn. Ignores turns without a root, which hold late and loose spans. */
  #rootedTurn(event: ReceivedHook): TrackedTurn | undefined {
    const turn = this.#registry.findOrIndex(event, true)
    return turn?.root === undefined ? undefined : turn
  }

  #addMissingAttributes(turn: TrackedTurn, event: ReceivedHook, reported: CapturedMetadata | undefined): HookResult {
    this.#lifecycle.touch(turn, event.at)
    if (turn.root === undefined) return 'ignored'
    const payload = event.payload as SessionStart
    const sessionKind = nameOf(this.#attributeOptions.facts.sessionKind)
    const fresh = sessionStartAttributes(payload, this.#attributeOptions)
    const before = sessionStartAttributes((turn.root.start ?? {}) as SessionStart, this.#attributeOptions)
    const supplied = new AttributeList()
    fresh.names.forEach((name, at) => {
      const value = fresh.values[at]
      const isKind = name === sessionKind
      const isMissing = isKind ? value !== 'session' : before.get(name) === undefined
      if (isMissing) supplied.setNamed(name, value)
    })
    turn.setRootAttributes(supplied)
    this.#options.noteAgain?.(turn.root.span)
    linkCaller(this.#options, turn, payload)
    addFacts(turn, payload, this.#attributeOptions, reported)
    return 'ok'
  }

  #isEarlier(main: TrackedTurn | undefined, event: ReceivedHook): boolean {
    // A session start may have opened the turn before its prompt.
    const begun = main?.open.innermost('llm') ?? main?.root
    return begun !== undefined && event.isExplicit && begun.startIsExplicit && event.at < begun.startAt
  }

  #endAnswered(turn: TrackedTurn | undefined, event: ReceivedHook): void {
    if (turn?.answeredAt === undefined || (event.turnId !== undefined && event.turnId === turn.turnId)) return
    const isRepeated = event.isExplicit && event.at <= turn.answeredAt
    if (!isRepeated) this.#interrupt(turn, event.at)
  }

  /** Another process continues the session, so the process of this turn was killed. Ends the turn at its last activity. */
  #endKilled(turn: TrackedTurn | undefined, event: ReceivedHook): void {
    const sender = turn?.sender === undefined ? undefined : senderOf(event)
    if (turn !== undefined && sender !== undefined && sender !== turn.sender) this.#interrupt(turn, turn.activityAt)
  }

  #interrupt(turn: TrackedTurn | undefined, at: number): void {
    if (turn === undefined) return
    this.#lifecycle.endTurn(turn, { at, finalStatus: 'interrupted' })
  }

  #endTurn(event: ReceivedHook): HookResult {
    const turn = this.#registry.findOrIndex(event, false)
    if (turn === undefined) {
      return this.#registry.findEnded(event, event.isExplicit ? event.at : ANY_TIME, false) ? 'duplicate' : 'ignored'
    }
    const payload = readSessionEnd(event.payload)
    this.#lifecycle.promote(turn)
    this.#lifecycle.endTurn(turn, { at: event.at, finalStatus: finalStatusOf(payload), payload })
    return 'ok'
  }

  /** `subagent_stop`: found by the child's ids, because the parent may be in another turn by now. */
  #endSubagent(event: ReceivedHook): HookResult {
    const { delegations } = this.#lifecycle
    const payload = event.payload as SubagentStop
    const delegation = delegations.find(event.host, payload)
    if (delegation === undefined || delegation.stopped) {
      if (delegation?.stopped || delegations.wasStopped(event.host, payload)) return 'duplicate'
      const result = this.#endSpan(event)
      delegations.noteStopped(event.host, payload)
      return result
    }
    const { open } = delegation
    this.#lifecycle.endSpan(open, event, this.#wasCounted(open, event))
    delegations.stop(delegation, event.at)
    this.#lifecycle.closeIfEmpty(open.turn)
    return 'ok'
  }

  #endSpan(event: ReceivedHook): HookResult {
    const { kind } = event.definition
    const key = this.#tracker.keyOf(event)
    const turn = this.#registry.findOrIndex(event, false)
    if (turn !== undefined && kind === 'llm') this.#lifecycle.promote(turn)
    if (key === undefined) return this.#endWithoutStart(event, turn)
    const place = slot(kind, key)
    const open = this.#findOpen(turn, place, event)
    if (open !== undefined) return this.#endOpenSpan(open, event)
    const [history, ended] = this.#findEnded(turn, place, event) ?? []
    const isOfEarlierCall = ended !== undefined && event.isExplicit && event.at < ended.startAt
    if (ended === undefined || (!isOfEarlierCall && isOfLaterAttempt(kind, event, ended)))
      return this.#endWithoutStart(event, turn, place, ended)
    if (ended.byHost || isOfEarlierCall || isOfEarlierAttempt(kind, event, ended)) return 'duplicate'
    // hookspan ended the span before its host did, so this end is only counted.
    this.#countOnly(turn, true, event)
    history?.ended.set(place, { ...ended, byHost: true, failed: isFailedEnd(kind, event) })
    return 'ok'
  }

  #endOpenSpan(open: TrackedSpan, event: ReceivedHook): HookResult {
    if (open.kind === 'hook') keepDecision(open.turn, event, open.start, this.#attributeOptions)
    noteTransformed(open, event, this.#attributeOptions)
    noteBlockedEnd(open, event)
    if (open.kind === 'api') noteCalls(open.turn, open.slot, event.payload)
    const guarded = open.kind === 'tool' ? unansweredGuardian(open.turn, event) : undefined
    if (guarded !== undefined) this.#lifecycle.endSpan(guarded, escalationAt(event.at))
    this.#lifecycle.endSpan(open, event, this.#wasCounted(open, event))
    this.#lifecycle.closeIfEmpty(open.turn)
    if (open.kind === 'tool') this.#startSkill(open, event)
    return 'ok'
  }

  /** True if this very end came before the start, and was counted then. */
  #wasCounted({ turn, slot, attempt }: TrackedSpan, event: ReceivedHook): boolean {
    if (!event.isExplicit || isQueued(slot)) return false
    const ended = turn.history.ended.get(slot) ?? turn.session.orphanHistory?.ended.get(slot)
    return ended?.byHost === true && ended.endAt === event.at && ended.attempt === attempt
  }

  #findOpen(turn: TrackedTurn | undefined, place: string, event: ReceivedHook): TrackedSpan | undefined {
    const found = this.#openIn(turn, place, event)
    if (found !== undefined || event.turnId !== undefined) return found
    // Some hosts omit the turn id in an end. The span may be in another open turn, in a turn of a dropped session, or in none.
    const session = turn?.session ?? this.#registry.knownSession(event)
    const gone = turn === undefined ? this.#registry.findEnded(event, ANY_TIME, false)?.session : undefined
    for (const other of [...(session?.turns ?? []), ...(gone?.turns ?? [])]) {
      const elsewhere = this.#openIn(other, place, event)
      if (elsewhere !== undefined) return elsewhere
    }
    return undefined
  }

  /** Returns no span for the end of an earlier attempt, or of an earlier call with the same id that ended before its start. */
  #openIn(turn: TrackedTurn | undefined, place: string, event: ReceivedHook): TrackedSpan | undefined {
    const open = turn?.open.find(place)
    if (open === undefined || (open.kind === 'api' && !isEndOf(open, event.payload))) return undefined
    const isBefore = event.isExplicit && open.startIsExplicit && event.at < open.startAt
    return isBefore && open.turn.history.ended.get(place) !== undefined ? undefined : open
  }

  #findEnded(turn: TrackedTurn | undefined, place: string, event: ReceivedHook): [TurnHistory, EndedMark] | undefined {
    const { history } = turn ?? this.#registry.findEnded(event, ANY_TIME, false) ?? {}
    const own = history?.ended.get(place)
    const by = own === undefined ? this.#registry.knownSession(event)?.orphanHistory : history
    const ended = own ?? by?.ended.get(place)
    if (by === undefined || ended === undefined) return undefined
    // A mark from before any turn was open may have the key of another turn's span. Only an end with the same time is a repeat.
    const isCertain = !isQueued(place) && (history === undefined || by === history)
    return isCertain || (event.isExplicit && event.at === ended.endAt) ? [by, ended] : undefined
  }

  /** Handles an end without a start. Creates the span now if its time is known or it failed; otherwise only counts. */
  #endWithoutStart(event: ReceivedHook, turn?: TrackedTurn, place?: string, before?: EndedMark): HookResult {
    const { kind } = event.definition
    const duration = reportedDuration(kind, event.payload)
    const isFailure = event.hook === 'api_request_error'
    if (kind === 'hook' && turn !== undefined) keepDecision(turn, event, undefined, this.#attributeOptions)
    if (place !== undefined && kind !== 'llm' && kind !== 'approval' && (duration !== undefined || isFailure)) {
      // The host's duration of a retry may cover the attempts before it.
      const startAt = Math.max(event.at - (duration ?? 0), Math.min(event.at, before?.endAt ?? 0))
      const opens = kind === 'tool' || (kind === 'hook' && opensTurn(event.payload))
      const home =
        turn ??
        this.#lifecycle.openLate(event, false) ??
        (opens ? this.#lifecycle.turnFor(event, false, startAt) : undefined) ??
        (isFailure ? this.#lifecycle.openOrphan(event) : undefined)
      if (home !== undefined) return this.#addRetroactive(home, place, startAt, event, before)
    }
    if (turn === undefined && (kind === 'tool' || kind === 'llm')) return 'ignored'
    this.#countOnly(turn, false, event)
    if (place !== undefined) this.#rememberCounted(turn, place, event, before)
    return 'ok'
  }

  /** The delegation and the agent name are also known for a turn that has ended. */
  #countOnly(turn: TrackedTurn | undefined, startSeen: boolean, event: ReceivedHook): void {
    const { delegation, agentName } = turn ?? this.#registry.findEnded(event, ANY_TIME, false) ?? {}
    this.#tracker.countOnly(event, turn, { startSeen, isSubagent: delegation !== undefined, agentName })
  }

  #addRetroactive(
    turn: TrackedTurn,
    place: string,
    startAt: number,
    event: ReceivedHook,
    before: EndedMark | undefined,
  ): HookResult {
    const { kind } = event.definition
    const attempt = isRequest(kind) ? unseenAttempt(event.payload, before) : undefined
    if (attempt !== undefined) {
      turn.history.keepAttempt(place, attempt)
      notePassed(turn.open.find(place), attempt, startAt)
    }
    const open = this.#tracker.startSpan(turn, event.definition, event, {
      slot: place,
      parent: this.#parentOf(turn, event),
      startAt,
      isExplicit: event.isExplicit,
      attempt,
      // Attempt 0 is not written: earlier attempts may have been missed.
      attributes: this.#ownAttributes(turn, place, event, attempt || undefined),
      retroactive: reportedDuration(kind, event.payload) === undefined ? 'instant' : 'computed',
    })
    noteBlockedEnd(open, event)
    if (kind === 'api') noteCalls(turn, place, event.payload)
    this.#lifecycle.endSpan(open, event)
    this.#lifecycle.closeIfEmpty(turn)
    if (kind === 'tool') this.#startSkill(open, event)
    return 'ok'
  }

  /** Remembers an end that was only counted, so that its repeat does not count again. */
  #rememberCounted(turn: TrackedTurn | undefined, place: string, event: ReceivedHook, before?: EndedMark): void {
    const { kind } = event.definition
    const late = turn === undefined ? this.#registry.findEnded(event, event.at, false) : undefined
    const { history } = turn ?? late ?? { history: this.#lifecycle.orphanHistoryOf(this.#registry.session(event)) }
    const { at } = event
    const attempt = unseenAttempt(event.payload, before)
    const parent = turn && this.#parentOf(turn, event)
    if (turn !== undefined && kind === 'api') noteCalls(turn, place, event.payload)
    notePassed(turn?.open.find(place), attempt, at)
    history.ended.set(place, {
      // Children attach to the parent this span would have had.
      context: (parent && trace.getSpanContext(parent)) ?? INVALID_SPAN_CONTEXT,
      startAt: at,
      endAt: at,
      attempt,
      byHost: true,
      failed: isFailedEnd(kind, event),
      early: kind === 'subagent' ? undefined : { event, after: before?.endAt ?? 0 },
    })
  }

  #startSkill({ turn, start }: TrackedSpan, event: AnyHookEvent): void {
    if (turn.root === undefined || turn.hasEnded) return
    const loaded = toolEndOf(event, this.#attributeOptions, start as KeptTool | undefined)
    if (loaded.skill === undefined || loaded.outcome !== 'completed') return
    const place = slot('skill', loaded.skill.name)
    if (turn.open.find(place) !== undefined) return
    const payload = loaded.skill as unknown as AnyHookEvent['payload']
    const parent = parentOf(turn, skill, {}, this.#options.delegatingTools)
    const options = { slot: place, parent, startAt: event.at, isExplicit: false }
    this.#tracker.startSpan(turn, skill, { ...event, facts: {}, payload }, options)
  }

  #addEvent(event: ReceivedHook): HookResult {
    const { hook, payload, at } = event
    const turn = this.#registry.findOrIndex(event, false)
    if (turn === undefined) return 'ignored'
    this.#lifecycle.touch(turn, at)
    const attributeOptions = this.#attributeOptions
    const { facts } = attributeOptions
    const root = turn.root?.span
    if (hook === 'on_stream_start' || hook === 'on_stream_end') noteStream(turn, event)
    else if (hook === 'on_skill_lifecycle') {
      const span = turn.open.innermost('tool')?.span ?? root
      addEvent(span, facts.eventSkillLifecycle, at, skillLifecycle(payload, attributeOptions))
    } else if (hook === 'on_iteration_start')
      addEvent(root, facts.eventIteration, at, iterationAttributes(payload, attributeOptions))
    else if (hook === 'on_turn_event')
      addEvent(root, facts.eventOfTurn, at, turnEventAttributes(event, attributeOptions))
    else noteTransformable(turn, event)
    return 'ok'
  }

  #finalizeSession(event: ReceivedHook): HookResult {
    const session =
      event.sessionId === undefined ? this.#registry.onlyOpen(event.host)?.session : this.#registry.knownSession(event)
    if (session === undefined) return 'ignored'
    this.#tearDownSession(session, event, 'finalized')
    return 'ok'
  }

  /** Links the first turn of the new session to the old session's last root. */
  #resetSession(event: ReceivedHook): HookResult {
    const payload = event.payload as SessionReset
    const { capture } = this.#attributeOptions
    const newId = idOf(payload.new_session_id) ?? idOf(payload.session_id)
    const reported =
      idOf(payload.old_session_id) ?? (newId === idOf(payload.session_id) ? undefined : idOf(payload.session_id))
    const old = reported === undefined ? undefined : this.#registry.knownSession(named(reported, event.host))
    if (old !== undefined) this.#tearDownSession(old, event, 'reset')
    const predecessor =
      reported === undefined
        ? this.#lastFinalized.get(event.host)
        : (this.#finalized.get(`${event.host}\u0000${reported}`) ?? { id: capture.id(reported), root: undefined })
    if (newId === undefined || predecessor === undefined || newId === reported)
      return old === undefined ? 'ignored' : 'ok'
    this.#registry.session(named(newId, event.host)).previous = predecessor
    return 'ok'
  }

  #tearDownSession(session: TrackedSession, event: ReceivedHook, finalStatus: 'finalized' | 'reset'): void {
    // Includes a turn whose own session id was rotated into this one.
    for (const turn of new Set([...session.turns, ...(session.main === undefined ? [] : [session.main])]))
      this.#lifecycle.endTurn(turn, { at: event.at, finalStatus })
    const predecessor: Predecessor = { id: this.#attributeOptions.capture.id(session.id), root: session.lastRoot }
    if (session.id !== undefined) this.#finalized.set(`${session.host}\u0000${session.id}`, predecessor)
    this.#lastFinalized.set(session.host, predecessor)
    this.#registry.forgetSession(session)
  }
}

/**
 * Returns true if a turn continues beside the prompt of another one. Hermes can run two turns of one session at once,
 * and it reports each interruption. There a prompt alone does not interrupt a turn with work in progress.
 */
function isStillRunning(turn: TrackedTurn | undefined, event: ReceivedHook): boolean {
  if (turn === undefined || event.host !== HERMES || turn.turnId === undefined || isFailed(turn)) return false
  return isWorking(turn) || event.at - turn.activityAt < RUNNING_MILLIS
}

/** Until 0.19, Hermes emits the hooks of a whole turn for its reviews. Only the prompt distinguishes them from turns. */
function isReviewPrompt(event: ReceivedHook): boolean {
  const message = event.host === HERMES ? event.payload['user_message'] : undefined
  return typeof message === 'string' && message.startsWith(REVIEW_PROMPT)
}

function addEvent(span: Span | undefined, fact: SpanFact, at: number, attributes: Attributes): void {
  for (const name of fact) span?.addEvent(name, attributes, at)
}

/** Notes the stream of the open request. The record comes from a separate thread, so another request may be open by now. */
function noteStream(turn: TrackedTurn, event: ReceivedHook): void {
  const open = turn.open.innermost('api')
  if (open === undefined) return
  const iteration = wholeOf(event.payload['iteration'])
  const call = wholeOf(peek(open.start, 'api_call_count'))
  if (iteration !== undefined && call !== undefined && iteration !== call) return
  open.streamEnd =
    event.hook === 'on_stream_start' ? undefined : { at: event.at, error: textOf(event.payload['error']) }
}

/** Hosts emit this hook for every result and every answer, changed or not. The text is kept and compared at the end. */
function noteTransformable(turn: TrackedTurn, event: ReceivedHook): void {
  const isTool = event.hook === 'transform_tool_result'
  const open = isTool ? turn.openSpan('tool', event.toolCallId) : turn.root
  const text = event.payload[isTool ? 'result' : 'response_text']
  if (open !== undefined && typeof text === 'string') open.transformable = { at: event.at, text }
}

function noteTransformed(open: TrackedSpan, { payload }: AnyHookEvent, { facts }: AttributeOptions): void {
  const isTool = open.kind === 'tool'
  const target = isTool ? open : open.kind === 'llm' ? open.turn.root : undefined
  const text = payload[isTool ? 'result' : 'assistant_response']
  if (target?.transformable === undefined || typeof text !== 'string' || target.transformable.text === text) return
  const fact = isTool ? facts.eventToolResultTransformed : facts.eventOutputTransformed
  addEvent(target.span, fact, target.transformable.at, {})
}

/** Notes that a guard blocked a tool or changed its arguments, for the tool's span, even if it starts later. */
function keepDecision(turn: TrackedTurn, { payload }: AnyHookEvent, start: unknown, options: AttributeOptions): void {
  const decision = toolDecision(payload, start, options)
  if (decision === undefined) return
  const { blockedBy, args } = decision
  const { history } = turn
  const place = slot('tool', decision.call)
  const open = turn.open.find(place)
  if (blockedBy !== undefined) history.blockers.set(place, blockedBy)
  const attributes = blockedBy === undefined ? argumentAttributes(args, options) : blockedAttributes(blockedBy, options)
  if (open !== undefined) attributes.writeTo(open.span)
  else if (blockedBy === undefined && history.ended.get(place) === undefined) history.arguments.set(place, attributes)
}

function blockedAttributes(by: SafeText, { facts }: AttributeOptions): AttributeList {
  return new AttributeList().set(facts.toolBlockedBy, by)
}

function decidedAttributes({ history }: TrackedTurn, place: string, options: AttributeOptions) {
  const by = history.blockers.get(place)
  const args = history.arguments.get(place)
  if (args !== undefined) history.arguments.delete(place)
  return by === undefined ? args : blockedAttributes(by, options).addAll(args)
}

/** Must be called before the host's end of a tool is processed. */
function noteBlockedEnd({ kind, turn, slot }: TrackedSpan, event: AnyHookEvent): void {
  if (kind === 'tool' && turn.history.blockers.delete(slot)) event.facts.wasBlocked = true
}

/** The approval of a tool call that a guardian model has not answered when the call ends: the guardian escalated it. */
function unansweredGuardian(turn: TrackedTurn, { toolCallId }: ReceivedHook): TrackedSpan | undefined {
  const open = toolCallId === undefined ? undefined : turn.open.find(slot('approval', toolCallId))
  return open !== undefined && isGuarded(open) ? open : undefined
}

function escalationAt(at: number): AnyHookEvent {
  return { hook: 'post_approval_response', at, payload: { choice: ESCALATED }, facts: {} }
}

function named(session_id: string, host: string): RecordIds {
  return idsOf('on_session_reset', { session_id }, host)
}
