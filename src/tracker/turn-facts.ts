import type { SafeText } from '../content/capture.ts'
import { textOf } from '../contract/foreign.ts'
import type { SessionStart } from '../contract/index.ts'
import { nameOf } from '../contract/semconv/index.ts'
import type { Guard } from './guard.ts'
import { AttributeList } from './spans/attribute-list.ts'
import type { AnyHookEvent, AttributeOptions } from './spans/span-definition.ts'
import type { CapturedMetadata, WarnOnce } from './spans/turn-metadata.ts'
import { mergeMetadata, metadataAttributes, readMetadata, workspaceAttributes } from './spans/turn-metadata.ts'
import type { TrackedDelegation, TrackedSession, TrackedTurn } from './turn.ts'

/** Facts that a record states once and that every later span of the turn carries: sender, correlation id, turn metadata. */
export class TurnFacts {
  readonly #attributeOptions: AttributeOptions
  readonly #warnOnce: WarnOnce

  constructor(attributeOptions: AttributeOptions, guard: Guard) {
    this.#attributeOptions = attributeOptions
    this.#warnOnce = line => guard.warnOnce(line)
  }

  metadataOf({ payload }: AnyHookEvent): CapturedMetadata | undefined {
    return readMetadata(payload, this.#attributeOptions, this.#warnOnce)
  }

  mergeMetadata(
    before: CapturedMetadata | undefined,
    later: CapturedMetadata | undefined,
  ): CapturedMetadata | undefined {
    return mergeMetadata(before, later, this.#warnOnce)
  }

  inheritedMetadata(session: TrackedSession, delegation: TrackedDelegation | undefined): CapturedMetadata | undefined {
    if (delegation === undefined) return session.metadata
    return this.mergeMetadata(this.mergeMetadata(delegation.open.turn.metadata, delegation.metadata), session.metadata)
  }

  attributesOf(metadata: CapturedMetadata | undefined): AttributeList {
    return metadata === undefined ? new AttributeList() : metadataAttributes(metadata, this.#attributeOptions)
  }

  addFacts(turn: TrackedTurn, event: AnyHookEvent, reported: CapturedMetadata | undefined): void {
    const workspace = workspaceAttributes(event.payload, this.#attributeOptions)
    if (workspace.size > 0) turn.setRootAttributes(turn.session.workspace.putAll(workspace))
    const remembered = rememberedAttributes(event.payload as SessionStart, this.#attributeOptions)
    if (remembered.size === 0 && reported === undefined) return
    turn.session.remembered.putAll(remembered)
    if (reported !== undefined) turn.metadata = this.mergeMetadata(turn.metadata, reported)
    // After the sender: an explicit `user_id` wins.
    remembered.putAll(this.attributesOf(turn.metadata))
    turn.identity.putAll(remembered)
    turn.setRootAttributes(remembered)
  }
}

function sessionAttributes(attributeOptions: AttributeOptions, sessionId: unknown): AttributeList {
  const { facts } = attributeOptions
  const id = attributeOptions.capture.id(sessionId)
  return new AttributeList().set(facts.sessionId, id)
}

/**
 * The session that the trace belongs to, which is that of its outermost turn. Backends file a whole trace under the
 * `session.id` of whichever span arrives first. A child's span ends and arrives before its parent's.
 */
function traceSession(
  attributeOptions: AttributeOptions,
  session: TrackedSession,
  delegation: TrackedDelegation | undefined,
): SafeText | undefined {
  const outer = delegation?.open.turn.identity.get(nameOf(attributeOptions.facts.traceSession))
  return typeof outer === 'string' ? outer : attributeOptions.capture.id(session.id)
}

/** Attributes that every span of a turn carries, not only the root: backends group and filter by them. */
export function turnIdentity(
  attributeOptions: AttributeOptions,
  session: TrackedSession,
  turnId: string | undefined,
  metadata: CapturedMetadata | undefined,
  delegation?: TrackedDelegation,
): AttributeList {
  const identity = new AttributeList()
    .set(attributeOptions.facts.traceSession, traceSession(attributeOptions, session, delegation))
    .addAll(sessionAttributes(attributeOptions, session.id))
    .addAll(session.remembered)
    .set(attributeOptions.facts.turnId, attributeOptions.capture.id(turnId))
  return metadata === undefined ? identity : identity.putAll(metadataAttributes(metadata, attributeOptions))
}

/** The session attributes of a record whose session id was rotated during the turn: its span gets the new id. */
export function rotatedIdentity(
  attributeOptions: AttributeOptions,
  turn: TrackedTurn,
  sessionId: string | undefined,
): AttributeList | undefined {
  return sessionId === undefined || sessionId === turn.session.id
    ? undefined
    : sessionAttributes(attributeOptions, sessionId)
}

function senderAttributes(payload: SessionStart, attributeOptions: AttributeOptions): AttributeList {
  const sender = attributeOptions.capture.senderId ? textOf(payload.sender_id) : undefined
  if (sender === undefined) return new AttributeList()
  const platform = textOf(payload.platform)
  return new AttributeList()
    .set(attributeOptions.facts.senderId, attributeOptions.capture.id(sender))
    .set(
      attributeOptions.facts.userId,
      attributeOptions.capture.id(platform === undefined ? sender : `${platform}:${sender}`),
    )
}

export function rememberedAttributes(payload: SessionStart, attributeOptions: AttributeOptions): AttributeList {
  const correlation = attributeOptions.capture.id(payload.correlation_id)
  return senderAttributes(payload, attributeOptions).set(attributeOptions.facts.correlationId, correlation)
}
