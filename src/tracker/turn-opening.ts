import type { SessionStart } from '../contract/index.ts'
import { BoundedMap } from './bounded-map.ts'
import { type ReceivedHook, startedAt } from './incoming.ts'
import type { CoreOptions } from './options.ts'
import { agentNameOf, callerOf, rootAttributes, rootLinks, rootParent } from './root-span.ts'
import type { SpanTracker } from './span-tracker.ts'
import { session as sessionDefinition } from './spans/session.ts'
import { type Session, Turn } from './turn.ts'
import { rememberedAttributes, type TurnFacts, turnIdentity } from './turn-facts.ts'
import type { TurnLifecycle } from './turn-lifecycle.ts'
import { slot, TurnMemory } from './turn-memory.ts'
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

interface OpeningHow {
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
  readonly #alike = new BoundedMap<string, number>(ALIKE_LIMIT)

  constructor(needs: OpeningNeeds) {
    this.#needs = needs
  }

  /** The turn that a record belongs to; opens one if there is none. */
  turnFor(incoming: ReceivedHook, isSideCall: boolean, startAt?: number): Turn {
    const { registry } = this.#needs
    const { ids, host } = incoming
    const turn = registry.claim(host, ids, false) ?? this.late(incoming, false)
    if (turn !== undefined) return turn
    // A side call between turns that names no turn belongs to none, and must not look like a turn of its own.
    if (isSideCall && ids.turnId === undefined) return this.loose(incoming)
    const session = registry.session(host, ids)
    const isBackground = session.prompted && ids.turnId !== undefined
    return this.open(session, incoming, { isSide: isBackground || session.main !== undefined, isBackground, startAt })
  }

  /** A late turn: continues one that has ended, for a record that arrives after the end. */
  late(incoming: ReceivedHook, begins: boolean): Turn | undefined {
    const { registry } = this.#needs
    const { event: fired, ids, host } = incoming
    const ended = registry.findEnded(host, ids, begins ? startedAt(incoming) : fired.at, begins)
    if (ended === undefined) return undefined
    const open = registry.claim(host, ids, begins)
    return open !== undefined && open.root === undefined ? open : this.#rootless(ended.session, incoming, ended)
  }

  /** A turn without a root, for spans that belong to no turn. */
  loose(incoming: ReceivedHook): Turn {
    return this.#rootless(this.#needs.registry.session(incoming.host, incoming.ids), incoming, undefined)
  }

  looseMemory(session: Session): TurnMemory {
    session.looseMemory ??= new TurnMemory(this.#seed(session, 'loose', 0))
    return session.looseMemory
  }

  /** Opens a turn with its root span. */
  open(session: Session, incoming: ReceivedHook, how: OpeningHow): Turn {
    const { options, registry, tracker, lifecycle } = this.#needs
    const fired = ambiguousWithoutId(incoming)
    const payload = fired.payload as SessionStart
    const turn = this.#turnOf(session, incoming, how)
    const links = rootLinks(options, registry, turn, payload)
    turn.root = tracker.start(turn, sessionDefinition, fired, {
      slot: slot('session', 'root'),
      parent: rootParent(options, turn),
      startAt: how.startAt ?? fired.at,
      isExplicit: incoming.isExplicit,
      ...(links.length === 0 ? {} : { links }),
      attributes: rootAttributes(options, turn, payload),
    })
    session.previous = undefined
    if (turn.delegation !== undefined) lifecycle.delegations.childStarted(turn.delegation, turn)
    lifecycle.add(turn, fired.at)
    return turn
  }

  #turnOf(
    session: Session,
    { event: fired, ids, isExplicit }: ReceivedHook,
    { isSide, isBackground, isReview }: OpeningHow,
  ): Turn {
    const { options, lifecycle, facts } = this.#needs
    const payload = fired.payload as SessionStart
    const delegation = lifecycle.delegations.forChild(session.host, session.id, fired.at)
    session.remembered.putAll(rememberedAttributes(payload, options.draw))
    const belonging = facts.inherited(session, delegation)
    // A replayed record without a time has the time of the replay, which would make the seed vary.
    const beganAt = isExplicit || options.sweepByClock ? fired.at : undefined
    return new Turn({
      session,
      turnId: ids.turnId,
      number: isBackground ? undefined : session.nextNumber(),
      isSide,
      isBackground,
      isReview,
      identity: turnIdentity(options.draw, session, ids.turnId, belonging, delegation),
      belonging,
      agentName: agentNameOf(options, session.host, payload),
      delegation,
      caller: callerOf(options, payload),
      activityAt: fired.at,
      seenAt: options.now(),
      memory: new TurnMemory(this.#seed(session, ids.turnId, beganAt)),
    })
  }

  #rootless(session: Session, { event: fired, ids }: ReceivedHook, ended: EndedTurn | undefined): Turn {
    const { options, lifecycle } = this.#needs
    const turn = new Turn({
      session,
      turnId: ended?.turnId ?? ids.turnId,
      number: ended?.number ?? session.turnCount,
      isSide: true,
      identity: ended?.identity ?? turnIdentity(options.draw, session, ids.turnId, session.belonging),
      belonging: ended === undefined ? session.belonging : ended.belonging,
      agentName: ended?.agentName,
      delegation: ended?.delegation,
      activityAt: fired.at,
      seenAt: options.now(),
      memory: ended?.memory ?? this.looseMemory(session),
      anchor: ended?.anchor,
    })
    lifecycle.add(turn, fired.at)
    return turn
  }

  #seed(session: Session, turnId: string | undefined, at: number | undefined): string {
    const known = `${session.host}\u0000${session.key}\u0000${turnId ?? ''}\u0000${at ?? ''}`
    if (this.#needs.options.seedIds === undefined) return known
    const ordinal = this.#alike.get(known) ?? 0
    this.#alike.set(known, ordinal + 1)
    return ordinal === 0 ? known : `${known}\u0000${ordinal}`
  }
}

/** Marks a root that no id names as ambiguous: the tree is uncertain. */
function ambiguousWithoutId({ event: fired, ids }: ReceivedHook): ReceivedHook['event'] {
  const isNamed = ids.sessionId !== undefined || ids.turnId !== undefined || ids.taskId !== undefined
  return isNamed || fired.correlation !== undefined ? fired : { ...fired, correlation: 'ambiguous' }
}
