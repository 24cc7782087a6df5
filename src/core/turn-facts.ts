import type { SafeText } from '../content/capture.ts'
import { textOf } from '../contract/foreign.ts'
import type { SessionStart } from '../contract/index.ts'
import { AttributeList } from '../spans/attribute-list.ts'
import { type Belonging, belongingAttributes, type Complain, joined, readBelonging } from '../spans/belongings.ts'
import type { Draw } from '../spans/span-definition.ts'
import type { Guard } from './guard.ts'
import type { AnyFired } from './incoming.ts'
import type { Delegation, Session, Turn } from './turn.ts'

/** What is said of a turn once, and is on its spans from then on: who wrote, what it is about, what belongs to it. */
export class TurnFacts {
  readonly #draw: Draw
  readonly #complain: Complain

  constructor(draw: Draw, guard: Guard) {
    this.#draw = draw
    this.#complain = line => guard.tell(line)
  }

  /** Undefined when the record says nothing of it. */
  said({ payload }: AnyFired): Belonging | undefined {
    return readBelonging(payload, this.#draw, this.#complain)
  }

  join(before: Belonging | undefined, later: Belonging | undefined): Belonging | undefined {
    return joined(before, later, this.#complain)
  }

  /** With what a new turn begins: a child agent has what its parent has, and what was said when it was delegated to. */
  inherited(session: Session, delegation: Delegation | undefined): Belonging | undefined {
    if (delegation === undefined) return session.belonging
    return this.join(this.join(delegation.open.turn.belonging, delegation.belonging), session.belonging)
  }

  /** Of a delegation, for its own span. */
  attributesOf(belonging: Belonging | undefined): AttributeList {
    return belonging === undefined ? new AttributeList() : belongingAttributes(belonging, this.#draw)
  }

  /** A record says more of a turn that is open: for all that begins in it from now on, and for its root. */
  learn(turn: Turn, fired: AnyFired, said: Belonging | undefined): void {
    const remembered = rememberedAttributes(fired.payload as SessionStart, this.#draw)
    if (remembered.size === 0 && said === undefined) return
    turn.session.remembered.putAll(remembered)
    if (said !== undefined) turn.belonging = this.join(turn.belonging, said)
    // After the sender: a user that is named counts more.
    remembered.putAll(this.attributesOf(turn.belonging))
    turn.identity.putAll(remembered)
    turn.tell(remembered)
  }
}

function sessionAttributes(draw: Draw, sessionId: unknown): AttributeList {
  const { own, genAi } = draw.names
  const id = draw.capture.id(sessionId)
  return new AttributeList().set(own.sessionId, id).set(genAi.conversationId, id)
}

/**
 * The session that the trace belongs to, which is that of its outermost turn. Backends file a whole trace under the
 * `session.id` of whichever of its spans arrives first, and that of a child ends, and arrives, before its parent's.
 */
function traceSession(draw: Draw, session: Session, delegation: Delegation | undefined): SafeText | undefined {
  const outer = delegation?.open.turn.identity.get(draw.names.general.sessionId)
  return typeof outer === 'string' ? outer : draw.capture.id(session.id)
}

/** What every span of a turn carries, not only the root: backends group and filter by it. */
export function turnIdentity(
  draw: Draw,
  session: Session,
  turnId: string | undefined,
  belonging: Belonging | undefined,
  delegation?: Delegation,
): AttributeList {
  const identity = new AttributeList()
    .set(draw.names.general.sessionId, traceSession(draw, session, delegation))
    .addAll(sessionAttributes(draw, session.id))
    .addAll(session.remembered)
    .set(draw.names.own.turnId, draw.capture.id(turnId))
  return belonging === undefined ? identity : identity.putAll(belongingAttributes(belonging, draw))
}

/** A record of a session that the turn's own has rotated into: its span says the new id. */
export function rotatedIdentity(draw: Draw, turn: Turn, sessionId: string | undefined): AttributeList | undefined {
  return sessionId === undefined || sessionId === turn.session.id ? undefined : sessionAttributes(draw, sessionId)
}

function senderAttributes(payload: SessionStart, draw: Draw): AttributeList {
  const sender = draw.capture.senderId ? textOf(payload.sender_id) : undefined
  if (sender === undefined) return new AttributeList()
  const platform = textOf(payload.platform)
  return new AttributeList()
    .set(draw.names.own.senderId, draw.capture.id(sender))
    .set(draw.names.general.userId, draw.capture.id(platform === undefined ? sender : `${platform}:${sender}`))
}

/** Said once at a session's or a turn's start and true from then on: the sender, the correlation id. */
export function rememberedAttributes(payload: SessionStart, draw: Draw): AttributeList {
  const correlation = draw.capture.id(payload.correlation_id)
  return senderAttributes(payload, draw).set(draw.names.own.correlationId, correlation)
}
