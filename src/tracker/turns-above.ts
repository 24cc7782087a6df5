/** Relations between child turns and the turns above them. */

import { TraceFlags } from '@opentelemetry/api'
import { literal } from '../content/capture.ts'
import type { CoreOptions } from './options.ts'
import type { AttributeList } from './spans/attribute-list.ts'
import { type SamplingReason, samplingReason } from './spans/keep.ts'
import type { AttributeOptions } from './spans/span-definition.ts'
import { withChildren } from './spans/turn-totals.ts'
import type { TrackedSpan, TrackedTurn } from './turn.ts'
import type { TurnRegistry } from './turn-registry.ts'

/** The nearest turn above this one that is still open. */
export function openAbove({ delegation }: TrackedTurn): TrackedTurn | undefined {
  let parent = delegation?.open.turn
  while (parent?.hasEnded) parent = parent.delegation?.open.turn
  return parent
}

/** The trace that a turn decides about in sampling. The parent decides for a child, unless the parent has ended. */
export function traceOf(turn: TrackedTurn): string | undefined {
  const context = openAbove(turn) === undefined ? turn.root?.span.spanContext() : undefined
  return context && (context.traceFlags & TraceFlags.SAMPLED) !== 0 ? context.traceId : undefined
}

/**
 * Notes a delegation that fails after its turn was sampled. If a turn above is open, it counts the error. Otherwise the
 * delegation's own span carries the sampling reason.
 */
export function noteLateFailure(
  { kind, turn }: TrackedSpan,
  attributes: AttributeList,
  { keep, names }: AttributeOptions,
): void {
  if (kind !== 'subagent' || !turn.hasEnded) return
  const above = openAbove(turn)
  if (above !== undefined) above.totals.signs.errors += 1
  else if (keep?.errors) attributes.set(names.own.samplingReason, literal('error'))
}

/** See `Core.judgeEarly`. */
export function sampleEarly(
  registry: TurnRegistry,
  traceId: string,
  { attributeOptions, now }: Pick<CoreOptions, 'attributeOptions' | 'now'>,
): SamplingReason | undefined {
  const { keep } = attributeOptions
  if (keep === undefined) return undefined
  const reasons: SamplingReason[] = []
  const children = [...registry.openTurns()].filter(({ delegation }) => delegation !== undefined)
  for (const turn of registry.openTurns()) {
    if (turn.root === undefined || turn.delegation !== undefined || traceOf(turn) !== traceId) continue
    const durationMillis = now() - turn.root.startAt
    const atWork = children.filter(child => outermostOf(child) === turn)
    const totals = withChildren(
      turn.totals,
      atWork.map(child => child.totals),
    )
    turn.earlySampling = samplingReason(keep, { traceId, totals, durationMillis, hasFailed: false })
    reasons.push(turn.earlySampling)
  }
  return reasons.find(reason => reason !== 'none') ?? reasons[0]
}

/** The outermost turn, open or not, that this one is part of. */
function outermostOf(turn: TrackedTurn): TrackedTurn {
  let outermost = turn
  while (outermost.delegation !== undefined) outermost = outermost.delegation.open.turn
  return outermost
}
