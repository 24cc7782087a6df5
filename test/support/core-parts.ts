import { INVALID_SPAN_CONTEXT, trace } from '@opentelemetry/api'
import { literal } from '../../src/content/safe-text.ts'
import type { SpanKindName } from '../../src/contract/index.ts'
import { AttributeList } from '../../src/tracker/spans/attribute-list.ts'
import { HOOK_PLAN } from '../../src/tracker/spans/hook-plan.ts'
import { type TrackedSession, type TrackedSpan, TrackedTurn } from '../../src/tracker/turn.ts'
import { slot, TurnHistory } from '../../src/tracker/turn-history.ts'
import type { RecordIds } from '../../src/tracker/turn-registry.ts'

/** Parts of the core to try one of them alone; nothing of them is recorded. */
export function ids(named: Partial<RecordIds> = {}): RecordIds {
  return {
    host: 'hermes',
    sessionId: undefined,
    turnId: undefined,
    taskId: undefined,
    apiRequestId: undefined,
    toolCallId: undefined,
    ...named,
  }
}

export function openSpan(kind: SpanKindName, turn: TrackedTurn, more: Partial<TrackedSpan> = {}): TrackedSpan {
  return {
    kind,
    name: literal(kind),
    slot: slot(kind, '1'),
    definition: HOOK_PLAN.pre_tool_call.definition,
    span: trace.wrapSpanContext(INVALID_SPAN_CONTEXT),
    turn,
    startAt: 0,
    startIsExplicit: true,
    start: {},
    attempt: 0,
    context: undefined,
    ended: false,
    followedAt: undefined,
    streamEnd: undefined,
    transformable: undefined,
    activityAt: 0,
    seenAt: 0,
    ...more,
  }
}

/** A turn with a root, unless it is told to have none. */
export function turnOf(
  session: TrackedSession,
  turnId?: string,
  more: { isSide?: boolean; hasRoot?: boolean } = {},
): TrackedTurn {
  session.turnCount += 1
  const turn = new TrackedTurn({
    session,
    turnId,
    number: session.turnCount,
    isSide: more.isSide ?? false,
    identity: new AttributeList(),
    metadata: undefined,
    delegation: undefined,
    activityAt: 0,
    seenAt: 0,
    history: new TurnHistory(''),
  })
  if (more.hasRoot ?? true) turn.root = openSpan('session', turn)
  return turn
}
