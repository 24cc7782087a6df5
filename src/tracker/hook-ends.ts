import { INVALID_SPAN_CONTEXT, trace } from '@opentelemetry/api'
import type { HookResult, SubagentStop } from '../contract/index.ts'
import {
  attemptAttribute,
  isEndOf,
  isOfEarlierAttempt,
  isOfLaterAttempt,
  notePassed,
  unseenAttempt,
} from './attempts.ts'
import { noteTransformed } from './hook-events.ts'
import type { AnyHookEvent, ReceivedHook } from './incoming.ts'
import type { CoreOptions } from './options.ts'
import { noteCalls, parentOf } from './parents.ts'
import { isFailedEnd, isRequest, saidDuration } from './span-ends.ts'
import type { SpanTracker } from './span-tracker.ts'
import type { AttributeList } from './spans/attribute-list.ts'
import { opensTurn } from './spans/control-hook.ts'
import type { AnyDefinition } from './spans/hook-plan.ts'
import { finalStatusOf, readSessionEnd } from './spans/session.ts'
import { type KeptTool, skill, skillOfEnded } from './spans/skill.ts'
import { isQueued } from './spans/tool.ts'
import { toolOutcomeOf } from './spans/tool-outcome.ts'
import { decidedAttributes, escalationAt, keepDecision, noteBlockedEnd, unansweredGuardian } from './tool-decisions.ts'
import type { OpenSpan, Turn } from './turn.ts'
import type { TurnLifecycle } from './turn-lifecycle.ts'
import { type EndedMark, slot, type TurnMemory } from './turn-memory.ts'
import type { TurnOpening } from './turn-opening.ts'
import type { TurnRegistry } from './turn-registry.ts'

/** Matches finished turns by key, whatever the record's time. */
const LATER_THAN_NOTHING = Number.NEGATIVE_INFINITY

interface Remembered {
  readonly by: TurnMemory
  readonly ended: EndedMark
}

export interface EndNeeds {
  readonly options: CoreOptions
  readonly registry: TurnRegistry
  readonly tracker: SpanTracker
  readonly lifecycle: TurnLifecycle
  readonly opening: TurnOpening
}

/** Handles records that end something. An end opens no turn, except for a tool whose start was never seen. */
export class HookEnds {
  readonly #needs: EndNeeds

  constructor(needs: EndNeeds) {
    this.#needs = needs
  }

  /** `on_session_end`: ends the turn, whatever is still open in it. */
  session({ event: fired, ids, host, isExplicit }: ReceivedHook): HookResult {
    const { registry, lifecycle } = this.#needs
    const turn = registry.claim(host, ids, false)
    if (turn === undefined) {
      return registry.findEnded(host, ids, isExplicit ? fired.at : LATER_THAN_NOTHING, false) ? 'duplicate' : 'ignored'
    }
    const payload = readSessionEnd(fired.payload)
    lifecycle.promote(turn)
    lifecycle.finish(turn, { at: fired.at, finalStatus: finalStatusOf(payload), payload, descendants: 'turn_ended' })
    return 'ok'
  }

  /** `subagent_stop`: found by the child's ids, because the parent may be in another turn by now. */
  subagent(definition: AnyDefinition, incoming: ReceivedHook): HookResult {
    const { lifecycle } = this.#needs
    const { delegations } = lifecycle
    const { event: fired, host } = incoming
    const payload = fired.payload as SubagentStop
    const delegation = delegations.find(host, payload)
    if (delegation === undefined || delegation.stopped) {
      if (delegation?.stopped || delegations.wasStopped(host, payload)) return 'duplicate'
      const result = this.span(definition, incoming)
      delegations.noteStopped(host, payload)
      return result
    }
    lifecycle.endByHost(delegation.open, fired)
    delegations.stop(delegation, fired.at)
    lifecycle.closeWhenEmpty(delegation.open.turn)
    return 'ok'
  }

  /** Handles every other end. */
  span(definition: AnyDefinition, incoming: ReceivedHook): HookResult {
    const { registry, tracker, lifecycle } = this.#needs
    const { event: fired, ids, host } = incoming
    const { kind } = definition
    const key = tracker.keyOf(definition, fired)
    const turn = registry.claim(host, ids, false)
    if (turn !== undefined && kind === 'llm') lifecycle.promote(turn)
    if (key === undefined) return this.#withoutStart(definition, key, turn, incoming)
    const place = slot(kind, key)
    const open = this.#find(turn, place, incoming)
    if (open !== undefined) return this.#endOpen(open, fired)
    const mark = this.#markOf(turn, place, isQueued(key), incoming)
    const isOfEarlierCall = mark !== undefined && incoming.isExplicit && fired.at < mark.ended.startAt
    if (mark === undefined || (!isOfEarlierCall && isOfLaterAttempt(kind, fired, mark.ended)))
      return this.#withoutStart(definition, key, turn, incoming, mark?.ended)
    if (mark.ended.byHost || isOfEarlierCall || isOfEarlierAttempt(kind, fired, mark.ended)) return 'duplicate'
    // hookspan ended the span before its host did, so this end is only counted.
    this.#countOnly(definition, turn, true, incoming)
    mark.by.keepEnded(place, { ...mark.ended, byHost: true })
    return 'ok'
  }

