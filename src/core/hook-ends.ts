import { INVALID_SPAN_CONTEXT, trace } from '@opentelemetry/api'
import type { HookResult, SubagentStop } from '../contract/index.ts'
import type { AnyDefinition } from '../spans/index.ts'
import { finalStatusOf, readSessionEnd } from '../spans/session.ts'
import { skill } from '../spans/skill.ts'
import { type SkillEvidence, skillOf } from '../spans/skill-evidence.ts'
import { isQueued } from '../spans/tool.ts'
import { toolOutcomeOf } from '../spans/tool-outcome.ts'
import {
  attemptAttribute,
  isEndOf,
  isFailedEnd,
  isOfEarlierAttempt,
  isOfLaterAttempt,
  isRequest,
  keepUnseen,
  notePassed,
  unseenAttempt,
} from './api-attempts.ts'
import { noteTransformed } from './hook-events.ts'
import { type HookStarts, isToldApproval } from './hook-starts.ts'
import type { Incoming } from './incoming.ts'
import { parentOf } from './parents.ts'
import type { CoreParts } from './parts.ts'
import { saidDuration } from './span-times.ts'
import { slot } from './span-tracker.ts'
import type { EndedMark, OpenSpan, Turn } from './turn.ts'

/** For records that a key identifies, so that their time need not. */
const LATER_THAN_NOTHING = Number.NEGATIVE_INFINITY

interface Remembered {
  readonly of: Turn['ended']
  readonly ended: EndedMark
}

/** What a record that ends something does; an end opens no turn, but for a tool whose start was never seen. */
export class HookEnds {
  readonly #parts: CoreParts
  readonly #starts: HookStarts

  constructor(parts: CoreParts, starts: HookStarts) {
    this.#parts = parts
    this.#starts = starts
  }

  /** `on_session_end`: the turn is over, whatever is still open in it. */
  session({ fired, ids, host, isExplicit }: Incoming): HookResult {
    const { registry, lifecycle, onTurnEnd } = this.#parts
    const turn = registry.find(host, ids, false)
    if (turn === undefined) {
      return registry.findEnded(host, ids, isExplicit ? fired.at : LATER_THAN_NOTHING, false) ? 'duplicate' : 'ignored'
    }
    const payload = readSessionEnd(fired.payload)
    lifecycle.promote(turn)
    lifecycle.finish(turn, { at: fired.at, finalStatus: finalStatusOf(payload), payload, descendants: 'turn_ended' })
    onTurnEnd()
    return 'ok'
  }

  /** `subagent_stop`: found by the child's ids, because the parent may be in another turn by now. */
  subagent(definition: AnyDefinition, incoming: Incoming): HookResult {
    const { delegations, tracker, spanSweep, lifecycle } = this.#parts
    const { fired, host } = incoming
    const payload = fired.payload as SubagentStop
    const delegation = delegations.find(host, payload)
    if (delegation === undefined || delegation.stopped) {
      if (delegation?.stopped || delegations.wasStopped(host, payload)) return 'duplicate'
      const result = this.#span(definition, incoming)
      delegations.noteStopped(host, payload)
      return result
    }
    spanSweep.forget(delegation.open)
    if (!delegation.open.turn.over) lifecycle.touch(delegation.open.turn, fired.at)
    tracker.end(delegation.open, fired)
    delegations.stop(delegation, fired.at)
    lifecycle.closeWhenEmpty(delegation.open.turn)
    return 'ok'
  }

  /** Every other end. */
  span(definition: AnyDefinition, incoming: Incoming): HookResult {
    if (isToldApproval(incoming)) return 'ok'
    return this.#span(definition, incoming)
  }

