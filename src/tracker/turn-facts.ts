import type { SafeText } from '../content/capture.ts'
import { textOf } from '../contract/foreign.ts'
import type { SessionStart } from '../contract/index.ts'
import type { Guard } from './guard.ts'
import type { AnyHookEvent } from './incoming.ts'
import { AttributeList } from './spans/attribute-list.ts'
import { type Belonging, belongingAttributes, type Complain, joined, readBelonging } from './spans/belongings.ts'
import type { AttributeOptions } from './spans/span-definition.ts'
import type { Delegation, Session, Turn } from './turn.ts'

/** Facts that a record states once and that every later span of the turn carries: sender, correlation id, turn metadata. */
export class TurnFacts {
  readonly #draw: AttributeOptions
  readonly #complain: Complain

  constructor(draw: AttributeOptions, guard: Guard) {
    this.#draw = draw
    this.#complain = line => guard.tell(line)
  }

  /** The turn metadata of a record. Undefined if it has none. */
  said({ payload }: AnyHookEvent): Belonging | undefined {
    return readBelonging(payload, this.#draw, this.#complain)
  }

  join(before: Belonging | undefined, later: Belonging | undefined): Belonging | undefined {
    return joined(before, later, this.#complain)
  }

  /** The metadata of a new turn. A child agent has its parent's and that of its delegation. */
  inherited(session: Session, delegation: Delegation | undefined): Belonging | undefined {
    if (delegation === undefined) return session.belonging
    return this.join(this.join(delegation.open.turn.belonging, delegation.belonging), session.belonging)
  }

  attributesOf(belonging: Belonging | undefined): AttributeList {
    return belonging === undefined ? new AttributeList() : belongingAttributes(belonging, this.#draw)
  }

  /** Adds facts to an open turn: to its root, and to every span that starts from now on. */
  learn(turn: Turn, fired: AnyHookEvent, said: Belonging | undefined): void {
    const remembered = rememberedAttributes(fired.payload as SessionStart, this.#draw)
    if (remembered.size === 0 && said === undefined) return
    turn.session.remembered.putAll(remembered)
    if (said !== undefined) turn.belonging = this.join(turn.belonging, said)
    // After the sender: an explicit `user_id` wins.
    remembered.putAll(this.attributesOf(turn.belonging))
    turn.identity.putAll(remembered)
    turn.tell(remembered)
  }
}

function sessionAttributes(draw: AttributeOptions, sessionId: unknown): AttributeList {
  const { own, genAi } = draw.names
  const id = draw.capture.id(sessionId)
  return new AttributeList().set(own.sessionId, id).set(genAi.conversationId, id)
}

/**
 * The session that the trace belongs to, which is that of its outermost turn. Backends file a whole trace under the
 * `session.id` of whichever span arrives first. A child's span ends and arrives before its parent's.
 */
function traceSession(
  draw: AttributeOptions,
  session: Session,
  delegation: Delegation | undefined,
): SafeText | undefined {
  const outer = delegation?.open.turn.identity.get(draw.names.general.sessionId)
  return typeof outer === 'string' ? outer : draw.capture.id(session.id)
}

/** Attributes that every span of a turn carries, not only the root: backends group and filter by them. */
export function turnIdentity(
  draw: AttributeOptions,
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

/** The session attributes of a record whose session id was rotated during the turn: its span gets the new id. */
export function rotatedIdentity(
  draw: AttributeOptions,
  turn: Turn,
  sessionId: string | undefined,
): AttributeList | undefined {
  return sessionId === undefined || sessionId === turn.session.id ? undefined : sessionAttributes(draw, sessionId)
}

function senderAttributes(payload: SessionStart, draw: AttributeOptions): AttributeList {
  const sender = draw.capture.senderId ? textOf(payload.sender_id) : undefined
  if (sender === undefined) return new AttributeList()
  const platform = textOf(payload.platform)
  return new AttributeList()
    .set(draw.names.own.senderId, draw.capture.id(sender))
    .set(draw.names.general.userId, draw.capture.id(platform === undefined ? sender : `${platform}:${sender}`))
}

/** Attributes from the start of a session or turn that stay valid from then on: the sender and the correlation id. */
export function rememberedAttributes(payload: SessionStart, draw: AttributeOptions): AttributeList {
  const correlation = draw.capture.id(payload.correlation_id)
  return senderAttributes(payload, draw).set(draw.names.own.correlationId, correlation)
}
