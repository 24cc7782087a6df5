import { textOf } from '../contract/foreign.ts'
import type { SessionStart } from '../contract/index.ts'
import { nameOf } from '../contract/semconv/index.ts'
import { AttributeList } from './spans/attribute-list.ts'
import type { AttributeOptions } from './spans/span-definition.ts'
import type { CapturedMetadata } from './spans/turn-metadata.ts'
import { mergeMetadata, metadataAttributes, workspaceAttributes } from './spans/turn-metadata.ts'
import type { TrackedDelegation, TrackedSession, TrackedTurn } from './turn.ts'

/** Facts that a record states once and that every later span of the turn carries: sender, correlation id, turn metadata. */
export function addFacts(
  turn: TrackedTurn,
  payload: SessionStart,
  options: AttributeOptions,
  reported?: CapturedMetadata,
): void {
  const workspace = workspaceAttributes(payload, options)
  if (workspace.size > 0) turn.setRootAttributes(turn.session.workspace.putAll(workspace))
  const remembered = rememberedAttributes(payload, options)
  if (remembered.size === 0 && reported === undefined) return
  turn.session.remembered.putAll(remembered)
  if (reported !== undefined) turn.metadata = mergeMetadata(turn.metadata, reported, options)
  // After the sender: an explicit `user_id` wins.
  if (turn.metadata !== undefined) remembered.putAll(metadataAttributes(turn.metadata, options))
  turn.identity.putAll(remembered)
  turn.setRootAttributes(remembered)
}

export function inheritedMetadata(
  session: TrackedSession,
  delegation: TrackedDelegation | undefined,
  options: AttributeOptions,
): CapturedMetadata | undefined {
  if (delegation === undefined) return session.metadata
  const above = mergeMetadata(delegation.open.turn.metadata, delegation.metadata, options)
  return mergeMetadata(above, session.metadata, options)
}

/**
 * Attributes that every span of a turn carries, not only the root: backends group and filter by them. The session that the
 * trace belongs to is that of its outermost turn. Backends file a whole trace under the `session.id` of whichever span arrives
 * first. A child's span ends and arrives before its parent's.
 */
export function turnIdentity(
  options: AttributeOptions,
  session: TrackedSession,
  turnId: string | undefined,
  metadata: CapturedMetadata | undefined,
  delegation?: TrackedDelegation,
): AttributeList {
  const { facts, capture } = options
  const outer = delegation?.open.turn.identity.get(nameOf(facts.traceSession))
  const id = capture.id(session.id)
  const identity = new AttributeList()
    .set(facts.traceSession, outer ?? id)
    .set(facts.sessionId, id)
    .addAll(session.remembered)
    .set(facts.turnId, capture.id(turnId))
  return metadata === undefined ? identity : identity.putAll(metadataAttributes(metadata, options))
}

/** The session attributes of a record whose session id was rotated during the turn: its span gets the new id. */
export function rotatedIdentity(options: AttributeOptions, turn: TrackedTurn, id?: string): AttributeList | undefined {
  if (id === undefined || id === turn.session.id) return undefined
  return new AttributeList().set(options.facts.sessionId, options.capture.id(id))
}

export function rememberedAttributes(payload: SessionStart, { facts, capture }: AttributeOptions): AttributeList {
  const sender = capture.senderId ? textOf(payload.sender_id) : undefined
  const platform = sender === undefined ? undefined : textOf(payload.platform)
  return new AttributeList()
    .set(facts.senderId, capture.id(sender))
    .set(facts.userId, capture.id(platform === undefined ? sender : `${platform}:${sender}`))
    .set(facts.correlationId, capture.id(payload.correlation_id))
}