  #span(definition: AnyDefinition, incoming: Incoming): HookResult {
    const { registry, guard } = this.#parts
    const { fired, ids, host } = incoming
    const key = guard.call(fired.hook, definition.key, undefined, fired.payload, undefined, undefined)
    const turn = registry.find(host, ids, false)
    if (turn !== undefined && definition.kind === 'llm') this.#parts.lifecycle.promote(turn)
    if (key === undefined) return this.#withoutStart(definition, key, turn, incoming)
    const open = this.#find(turn, definition, key, incoming)
    if (open !== undefined) return this.#end(open, incoming)
    const mark = this.#markOf(turn, definition, key, incoming)
    const isOfEarlierCall = mark !== undefined && incoming.isExplicit && fired.at < mark.ended.startAt
    if (mark === undefined || (!isOfEarlierCall && isOfLaterAttempt(definition.kind, fired, mark.ended)))
      return this.#withoutStart(definition, key, turn, incoming, mark?.ended)
    if (mark.ended.byHost || isOfEarlierCall || isOfEarlierAttempt(definition.kind, fired, mark.ended))
      return 'duplicate'
    // We ended the span before its host did: what it says now can only be counted.
    this.#countOnly(definition, turn, true, incoming)
    mark.of.set(slot(definition, key), { ...mark.ended, byHost: true })
    return 'ok'
  }

  #end(open: OpenSpan, { fired }: Incoming): HookResult {
    const { tracker, lifecycle, spanSweep, options } = this.#parts
    lifecycle.touch(open.turn, fired.at)
    spanSweep.forget(open)
    noteTransformed(open, { fired }, options.draw.names)
    tracker.end(open, fired)
    if (open.kind === 'tool') this.#openSkill(open, { fired })
    lifecycle.closeWhenEmpty(open.turn)
    return 'ok'
  }

  #find(turn: Turn | undefined, definition: AnyDefinition, key: string, incoming: Incoming): OpenSpan | undefined {
    const { tracker } = this.#parts
    const { ids } = incoming
    const fits = (open: OpenSpan | undefined): OpenSpan | undefined =>
      open === undefined || this.#isEndOfAnother(open, incoming) ? undefined : open
    const found = turn && fits(tracker.find(turn, definition, key))
    if (found !== undefined || ids.turnId !== undefined) return found
    // Some hosts leave the turn id out of an end: it may belong to another open turn of the session, or to none.
    const session = turn?.session ?? this.#parts.registry.knownSession(incoming.host, ids)
    for (const other of session?.turns ?? []) {
      const elsewhere = fits(tracker.find(other, definition, key))
      if (elsewhere !== undefined) return elsewhere
    }
    return undefined
  }

  /** The end of an attempt, or of a call with the same id, that came and went before this one started. */
  #isEndOfAnother(open: OpenSpan, { fired, isExplicit }: Incoming): boolean {
    if (open.kind === 'api' && !isEndOf(open, fired.payload)) return true
    const isBefore = isExplicit && open.startIsExplicit && fired.at < open.startAt
    return isBefore && open.turn.ended.has(open.key)
  }

  /** What is remembered of a span that has ended already, in an open turn or in one that is over. */
  #markOf(turn: Turn | undefined, definition: AnyDefinition, key: string, incoming: Incoming): Remembered | undefined {
    const { registry } = this.#parts
    const { fired, ids, host, isExplicit } = incoming
    const name = slot(definition, key)
    const memory = turn ?? registry.findEnded(host, ids, LATER_THAN_NOTHING, false)?.memory
    const loose = registry.knownSession(host, ids)?.looseMemory
    const of = memory?.ended.has(name) ? memory.ended : loose?.ended
    const ended = of?.get(name)
    if (of === undefined || ended === undefined) return undefined
    // What came when there was no turn yet may have the key of another turn's: only the very same is a repeat.
    const isCertain = !isQueued(key) && (memory === undefined || of === memory.ended)
    return isCertain || (isExplicit && fired.at === ended.endAt) ? { of, ended } : undefined
  }

  /** No start was seen: a span is made up where that tells something true, else the end only counts. */
  #withoutStart(
    definition: AnyDefinition,
    key: string | undefined,
    turn: Turn | undefined,
    incoming: Incoming,
    before?: EndedMark,
  ): HookResult {
    const { fired } = incoming
    const duration = saidDuration(definition.kind, fired.payload)
    const isFailure = fired.hook === 'api_request_error'
    const isTool = definition.kind === 'tool'
    const canDraw = key !== undefined && definition.kind !== 'llm' && definition.kind !== 'approval'
    if (canDraw && (duration !== undefined || isFailure)) {
      // What a host says of a retry's duration may cover the attempts before it.
      const at = Math.max(fired.at - (duration ?? 0), Math.min(fired.at, before?.endAt ?? 0))
      const start = { at, isComputed: duration !== undefined, before }
      const home =
        turn ??
        this.#homeOfLate(incoming) ??
        (isTool ? this.#starts.turnFor(definition, incoming, start.at) : undefined)
      if (home !== undefined) return this.#drawRetroactive(home, definition, key, start, incoming)
      if (isFailure) return this.#drawRetroactive(this.#standAlone(incoming), definition, key, start, incoming)
    }
    if (turn === undefined && (isTool || definition.kind === 'llm')) return 'ignored'
    this.#countOnly(definition, turn, false, incoming)
    if (key !== undefined) this.#mark(turn, definition, key, incoming, before)
    return 'ok'
  }

  /** Whose work it was, is also known of a turn that has ended. */
  #countOnly(definition: AnyDefinition, turn: Turn | undefined, startSeen: boolean, incoming: Incoming): void {
    const { registry, tracker } = this.#parts
    const { fired, ids, host } = incoming
    const { delegation } = turn ?? registry.findEnded(host, ids, LATER_THAN_NOTHING, false) ?? {}
    tracker.countOnly(definition, fired, turn, { startSeen, isSubagent: delegation !== undefined })
  }

  #homeOfLate({ fired, ids, host }: Incoming): Turn | undefined {
    const { registry, lifecycle } = this.#parts
    const ended = registry.findEnded(host, ids, fired.at, false)
    return ended && lifecycle.openRootless(ended.session, ids, fired, ended)
  }

  #standAlone({ fired, ids, host }: Incoming): Turn {
    const { registry, lifecycle } = this.#parts
    return lifecycle.openRootless(registry.session(host, ids), ids, fired, undefined)
  }

  #drawRetroactive(
    turn: Turn,
    definition: AnyDefinition,
    key: string,
    start: { readonly at: number; readonly isComputed: boolean; readonly before: EndedMark | undefined },
    incoming: Incoming,
  ): HookResult {
    const { tracker, options, lifecycle } = this.#parts
    const { fired } = incoming
    lifecycle.touch(turn, fired.at)
    const attempt = isRequest(definition.kind) ? unseenAttempt(fired.payload, start.before) : undefined
    if (attempt !== undefined) {
      keepUnseen(turn, slot(definition, key), attempt)
      notePassed(tracker.find(turn, definition, key), attempt, start.at)
    }
    const open = tracker.start(turn, definition, fired, {
      key,
      parent: parentOf(turn, definition, fired.payload, options.delegatingTools),
      startAt: start.at,
      isExplicit: incoming.isExplicit,
      attempt,
      // Of the first one nobody knows that there was none before it.
      attributes: definition.kind === 'api' ? attemptAttribute(attempt || undefined, options.draw) : undefined,
      retroactive: start.isComputed ? 'computed' : 'instant',
    })
    tracker.end(open, fired)
    if (open.kind === 'tool') this.#openSkill(open, { fired })
    lifecycle.closeWhenEmpty(turn)
    return 'ok'
  }

  /** A repeat of an end that only counted must not count again. */
  #mark(
    turn: Turn | undefined,
    definition: AnyDefinition,
    key: string,
    { fired, ids, host }: Incoming,
    before: EndedMark | undefined,
  ): void {
    const { registry, lifecycle, tracker, options } = this.#parts
    const late = turn === undefined ? registry.findEnded(host, ids, fired.at, false) : undefined
    const { ended } = turn ?? late?.memory ?? lifecycle.looseMemory(registry.session(host, ids))
    const { at } = fired
    const attempt = unseenAttempt(fired.payload, before)
    const parent = turn && parentOf(turn, definition, fired.payload, options.delegatingTools)
    if (turn !== undefined) notePassed(tracker.find(turn, definition, key), attempt, at)
    ended.set(slot(definition, key), {
      // What would be below it goes where it would be.
      context: (parent && trace.getSpanContext(parent)) ?? INVALID_SPAN_CONTEXT,
      startAt: at,
      endAt: at,
      attempt,
      byHost: true,
      failed: isFailedEnd(definition.kind, fired),
      early: definition.kind === 'subagent' ? undefined : { fired, after: before?.endAt ?? 0 },
    })
  }

  /** A tool that loaded a skill opens a window that lasts as long as the turn. */
  #openSkill(open: OpenSpan, { fired }: Pick<Incoming, 'fired'>): void {
    const { tracker, options, guard } = this.#parts
    const { turn } = open
    if (!options.skillSpans || turn.root === undefined || turn.over) return
    const evidence = guard.run(fired.hook, () => this.#loadedSkill(open, { fired }), undefined)
    if (evidence === undefined || tracker.find(turn, skill, evidence.name) !== undefined) return
    tracker.start(
      turn,
      skill,
      { ...fired, facts: {}, payload: evidence as unknown as Readonly<Record<string, unknown>> },
      {
        key: evidence.name,
        parent: parentOf(turn, skill, {}, options.delegatingTools),
        startAt: fired.at,
        isExplicit: false,
      },
    )
  }

  #loadedSkill(open: OpenSpan, { fired }: Pick<Incoming, 'fired'>): SkillEvidence | undefined {
    const evidence = skillOf((open.start ?? fired.payload) as Readonly<Record<string, unknown>>)
    return evidence !== undefined && toolOutcomeOf(fired, this.#parts.options.draw).outcome === 'completed'
      ? evidence
      : undefined
  }
}
