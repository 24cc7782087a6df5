import type { HookResult, SessionStart, SubagentStart } from '../contract/index.ts'
import { ESCALATED, isEscalation } from '../spans/approval.ts'
import { AttributeList } from '../spans/attribute-list.ts'
import type { Belonging } from '../spans/belongings.ts'
import type { AnyDefinition } from '../spans/index.ts'
import { sessionStartAttributes } from '../spans/session.ts'
import { isQueued } from '../spans/tool.ts'
import { attemptAttribute, isRequest, nextAttempt, noteFollowed } from './api-attempts.ts'
import type { Incoming } from './incoming.ts'
import { parentOf } from './parents.ts'
import type { CoreParts } from './parts.ts'
import { earlyEnd, foldedByEnd, isRepeat } from './repeated-starts.ts'
import { HERMES, linkCaller } from './root-span.ts'
import { slot } from './span-tracker.ts'
import type { EndedMark, OpenSpan, Turn } from './turn.ts'
import { rotatedIdentity } from './turn-identity.ts'
import { isFailed, noteDeadEnd } from './turn-outcome.ts'
import { foldStart } from './turn-summary.ts'

/** Beyond this the turn's oldest open span is ended, marked and counted. */
const OPEN_SPANS_LIMIT = 10_000
/** How each of Hermes' prompts for a review begins. */
const REVIEW_PROMPT = 'Review the conversation above and '

/** What a record that starts something does: which turn it belongs to, and which span it opens there. */
export class HookStarts {
  readonly #parts: CoreParts

  constructor(parts: CoreParts) {
    this.#parts = parts
  }

  /** `on_session_start`: opens the turn's root, or adds to the one that is open. */
  session(incoming: Incoming): HookResult {
    const { registry, lifecycle, facts } = this.#parts
    const { fired, ids, host } = incoming
    const session = registry.session(host, ids)
    const said = facts.said(incoming)
    const wasStarted = session.started
    session.started = true
    let open = this.#rooted(incoming)
    // Some hosts start the session anew with each turn, also after one that has failed without an end.
    if (open !== undefined && isFailed(open) && fired.at > open.activityAt) {
      this.#interrupt(open, fired.at)
      open = undefined
    }
    if (open !== undefined) {
      session.belonging = facts.join(session.belonging, said)
      lifecycle.promote(open)
      return this.#supply(open, incoming, said)
    }
    // Its turn has come and gone before it arrived, or it arrives again.
    const isLate = incoming.isExplicit && registry.findEnded(host, ids, fired.at, true) !== undefined
    if (isLate) return wasStarted ? 'duplicate' : 'ok'
    if (ids.turnId !== undefined) this.#interrupt(session.main, fired.at)
    session.belonging = said
    lifecycle.open(session, ids, ambiguousWithoutId(incoming), { isSide: false, isExplicit: incoming.isExplicit })
    return 'ok'
  }

  /** `pre_llm_call`: begins a turn, so another one of its session that is still open was interrupted. */
  turn(definition: AnyDefinition, incoming: Incoming): HookResult {
    const { registry, facts } = this.#parts
    const { fired, ids, host } = incoming
    const session = registry.session(host, ids)
    session.prompted = true
    const known = this.#rooted(incoming)
    if (known === undefined) {
      const late = incoming.isExplicit ? this.#late(incoming, true) : undefined
      if (late !== undefined) {
        facts.learn(late, incoming, facts.said(incoming))
        return this.#open(late, definition, incoming)
      }
    }
    const isReview = known?.isReview ?? isReviewPrompt(incoming)
    // One that began before the turn that is open now comes late: it stands beside it and interrupts nothing.
    const isBehind = isReview || (session.main !== known && this.#isBehind(session.main, incoming))
    if (session.main !== known && !isBehind) this.#interrupt(session.main, fired.at)
    const turn =
      known ??
      this.#parts.lifecycle.open(session, ids, ambiguousWithoutId(incoming), {
        isSide: isBehind,
        isBackground: isReview,
        isReview,
        isExplicit: incoming.isExplicit,
      })
    if (!isBehind && turn.root !== undefined && turn.session === session) session.main = turn
    this.#parts.lifecycle.promote(turn)
    linkCaller(this.#parts.options, turn, fired.payload as SessionStart)
    facts.learn(turn, incoming, facts.said(incoming))
    return this.#open(turn, definition, incoming)
  }

