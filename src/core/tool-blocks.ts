import { AttributeList } from '../spans/attribute-list.ts'
import { blockOf, type KeptControlHook } from '../spans/control-hook.ts'
import type { Draw } from '../spans/span-definition.ts'
import { noteBlocked } from '../spans/tool.ts'
import type { AnyFired } from './incoming.ts'
import type { OpenSpan, Turn } from './turn.ts'
import { slot } from './turn-memory.ts'

/** A control hook has answered. Where it kept a tool from running, that tool says so, whether it has been told of or not. */
export function keepBlock(turn: Turn, { payload }: AnyFired, start: unknown, draw: Draw): void {
  const block = blockOf(payload, start as KeptControlHook | undefined, draw)
  if (block === undefined) return
  const place = slot('tool', block.call)
  turn.memory.keepBlocker(place, block.by)
  const open = turn.find(place)
  if (open !== undefined) new AttributeList().set(draw.names.own.toolBlockedBy, block.by).writeTo(open.span)
}

/** What a tool that starts now has of a control hook that was told before it. */
export function blockAttribute(turn: Turn, place: string, draw: Draw): AttributeList | undefined {
  const by = turn.memory.blocker(place)
  return by === undefined ? undefined : new AttributeList().set(draw.names.own.toolBlockedBy, by)
}

/** Before a tool is ended by its host. */
export function noteBlockedEnd({ kind, turn, slot }: OpenSpan, fired: AnyFired): void {
  if (kind === 'tool' && turn.memory.takeBlocker(slot) !== undefined) noteBlocked(fired)
}