  #endOpen(open: OpenSpan, fired: AnyHookEvent): HookResult {
    const { lifecycle, options } = this.#needs
    if (open.kind === 'hook') keepDecision(open.turn, fired, open.start, options.draw)
    noteTransformed(open, fired, options.draw.names)
    noteBlockedEnd(open, fired)
    if (open.kind === 'api') noteCalls(open.turn, open.slot, fired.payload)
    const guarded = open.kind === 'tool' ? unansweredGuardian(open.turn, fired) : undefined
    if (guarded !== undefined) lifecycle.endByHost(guarded, escalationAt(fired.at))
    lifecycle.endByHost(open, fired)
    lifecycle.closeWhenEmpty(open.turn)
    if (open.kind === 'tool') this.#openSkill(open, fired)
    return 'ok'
  }

  #find(turn: Turn | undefined, place: string, incoming: ReceivedHook): OpenSpan | undefined {
    const { ids, host } = incoming
    const found = this.#endedIn(turn, place, incoming)
    if (found !== undefined || ids.turnId !== undefined) return found
    // Some hosts omit the turn id in an end. The span may be in another open turn of the session, in a turn of a
    // session that was dropped, or in none.
    const { registry } = this.#needs
    const session = turn?.session ?? registry.knownSession(host, ids)
    const gone = turn === undefined ? registry.findEnded(host, ids, LATER_THAN_NOTHING, false)?.session : undefined
    for (const other of [...(session?.turns ?? []), ...(gone?.turns ?? [])]) {
      const elsewhere = this.#endedIn(other, place, incoming)
      if (elsewhere !== undefined) return elsewhere
    }
    return undefined
  }

  #endedIn(turn: Turn | undefined, place: string, incoming: ReceivedHook): OpenSpan | undefined {
    const open = turn?.find(place)
    return open === undefined || this.#isEndOfAnother(open, incoming) ? undefined : open
  }

  /** The end of an earlier attempt, or of an earlier call with the same id, that ended before this one started. */
  #isEndOfAnother(open: OpenSpan, { event: fired, isExplicit }: ReceivedHook): boolean {
    if (open.kind === 'api' && !isEndOf(open, fired.payload)) return true
    const isBefore = isExplicit && open.startIsExplicit && fired.at < open.startAt
    return isBefore && open.turn.memory.ended(open.slot) !== undefined
  }

  /** The mark of a span that has already ended, in an open turn or in a finished one. */
  #markOf(turn: Turn | undefined, place: string, isQueued: boolean, incoming: ReceivedHook): Remembered | undefined {
    const { registry } = this.#needs
    const { event: fired, ids, host, isExplicit } = incoming
    const { memory } = turn ?? registry.findEnded(host, ids, LATER_THAN_NOTHING, false) ?? {}
    const own = memory?.ended(place)
    const by = own === undefined ? registry.knownSession(host, ids)?.looseMemory : memory
    const ended = own ?? by?.ended(place)
    if (by === undefined || ended === undefined) return undefined
    // A mark from before any turn was open may have the key of another turn's span. Only an end with the same time is a
    // repeat.
    const isCertain = !isQueued && (memory === undefined || by === memory)
    return isCertain || (isExplicit && fired.at === ended.endAt) ? { by, ended } : undefined
  }

  /**
   * Handles an end whose start was not seen. Creates a span afterwards if its time is known or it failed; otherwise
   * only counts.
   */
  #withoutStart(
    definition: AnyDefinition,
    key: string | undefined,
    turn: Turn | undefined,
    incoming: ReceivedHook,
    before?: EndedMark,
  ): HookResult {
    const { opening, options } = this.#needs
    const { event: fired } = incoming
    const duration = saidDuration(definition.kind, fired.payload)
    const isFailure = fired.hook === 'api_request_error'
    const isTool = definition.kind === 'tool'
    const isHook = definition.kind === 'hook'
    if (isHook && turn !== undefined) keepDecision(turn, fired, undefined, options.draw)
    const canDraw = key !== undefined && definition.kind !== 'llm' && definition.kind !== 'approval'
    if (canDraw && (duration !== undefined || isFailure)) {
      // The host's duration of a retry may cover the attempts before it.
      const at = Math.max(fired.at - (duration ?? 0), Math.min(fired.at, before?.endAt ?? 0))
      const start = { at, isComputed: duration !== undefined, before }
      const home =
        turn ??
        opening.late(incoming, false) ??
        (isTool || (isHook && opensTurn(fired.payload)) ? opening.turnFor(incoming, false, start.at) : undefined)
      if (home !== undefined) return this.#drawRetroactive(home, definition, key, start, incoming)
      if (isFailure) return this.#drawRetroactive(opening.loose(incoming), definition, key, start, incoming)
    }
    if (turn === undefined && (isTool || definition.kind === 'llm')) return 'ignored'
    this.#countOnly(definition, turn, false, incoming)
    if (key !== undefined) this.#mark(turn, definition, key, incoming, before)
    return 'ok'
  }

  /** The delegation and the agent name are also known for a turn that has ended. */
  #countOnly(definition: AnyDefinition, turn: Turn | undefined, startSeen: boolean, incoming: ReceivedHook): void {
    const { registry, tracker } = this.#needs
    const { event: fired, ids, host } = incoming
    const { delegation, agentName } = turn ?? registry.findEnded(host, ids, LATER_THAN_NOTHING, false) ?? {}
    tracker.countOnly(definition, fired, turn, { startSeen, isSubagent: delegation !== undefined, agentName })
  }

  #drawRetroactive(
    turn: Turn,
    definition: AnyDefinition,
    key: string,
    start: { readonly at: number; readonly isComputed: boolean; readonly before: EndedMark | undefined },
    incoming: ReceivedHook,
  ): HookResult {
    const { tracker, options, lifecycle } = this.#needs
    const { event: fired } = incoming
    const place = slot(definition.kind, key)
    const attempt = isRequest(definition.kind) ? unseenAttempt(fired.payload, start.before) : undefined
    if (attempt !== undefined) {
      turn.memory.keepAttempt(place, attempt)
      notePassed(turn.find(place), attempt, start.at)
    }
    const open = tracker.start(turn, definition, fired, {
      slot: place,
      parent: parentOf(turn, definition, fired.payload, options.delegatingTools),
      startAt: start.at,
      isExplicit: incoming.isExplicit,
      attempt,
      attributes: this.#extra(turn, definition, place, attempt),
      retroactive: start.isComputed ? 'computed' : 'instant',
    })
    noteBlockedEnd(open, fired)
    if (open.kind === 'api') noteCalls(turn, place, fired.payload)
    lifecycle.endByHost(open, fired)
    lifecycle.closeWhenEmpty(turn)
    if (open.kind === 'tool') this.#openSkill(open, fired)
    return 'ok'
  }

  #extra(turn: Turn, { kind }: AnyDefinition, place: string, attempt: number | undefined): AttributeList | undefined {
    const { draw } = this.#needs.options
    // Attempt 0 is not written: earlier attempts may have been missed.
    if (kind === 'api') return attemptAttribute(attempt || undefined, draw)
    return kind === 'tool' ? decidedAttributes(turn, place, draw) : undefined
  }

  /** Remembers an end that was only counted, so that its repeat does not count again. */
  #mark(
    turn: Turn | undefined,
    definition: AnyDefinition,
    key: string,
    { event: fired, ids, host }: ReceivedHook,
    before: EndedMark | undefined,
  ): void {
    const { registry, opening, options } = this.#needs
    const late = turn === undefined ? registry.findEnded(host, ids, fired.at, false) : undefined
    const { memory } = turn ?? late ?? { memory: opening.looseMemory(registry.session(host, ids)) }
    const { at } = fired
    const attempt = unseenAttempt(fired.payload, before)
    const parent = turn && parentOf(turn, definition, fired.payload, options.delegatingTools)
    const place = slot(definition.kind, key)
    if (turn !== undefined && definition.kind === 'api') noteCalls(turn, place, fired.payload)
    notePassed(turn?.find(place), attempt, at)
    memory.keepEnded(place, {
      // Children attach to the parent this span would have had.
      context: (parent && trace.getSpanContext(parent)) ?? INVALID_SPAN_CONTEXT,
      startAt: at,
      endAt: at,
      attempt,
      byHost: true,
      failed: isFailedEnd(definition.kind, fired),
      early: definition.kind === 'subagent' ? undefined : { fired, after: before?.endAt ?? 0 },
    })
  }

  /** Opens a skill span after a tool that loaded a skill. It lasts until the end of the turn. */
  #openSkill({ turn, start }: OpenSpan, fired: AnyHookEvent): void {
    const { tracker, options } = this.#needs
    if (turn.root === undefined || turn.over) return
    const evidence = skillOfEnded(start as KeptTool | undefined, fired.payload)
    if (evidence === undefined || toolOutcomeOf(fired, options.draw).outcome !== 'completed') return
    const place = slot('skill', evidence.name)
    if (turn.find(place) !== undefined) return
    const payload = evidence as unknown as AnyHookEvent['payload']
    tracker.start(
      turn,
      skill,
      { ...fired, facts: {}, payload },
      {
        slot: place,
        parent: parentOf(turn, skill, {}, options.delegatingTools),
        startAt: fired.at,
        isExplicit: false,
      },
    )
  }
}