  /** Every other start. */
  span(definition: AnyDefinition, incoming: Incoming): HookResult {
    if (definition.kind === 'subagent' && this.#isKnownDelegation(incoming)) return 'duplicate'
    if (isToldApproval(incoming)) return 'ok'
    return this.#open(this.turnFor(definition, incoming), definition, incoming)
  }

  /** A delegation outlives its turn, so a repeat of its start cannot be told by the turn. */
  #isKnownDelegation({ fired, host, isExplicit }: Incoming): boolean {
    const known = this.#parts.delegations.find(host, fired.payload as SubagentStart)
    return known !== undefined && isExplicit && known.open.startIsExplicit && fired.at <= known.open.startAt
  }

  /** The turn that a record belongs to, opened where there is none. */
  turnFor(definition: AnyDefinition, incoming: Incoming, startAt?: number): Turn {
    const { registry, lifecycle } = this.#parts
    const { fired, ids, host } = incoming
    const turn = registry.find(host, ids, false) ?? this.#late(incoming, false)
    if (turn !== undefined) return turn
    const session = registry.session(host, ids)
    // A side call that names no turn, between the turns, is nobody's work: it must not look like a turn of its own.
    if (definition.kind === 'auxiliary' && ids.turnId === undefined)
      return lifecycle.openRootless(session, ids, fired, undefined)
    const isBackground = session.prompted && ids.turnId !== undefined
    const how = {
      isSide: isBackground || session.main !== undefined,
      isBackground,
      isExplicit: incoming.isExplicit,
      ...(startAt === undefined ? {} : { startAt }),
    }
    return lifecycle.open(session, ids, ambiguousWithoutId(incoming), how)
  }

  #open(turn: Turn, definition: AnyDefinition, incoming: Incoming): HookResult {
    const { tracker, lifecycle, options, guard } = this.#parts
    const { fired, ids } = incoming
    const key = guard.call(fired.hook, definition.key, undefined, fired.payload, undefined, undefined)
    if (key === undefined) return 'ignored'
    const predecessor = isQueued(key) ? undefined : tracker.find(turn, definition, key)
    const ended =
      isQueued(key) || predecessor !== undefined ? undefined : this.#endedOf(turn, definition, key, incoming)
    const early = earlyEnd(ended, incoming)
    if (early === undefined && !isQueued(key) && isRepeat(ended, predecessor, incoming)) {
      lifecycle.closeWhenEmpty(turn)
      return 'duplicate'
    }
    lifecycle.touch(turn, fired.at)
    turn.taskId ??= ids.taskId
    if (predecessor !== undefined) this.#supersede(predecessor, incoming)
    if (turn.stack.size >= OPEN_SPANS_LIMIT) this.#evictOldest(turn, fired.at)
    if (definition.kind === 'api') noteFollowed(turn, fired.payload, fired.at)
    const attempt = early === undefined ? this.#attemptOf(turn, definition, key, fired) : ended?.attempt
    const open = tracker.start(turn, definition, fired, {
      key,
      parent: parentOf(turn, definition, fired.payload, options.delegatingTools),
      startAt: fired.at,
      isExplicit: incoming.isExplicit,
      attempt,
      attributes: this.#extra(turn, incoming, definition.kind === 'api' ? attempt : undefined),
    })
    if (early === undefined || !foldedByEnd(open)) guard.call(fired.hook, this.#fold, undefined, turn, fired, undefined)
    if (early === undefined) this.#watch(open, incoming)
    else tracker.endCounted(open, early)
    return 'ok'
  }

