import type { SessionStart } from '../contract/index.ts'
import { BoundedMap } from './bounded-map.ts'
import type { CoreOptions } from './options.ts'
import { type ReceivedHook, startedAt } from './received-hook.ts'
import { agentNameOf, callerOf, rootAttributes, rootLabel, rootLinks, rootParent } from './root-span.ts'
import type { SpanTracker } from './span-tracker.ts'
import { session as sessionDefinition } from './spans/session.ts'
import { type TrackedSession, TrackedTurn } from './turn.ts'
import { rememberedAttributes, type TurnFacts, turnIdentity } from './turn-facts.ts'
import { slot, TurnHistory } from './turn-history.ts'
import type { TurnLifecycle } from './turn-lifecycle.ts'
import type { EndedTurn, TurnRegistry } from './turn-registry.ts'

/** Limit of distinct turn identities that are counted. */
const ALIKE_LIMIT = 10_000

interface OpeningNeeds {
  readonly options: CoreOptions
  readonly registry: TurnRegistry
  readonly tracker: SpanTracker
  readonly lifecycle: TurnLifecycle
  readonly facts: TurnFacts
}

interface OpeningOptions {
  readonly isSide: boolean
  readonly isBackground?: boolean
  readonly isReview?: boolean
  /** Differs from the record's time only for a span that is created afterwards. */
  readonly startAt?: number | undefined
}

/** Opens turns: with a root, late ones that continue with their past, and loose ones for spans without a turn. */
export class TurnOpening {
  readonly #needs: OpeningNeeds
  /** Turns with identical ids are distinguished by arrival order. */
  readonly #sameIdentity = new BoundedMap<string, number>(ALIKE_LIMIT)

  constructor(needs: OpeningNeeds) {
    this.#needs = needs
  }

  /** The turn that a record belongs to; opens one if there is none. */
  turnFor(incoming: ReceivedHook, isSideCall: boolean, startAt?: number): TrackedTurn {
    const { registry } = this.#needs
    const { ids, host } = incoming
    const turn = registry.findOrIndex(host, ids, false) ?? this.openLate(incoming, false)
    if (turn !== undefined) return turn
    // A side call between turns that names no turn belongs to none, and must not look like a turn of its own.
    if (isSideCall && ids.turnId === undefined) return this.openOrphan(incoming)
    const session = registry.session(host, ids)
    const isBackground = session.prompted && ids.turnId !== undefined
    return this.open(session, incoming, { isSide: isBackground || session.main !== undefined, isBackground, startAt })
  }

  /** A late turn: continues one that has ended, for a record that arrives after the end. */
  openLate(incoming: ReceivedHook, begins: boolean): TrackedTurn | undefined {
    const { registry } = this.#needs
    const { event, ids, host } = incoming
    const ended = registry.findEnded(host, ids, begins ? startedAt(incoming) : event.at, begins)
    if (ended === undefined) return undefined
    const openTurn = registry.findOrIndex(host, ids, begins)
    return openTurn !== undefined && openTurn.root === undefined
      ? openTurn
      : this.#openRootless(ended.session, incoming, ended)
  }

  /** A turn without a root, for spans that belong to no turn. */
  openOrphan(incoming: ReceivedHook): TrackedTurn {
    return this.#openRootless(this.#needs.registry.session(incoming.host, incoming.ids), incoming, undefined)
  }

  orphanHistoryOf(session: TrackedSession): TurnHistory {
    session.orphanHistory ??= new TurnHistory(this.#seed(session, 'loose', 0))
    return session.orphanHistory
  }

  /** Opens a turn with its root span. */
  open(session: TrackedSession, incoming: ReceivedHook, how: OpeningOptions): TrackedTurn {
    const { options, registry, tracker, lifecycle } = this.#needs
    const event = ambiguousWithoutId(incoming)
    const payload = event.payload as SessionStart
    const turn = this.#turnOf(session, incoming, how)
    const links = rootLinks(options, registry, turn, payload)
    turn.root = tracker.startSpan(turn, sessionDefinition, event, {
      slot: slot('session', 'root'),
      parent: rootParent(options, turn),
      startAt: how.startAt ?? event.at,
      isExplicit: incoming.isExplicit,
      ...(links.length === 0 ? {} : { links }),
      attributes: rootAttributes(options, turn, payload),
      label: rootLabel(options, turn),
    })
    session.firstRoot ??= turn.root.span.spanContext()
    session.previous = undefined
    if (turn.delegation !== undefined) lifecycle.delegations.childStarted(turn.delegation, turn)
    lifecycle.addTurn(turn, event.at)
    return turn
  }

  #turnOf(
    session: TrackedSession,
    { event, ids, isExplicit }: ReceivedHook,
    { isSide, isBackground, isReview }: OpeningOptions,
  ): TrackedTurn {
    const { options, lifecycle, facts } = this.#needs
    const payload = event.payload as SessionStart
    const delegation = lifecycle.delegations.forChild(session.host, session.id, event.at)
    session.remembered.putAll(rememberedAttributes(payload, options.attributeOptions))
    const belonging = facts.inheritedMetadata(session, delegation)
    // A replayed record without a time has the time of the replay, which would make the seed vary.
    const beganAt = isExplicit || options.sweepByClock ? event.at : undefined
    return new TrackedTurn({
      session,
      turnId: ids.turnId,
      number: isBackground ? undefined : session.nextNumber(),
      isSide,
      isBackground,
      isReview,
      identity: turnIdentity(options.attributeOptions, session, ids.turnId, belonging, delegation),
      metadata: belonging,
      agentName: agentNameOf(options, session.host, payload),
      delegation,
      caller: callerOf(options, payload),
      activityAt: event.at,
      seenAt: options.now(),
      history: new TurnHistory(this.#seed(session, ids.turnId, beganAt)),
    })
  }

  #openRootless(session: TrackedSession, { event, ids }: ReceivedHook, ended: EndedTurn | undefined): TrackedTurn {
    const { options, lifecycle } = this.#needs
    const turn = new TrackedTurn({
      session,
      turnId: ended?.turnId ?? ids.turnId,
      number: ended?.number ?? session.turnCount,
      isSide: true,
      identity: ended?.identity ?? turnIdentity(options.attributeOptions, session, ids.turnId, session.metadata),
      metadata: ended === undefined ? session.metadata : ended.metadata,
      agentName: ended?.agentName,
      delegation: ended?.delegation,
      activityAt: event.at,
      seenAt: options.now(),
      history: ended?.history ?? this.orphanHistoryOf(session),
      anchor: ended?.anchor,
    })
    lifecycle.addTurn(turn, event.at)
    return turn
  }

  #seed(session: TrackedSession, turnId: string | undefined, at: number | undefined): string {
    const known = `${session.host}\u0000${session.key}\u0000${turnId ?? ''}\u0000${at ?? ''}`
    if (this.#needs.options.seedIds === undefined) return known
    const ordinal = this.#sameIdentity.get(known) ?? 0
    this.#sameIdentity.set(known, ordinal + 1)
    return ordinal === 0 ? known : `${known}\u0000${ordinal}`
  }
}

/** Marks a root that no id names as ambiguous: the tree is uncertain. */
function ambiguousWithoutId({ event, ids }: ReceivedHook): ReceivedHook['event'] {
  const isNamed = ids.sessionId !== undefined || ids.turnId !== undefined || ids.taskId !== undefined
  return isNamed || event.correlation !== undefined ? event : { ...event, correlation: 'ambiguous' }
}
