import type { SessionStart } from '../contract/index.ts'
import { AttributeList } from '../spans/attribute-list.ts'
import { type Belonging, belongingAttributes, type Complain, joined, readBelonging } from '../spans/belongings.ts'
import type { Draw } from '../spans/span-definition.ts'
import type { Guard } from './guard.ts'
import type { Incoming } from './incoming.ts'
import type { SpanTracker } from './span-tracker.ts'
import type { Delegation, Session, Turn } from './turn.ts'
import { rememberedAttributes } from './turn-identity.ts'

/** What is said of a turn once, and is on its spans from then on: who wrote, what it is about, what belongs to it. */
export class TurnFacts {
  readonly #draw: Draw
  readonly #tracker: SpanTracker
  readonly #complain: Complain

  constructor(draw: Draw, tracker: SpanTracker, guard: Guard) {
    this.#draw = draw
    this.#tracker = tracker
    this.#complain = line => guard.tell(line)
  }

  /** Undefined when the record says nothing of it. */
  said({ fired }: Pick<Incoming, 'fired'>): Belonging | undefined {
    return readBelonging(fired.payload, this.#draw, this.#complain)
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
  learn(turn: Turn, { fired }: Pick<Incoming, 'fired'>, said: Belonging | undefined): void {
    const remembered = rememberedAttributes(fired.payload as SessionStart, this.#draw)
    if (remembered.size === 0 && said === undefined) return
    turn.session.remembered.putAll(remembered)
    if (said !== undefined) turn.belonging = this.join(turn.belonging, said)
    // After the sender: a user that is named counts more.
    remembered.putAll(this.attributesOf(turn.belonging))
    turn.identity.putAll(remembered)
    if (turn.root !== undefined) this.#tracker.setAttributes(turn.root, remembered)
  }
}
