import { literal } from '../content/capture.ts'
import type { SessionStart } from '../contract/index.ts'
import { AttributeList } from '../spans/attribute-list.ts'
import { session as sessionDefinition, type TurnEnd } from '../spans/session.ts'
import type { Fired } from '../spans/span-definition.ts'
import { addTokens, allTokens } from '../spans/turn-totals.ts'
import { BoundedMap } from './bounded-map.ts'
import type { DelegationRegistry } from './delegation.ts'
import type { CoreOptions } from './options.ts'
import type { OrphanSweep } from './orphan-sweep.ts'
import type { RecordIds } from './record-ids.ts'
import { rootLabel } from './root-label.ts'
import { agentNameOf, callerOf, rootAttributes, rootLinks, rootParent } from './root-span.ts'
import type { SpanTracker } from './span-tracker.ts'
import {
  contextOfSpan,
  type EndedTurn,
  newMemory,
  newTurn,
  type OpenSpan,
  type Session,
  type Turn,
  type TurnMemory,
} from './turn.ts'
import type { TurnFacts } from './turn-facts.ts'
import { rememberedAttributes, turnIdentity } from './turn-identity.ts'
import { provenEnd, type TurnOver } from './turn-outcome.ts'
import type { TurnRegistry } from './turn-registry.ts'

type AnyFired = Fired<Readonly<Record<string, unknown>>>

/** Beyond this the turn that was silent longest is ended, marked and counted. */
const OPEN_TURNS_LIMIT = 20_000

/** Distinct turns whose like may still come. */
const ALIKE_LIMIT = 10_000

export interface LifecycleParts {
  readonly options: CoreOptions
  readonly registry: TurnRegistry
  readonly tracker: SpanTracker
  readonly facts: TurnFacts
  readonly delegations: DelegationRegistry
  readonly turnSweep: OrphanSweep<Turn>
  readonly backgroundSweep: OrphanSweep<Turn>
  readonly spanSweep: OrphanSweep<OpenSpan>
}

/** Begins and ends turns: roots, late turns, turns without a root. */
export class TurnLifecycle {
  readonly #parts: LifecycleParts
  /** Turns of which the same is known: their order is what tells them apart. */
  readonly #alike = new BoundedMap<string, number>(ALIKE_LIMIT)

  constructor(parts: LifecycleParts) {
    this.#parts = parts
  }