  /** What is remembered under its key; an end that came when there was no turn yet is told to the turn now. */
  #endedOf(turn: Turn, definition: AnyDefinition, key: string, incoming: Incoming): EndedMark | undefined {
    const name = slot(definition, key)
    const known = turn.ended.get(name)
    const loose = turn.session.looseMemory?.ended
    if (known !== undefined || loose === undefined) return known
    const ended = loose.get(name)
    const early = earlyEnd(ended, incoming)
    if (ended === undefined || early === undefined) return undefined
    loose.delete(name)
    turn.ended.set(name, ended)
    this.#parts.tracker.foldCounted(turn, definition, early)
    return ended
  }

  #attemptOf(turn: Turn, definition: AnyDefinition, key: string, { payload }: Incoming['fired']): number | undefined {
    return isRequest(definition.kind) ? nextAttempt(turn, slot(definition, key), payload) : undefined
  }

  /** The same key starts anew: what is open under it had no end. A guardian that passes its question on has decided so. */
  #supersede(open: OpenSpan, { fired }: Incoming): void {
    const { tracker, spanSweep } = this.#parts
    if (isEscalation(open, fired.payload)) {
      spanSweep.forget(open)
      tracker.end(open, { hook: 'post_approval_response', at: fired.at, payload: { choice: ESCALATED }, facts: {} })
    } else this.#parts.abandon(open, 'superseded', fired.at)
  }

  readonly #fold = (turn: Turn, fired: Incoming['fired']): void => {
    const { draw } = this.#parts.options
    foldStart(turn.totals, fired, draw, isDrawn(turn))
    noteDeadEnd(turn, fired, draw)
  }

  #extra(turn: Turn, { ids }: Incoming, attempt: number | undefined): AttributeList | undefined {
    const { draw } = this.#parts.options
    const rotated = rotatedIdentity(draw, turn, ids.sessionId)
    const numbered = attemptAttribute(attempt, draw)
    return rotated === undefined ? numbered : rotated.addAll(numbered)
  }

  /** Delegations and approvals have a limit of their own; a child may have started before its delegation was told. */
  #watch(open: OpenSpan, { fired, ids, host }: Incoming): void {
    const { spanSweep, delegations, options, registry, facts, tracker } = this.#parts
    if (open.kind !== 'subagent' && open.kind !== 'approval') return
    spanSweep.touch(open, fired.at, options.now())
    if (open.kind === 'approval') return
    const payload = fired.payload as SubagentStart
    const said = facts.said({ fired })
    if (said !== undefined) tracker.setAttributes(open, facts.attributesOf(facts.join(open.turn.belonging, said)))
    const delegation = delegations.add(open, payload, ids.sessionId, said)
    if (delegation.childSessionId === undefined) return
    const child = registry.knownSession(host, { ...ids, sessionId: delegation.childSessionId })?.main
    if (child?.root === undefined || child === open.turn) return
    delegation.childSeen = true
    const { link } = options.draw.names.own
    child.root.span.addLink?.({
      context: open.span.spanContext(),
      attributes: link === '' ? {} : { [link]: 'delegation' },
    })
  }

  #late(incoming: Incoming, begins: boolean): Turn | undefined {
    const { registry, lifecycle } = this.#parts
    const { fired, ids, host } = incoming
    const ended = registry.findEnded(host, ids, fired.at, begins)
    if (ended === undefined) return undefined
    const open = registry.find(host, ids, begins)
    return open?.root === undefined && open !== undefined
      ? open
      : lifecycle.openRootless(ended.session, ids, fired, ended)
  }

  /** The open turn that a record which begins a turn belongs to; late and loose spans are none. */
  #rooted({ host, ids }: Incoming): Turn | undefined {
    const turn = this.#parts.registry.find(host, ids, true)
    return turn?.root === undefined ? undefined : turn
  }

  /** A repeated start of a session supplies what was missing, and is otherwise without effect. */
  #supply(turn: Turn, { fired }: Incoming, said: Belonging | undefined): HookResult {
    const { options, tracker, lifecycle, facts } = this.#parts
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
    tracker.setAttributes(turn.root, supplied)
    linkCaller(options, turn, payload)
    facts.learn(turn, { fired }, said)
    return 'ok'
  }

  #isBehind(main: Turn | undefined, { fired, isExplicit }: Incoming): boolean {
    const root = main?.root
    return root !== undefined && isExplicit && root.startIsExplicit && fired.at < root.startAt
  }

  #interrupt(turn: Turn | undefined, at: number): void {
    if (turn === undefined) return
    this.#parts.lifecycle.finish(turn, { at, finalStatus: 'interrupted', descendants: 'turn_ended' })
    this.#parts.onTurnEnd()
  }

  #evictOldest(turn: Turn, at: number): void {
    const oldest = turn.stack.outermostBut(turn.root)
    if (oldest !== undefined) this.#parts.abandon(oldest, 'orphaned', at)
  }
}

/** Hosts tell of an approval by its own hooks as well; as a question to a person it would be there twice. */
export function isToldApproval({ fired }: Pick<Incoming, 'fired'>): boolean {
  const isQuestion = fired.hook === 'on_human_input_request' || fired.hook === 'on_human_input_resolved'
  return isQuestion && fired.payload['kind'] === 'approval'
}

/** Up to 0.19 Hermes fires the hooks of a whole turn for its reviews: only what the fork is asked tells it from one. */
function isReviewPrompt({ host, fired }: Incoming): boolean {
  const message = host === HERMES ? fired.payload['user_message'] : undefined
  return typeof message === 'string' && message.startsWith(REVIEW_PROMPT)
}

function isDrawn(turn: Turn): boolean {
  return turn.root?.span.isRecording() ?? false
}

/** A root that no id names is marked, so that nobody takes the tree for certain. */
function ambiguousWithoutId({ fired, ids }: Incoming): Incoming['fired'] {
  const isNamed = ids.sessionId !== undefined || ids.turnId !== undefined || ids.taskId !== undefined
  return isNamed || fired.correlation !== undefined ? fired : { ...fired, correlation: 'ambiguous' }
}
