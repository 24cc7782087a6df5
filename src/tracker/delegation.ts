import { TraceFlags } from '@opentelemetry/api'
import { literal } from '../content/safe-text.ts'
import { idOf } from '../contract/foreign.ts'
import type { SubagentStart, SubagentStop } from '../contract/index.ts'
import { BoundedMap } from './bounded-map.ts'
import type { CoreOptions } from './options.ts'
import type { AttributeList } from './spans/attribute-list.ts'
import { type SamplingReason, samplingReason } from './spans/keep.ts'
import type { AttributeOptions } from './spans/span-definition.ts'
import type { CapturedMetadata } from './spans/turn-metadata.ts'
import { withChildren } from './spans/turn-totals.ts'
import type { TrackedDelegation, TrackedSpan, TrackedTurn } from './turn.ts'
import type { TurnRegistry } from './turn-registry.ts'

const DELEGATIONS_LIMIT = 10_000
const STOPPED_LIMIT = 2000

type ChildIds = Pick<SubagentStart & SubagentStop, 'child_session_id' | 'child_subagent_id'>

function sessionKey(host: string, id: string): string {
  return `${host}\u0000session\u0000${id}`
}

/** The keys of a child agent: a record may name either id, or both. */
function keysOf(host: string, ids: ChildIds): string[] {
  const session = idOf(ids.child_session_id)
  const subagent = idOf(ids.child_subagent_id)
  return [
    ...(session === undefined ? [] : [sessionKey(host, session)]),
    ...(subagent === undefined ? [] : [`${host}\u0000subagent\u0000${subagent}`]),
  ]
}

/** Maps child agents to delegations. Looks up by either id of the child, because a stop may carry only one. */
export class DelegationRegistry {
  readonly #delegations: BoundedMap<string, TrackedDelegation>
  readonly #stopped = new BoundedMap<string, true>(STOPPED_LIMIT)
  readonly #limitMillis: number

  /** A stopped delegation accepts records from before for `limitMillis`. `onEvict` ends the span of a dropped one. */
  constructor(limitMillis: number, onEvict: (delegation: TrackedDelegation) => void) {
    this.#limitMillis = limitMillis
    this.#delegations = new BoundedMap(DELEGATIONS_LIMIT, onEvict)
  }

  add(
    open: TrackedSpan,
    payload: SubagentStart,
    parentSessionId: string | undefined,
    metadata: CapturedMetadata | undefined,
  ): TrackedDelegation {
    const delegation: TrackedDelegation = {
      open,
      childSessionId: idOf(payload.child_session_id),
      keys: keysOf(open.turn.host, payload),
      role: payload.child_role,
      parentSessionId,
      metadata,
      stopped: false,
      stoppedAt: Number.POSITIVE_INFINITY,
      childTurns: new Set(),
      childSeen: false,
    }
    for (const key of delegation.keys) this.#delegations.set(key, delegation)
    return delegation
  }

  find(host: string, ids: ChildIds): TrackedDelegation | undefined {
    const known = keysOf(host, ids).find(key => this.#delegations.has(key))
    return known === undefined ? undefined : this.#delegations.get(known)
  }

  forChild(host: string, sessionId: string | undefined, at: number): TrackedDelegation | undefined {
    if (sessionId === undefined) return undefined
    const delegation = this.#delegations.get(sessionKey(host, sessionId))
    if (delegation === undefined || !(at - delegation.stoppedAt > this.#limitMillis)) return delegation
    this.forget(delegation)
    return undefined
  }

  /** Remembers a stop without a delegation: its repeat must not count again. */
  noteStopped(host: string, ids: ChildIds): void {
    for (const key of keysOf(host, ids)) this.#stopped.set(key, true)
  }

  wasStopped(host: string, ids: ChildIds): boolean {
    return keysOf(host, ids).some(key => this.#stopped.has(key))
  }

  of(open: TrackedSpan): TrackedDelegation | undefined {
    const delegation = this.find(open.turn.host, open.start as ChildIds)
    return delegation?.open === open ? delegation : undefined
  }

  stop(delegation: TrackedDelegation, at: number): void {
    delegation.stopped = true
    delegation.stoppedAt = at
    for (const key of delegation.keys) this.#stopped.set(key, true)
    this.#forgetWhenOver(delegation)
  }

  childStarted(delegation: TrackedDelegation, turn: TrackedTurn): void {
    delegation.childSeen = true
    delegation.childTurns.add(turn)
  }

  childEnded(delegation: TrackedDelegation, turn: TrackedTurn): void {
    delegation.childTurns.delete(turn)
    this.#forgetWhenOver(delegation)
  }

  /** Returns true if the span must stay open after its parent's turn ended: the child is running, or has not started. */
  outlivesTurn(open: TrackedSpan): boolean {
    const delegation = this.of(open)
    return delegation !== undefined && (!delegation.childSeen || delegation.childTurns.size > 0)
  }

  forget(delegation: TrackedDelegation): void {
    for (const key of delegation.keys) if (this.#delegations.get(key) === delegation) this.#delegations.delete(key)
  }

  /** The child's own turn still needs the entry, even if the stop arrived first. */
  #forgetWhenOver(delegation: TrackedDelegation): void {
    if (delegation.stopped && delegation.childSeen && delegation.childTurns.size === 0) this.forget(delegation)
  }
}

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
export function noteLateFailure(open: TrackedSpan, attributes: AttributeList, options: AttributeOptions): void {
  if (open.kind !== 'subagent' || !open.turn.hasEnded) return
  const above = openAbove(open.turn)
  if (above !== undefined) above.totals.signs.errors += 1
  else if (options.keep?.errors) attributes.set(options.facts.samplingReason, literal('error'))
}

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
    const atWork = children.filter(child => outermostOf(child) === turn).map(child => child.totals)
    const totals = withChildren(turn.totals, atWork)
    turn.earlySampling = samplingReason(keep, { traceId, totals, durationMillis, hasFailed: false })
    reasons.push(turn.earlySampling)
  }
  return reasons.find(reason => reason !== 'none') ?? reasons[0]
}

function outermostOf(turn: TrackedTurn): TrackedTurn {
  let outermost = turn
  while (outermost.delegation !== undefined) outermost = outermost.delegation.open.turn
  return outermost
}
