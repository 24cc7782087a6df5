import { idOf } from '../contract/foreign.ts'
import type { AnyHookEvent } from './received-hook.ts'
import { ESCALATED, isGuarded } from './spans/approval.ts'
import { AttributeList } from './spans/attribute-list.ts'
import { blockOf, type KeptControlHook, type NewArguments, newArgumentsOf } from './spans/control-hook.ts'
import type { AttributeOptions } from './spans/span-definition.ts'
import { argumentAttributes } from './spans/tool.ts'
import { noteBlocked } from './spans/tool-outcome.ts'
import type { TrackedSpan, TrackedTurn } from './turn.ts'
import { slot } from './turn-history.ts'

/**
 * Handles the answer of a control hook. If it blocked a tool or changed its arguments, that tool's span gets the
 * attributes, even if the tool starts later.
 */
export function keepDecision(
  turn: TrackedTurn,
  { payload }: AnyHookEvent,
  start: unknown,
  attributeOptions: AttributeOptions,
): void {
  const begun = start as KeptControlHook | undefined
  const block = blockOf(payload, begun, attributeOptions)
  if (block !== undefined) {
    const place = slot('tool', block.call)
    turn.history.keepBlocker(place, block.by)
    const open = turn.find(place)
    if (open !== undefined) new AttributeList().set(attributeOptions.facts.toolBlockedBy, block.by).writeTo(open.span)
  }
  const rewritten = newArgumentsOf(payload, begun)
  if (rewritten !== undefined) keepArguments(turn, rewritten, attributeOptions)
}

function keepArguments(turn: TrackedTurn, { call, args }: NewArguments, attributeOptions: AttributeOptions): void {
  const place = slot('tool', call)
  const attributes = argumentAttributes(args, attributeOptions)
  const open = turn.find(place)
  if (open !== undefined) attributes.writeTo(open.span)
  else if (turn.history.ended(place) === undefined) turn.history.keepArguments(place, attributes)
}

export function decidedAttributes(
  turn: TrackedTurn,
  place: string,
  attributeOptions: AttributeOptions,
): AttributeList | undefined {
  const by = turn.history.blocker(place)
  const args = turn.history.removeArguments(place)
  if (by === undefined) return args
  return new AttributeList().set(attributeOptions.facts.toolBlockedBy, by).addAll(args)
}

/** Must be called before the host's end of a tool is processed. */
export function noteBlockedEnd({ kind, turn, slot }: TrackedSpan, event: AnyHookEvent): void {
  if (kind === 'tool' && turn.history.removeBlocker(slot) !== undefined) noteBlocked(event)
}

/** The approval of a tool call that a guardian model has not answered when the call ends: the guardian escalated it. */
export function unansweredGuardian(turn: TrackedTurn, { payload }: AnyHookEvent): TrackedSpan | undefined {
  const call = idOf(payload['tool_call_id'])
  const open = call === undefined ? undefined : turn.find(slot('approval', call))
  return open !== undefined && isGuarded(open) ? open : undefined
}

export function escalationAt(at: number): AnyHookEvent {
  return { hook: 'post_approval_response', at, payload: { choice: ESCALATED }, facts: {} }
}