  /** A turn with its root span. `startAt` differs from the record's time only for a span that is made up afterwards. */
  open(
    session: Session,
    ids: RecordIds,
    fired: AnyFired,
    how: { isSide: boolean; isBackground?: boolean; isReview?: boolean; startAt?: number; isExplicit?: boolean },
  ): Turn {
    const { options, registry, tracker, delegations, facts } = this.#parts
    const payload = fired.payload as SessionStart
    const delegation = delegations.forChild(session.host, session.id, fired.at)
    session.remembered.putAll(rememberedAttributes(payload, options.draw))
    const belonging = facts.inherited(session, delegation)
    const isBackground = how.isBackground ?? false
    // In a replay, what has no time of its own has that of the replay.
    const isTimed = how.isExplicit === true || options.sweepByClock
    if (!isBackground) session.turnCount += 1
    const turn = newTurn({
      session,
      turnId: ids.turnId,
      number: isBackground ? undefined : session.turnCount,
      isSide: how.isSide,
      isBackground,
      isReview: how.isReview ?? false,
      identity: turnIdentity(options.draw, session, ids.turnId, belonging, delegation),
      belonging,
      agentName: agentNameOf(options, session.host, payload),
      delegation,
      caller: callerOf(options, payload),
      at: fired.at,
      seenAt: options.now(),
      memory: newMemory(this.#seed(session, ids.turnId, isTimed ? fired.at : undefined)),
    })
    const startAt = how.startAt ?? fired.at
    const links = rootLinks(options, registry, turn, payload)
    turn.root = tracker.start(turn, sessionDefinition, fired, {
      key: 'root',
      parent: rootParent(options, turn),
      startAt,
      isExplicit: how.isExplicit ?? true,
      ...(links.length === 0 ? {} : { links }),
      attributes: rootAttributes(options, turn, payload),
      label: rootLabel(options, turn),
    })
    session.firstRoot ??= turn.root.span.spanContext()
    session.previous = undefined
    if (delegation !== undefined) delegations.childStarted(delegation, turn)
    registry.add(turn)
    this.touch(turn, fired.at)
    this.#evict(turn, fired.at)
    return turn
  }

  /** A turn without a root: for late records of a finished turn, or (without one) for spans that stand alone. */
  openRootless(session: Session, ids: RecordIds, fired: AnyFired, ended: EndedTurn | undefined): Turn {
    const { options, registry } = this.#parts
    const turn = newTurn({
      session,
      turnId: ended?.turnId ?? ids.turnId,
      number: ended?.number ?? session.turnCount,
      isSide: true,
      identity: ended?.identity ?? turnIdentity(options.draw, session, ids.turnId, session.belonging),
      belonging: session.belonging,
      agentName: undefined,
      delegation: ended?.delegation,
      at: fired.at,
      seenAt: options.now(),
      memory: ended?.memory ?? this.looseMemory(session),
      ...(ended === undefined ? {} : { anchor: ended.anchor }),
    })
    registry.add(turn)
    this.touch(turn, fired.at)
    return turn
  }

  /** The turn was opened without an id and has got one: every span says it, the root too. */
  named(turn: Turn): void {
    const { tracker, options } = this.#parts
    const id = options.draw.capture.id(turn.turnId)
    turn.identity.put(options.draw.names.own.turnId, id)
    if (turn.root === undefined) return
    tracker.setAttributes(turn.root, new AttributeList().set(options.draw.names.own.turnId, id))
  }

  /** A sign of life, for the turn and for everything that waits for it. */
  touch(turn: Turn, at: number): void {
    const { options, turnSweep, backgroundSweep, spanSweep } = this.#parts
    const now = options.now()
    if (turn.isBackground) backgroundSweep.touch(turn, at, now)
    let current: Turn | undefined = turn
    while (current !== undefined && !current.over) {
      turnSweep.touch(current, at, now)
      const parent: OpenSpan | undefined = current.delegation?.open
      if (parent === undefined || parent.ended) return
      spanSweep.touch(parent, at, now)
      current = parent.turn
    }
  }

  /** A hook of a turn names what looked like background work. */
  promote(turn: Turn): void {
    if (!turn.isBackground || turn.isReview || turn.over) return
    const { tracker, options, backgroundSweep } = this.#parts
    const { own } = options.draw.names
    turn.isBackground = false
    backgroundSweep.forget(turn)
    turn.session.turnCount += 1
    turn.number = turn.session.turnCount
    turn.session.main ??= turn
    if (turn.root === undefined) return
    const attributes = new AttributeList().set(own.sessionKind, literal('session')).set(own.turnNumber, turn.number)
    tracker.setAttributes(turn.root, attributes)
  }

  finish(turn: Turn, told: TurnOver): void {
    if (turn.over) return
    const over = provenEnd(turn, told)
    // A turn that was silent is known to be over only when it has been for long.
    const closedAt = over.at + (told.finalStatus === 'timed_out' ? this.#parts.options.rootSpanTtlMillis : 0)
    turn.over = true
    this.#endDescendants(turn, over)
    if (turn.root !== undefined) this.#endRoot(turn, turn.root, over)
    this.#close(turn, over, closedAt)
  }

  /** A rootless turn is over with its last span. */
  closeWhenEmpty(turn: Turn): void {
    if (turn.over || turn.root !== undefined || turn.open.size > 0) return
    turn.over = true
    addToParent(turn)
    this.#parts.turnSweep.forget(turn)
    this.#parts.registry.remove(turn)
  }

  #endDescendants(turn: Turn, over: TurnOver): void {
    const { tracker, delegations, spanSweep } = this.#parts
    for (const open of turn.stack.all(open => open !== turn.root)) {
      if (open.kind === 'skill')
        tracker.end(open, {
          hook: 'on_session_end',
          at: over.at,
          payload: { finalStatus: over.finalStatus },
          facts: {},
        })
      else if (over.descendants !== 'shutdown' && open.kind === 'subagent' && delegations.outlivesTurn(open))
        turn.totals.subagentsOpen += 1
      else {
        spanSweep.forget(open)
        const delegation = open.kind === 'subagent' ? delegations.of(open) : undefined
        tracker.abandon(open, over.descendants, over.at)
        if (delegation !== undefined) delegations.forget(delegation)
      }
    }
  }

  #endRoot(turn: Turn, root: OpenSpan, over: TurnOver): void {
    const { tracker, options } = this.#parts
    const payload: TurnEnd = {
      ...over.payload,
      finalStatus: over.finalStatus,
      totals: turn.totals,
      durationMillis: Math.max(0, over.at - root.startAt),
      agentName: turn.agentName,
      isBackground: turn.isBackground,
    }
    if (!turn.session.started)
      tracker.setAttributes(root, new AttributeList().set(options.draw.names.own.sessionSynthesized, true))
    tracker.end(
      root,
      {
        hook: 'on_session_end',
        at: over.at,
        payload: payload as unknown as Readonly<Record<string, unknown>>,
        facts: {},
      },
      {
        ...(over.root === undefined ? {} : { incomplete: over.root }),
        status: over.rootStatus ?? 'drawn',
      },
    )
  }

  #close(turn: Turn, over: TurnOver, closedAt: number): void {
    const { registry, turnSweep, backgroundSweep, spanSweep, delegations, options } = this.#parts
    turnSweep.forget(turn)
    backgroundSweep.forget(turn)
    registry.remove(turn)
    const context = turn.root?.span.spanContext()
    if (context !== undefined) {
      const holders = [turn.session, ...turn.sharedWith]
      if (!turn.isBackground) for (const session of holders) session.lastRoot = context
      const { session, turnId, identity, number, delegation, ended, attempts, seeds, seed } = turn
      const anchor = contextOfSpan(context)
      const memory = { ended, attempts, seeds, seed }
      const late = { session, turnId, anchor, memory, identity, number, delegation, endAt: over.at, closedAt }
      registry.retain(late, holders, turn.isBackground)
    }
    if (turn.delegation === undefined) return
    // The child lived until now, so its delegation did.
    if (!turn.delegation.open.ended) spanSweep.touch(turn.delegation.open, over.at, options.now())
    addToParent(turn)
    delegations.childEnded(turn.delegation, turn)
  }

  /** What is remembered of spans that belong to no turn. */
  looseMemory(session: Session): TurnMemory {
    session.looseMemory ??= newMemory(this.#seed(session, 'loose', 0))
    return session.looseMemory
  }

  #seed(session: Session, turnId: string | undefined, at: number | undefined): string {
    const known = `${session.host}\u0000${session.key}\u0000${turnId ?? ''}\u0000${at ?? ''}`
    if (this.#parts.options.seedIds === undefined) return known
    const ordinal = this.#alike.get(known) ?? 0
    this.#alike.set(known, ordinal + 1)
    return ordinal === 0 ? known : `${known}\u0000${ordinal}`
  }

  #evict(newest: Turn, at: number): void {
    const { registry, turnSweep } = this.#parts
    if (registry.openCount <= OPEN_TURNS_LIMIT) return
    const oldest = turnSweep.oldest()
    if (oldest === undefined || oldest === newest) return
    this.finish(oldest, {
      at: Math.min(at, oldest.activityAt),
      finalStatus: 'timed_out',
      descendants: 'orphaned',
      root: 'orphaned',
    })
  }
}

/** What a child used is told to the nearest turn above it that can still say so: it may go on when its parent is over. */
function addToParent({ delegation, totals }: Turn): void {
  let parent = delegation?.open.turn
  while (parent?.over) parent = parent.delegation?.open.turn
  if (parent !== undefined) addTokens(parent.totals.subagentTokens, allTokens(totals))
}
