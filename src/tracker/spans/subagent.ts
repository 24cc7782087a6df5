import { SpanKind } from '@opentelemetry/api'
import { literal, phrase } from '../../content/safe-text.ts'
import { idOf, numberOf, textOf } from '../../contract/foreign.ts'
import { FAILED_SUBAGENT_STATUSES, type SubagentStart, type SubagentStop } from '../../contract/index.ts'
import { LABEL, OPENINFERENCE_KIND, OPERATION } from '../../contract/semconv/index.ts'
import { AttributeList } from './attribute-list.ts'
import type { SpanDefinition } from './span-definition.ts'

const NO_ROLE = 'none'

function statusOf(payload: SubagentStop): string | undefined {
  return textOf(payload.child_status) ?? textOf(payload.status)
}

export function isFailedStop(payload: SubagentStop): boolean {
  return FAILED_SUBAGENT_STATUSES.has(statusOf(payload)?.trim().toLowerCase() ?? '')
}

/** A delegation from the parent's side; the child's own turn nests below it. It may outlive the parent's turn. */
export const subagent: SpanDefinition<SubagentStart, SubagentStop> = {
  kind: 'subagent',
  spanKind: SpanKind.INTERNAL,
  parents: ['api', 'llm'],
  key: payload => idOf(payload.child_session_id) ?? idOf(payload.child_subagent_id),
  name(payload, options) {
    const role = options.capture.id(payload.child_role)
    if (role === undefined) return literal(options.spanNames === 'semconv' ? 'invoke_agent' : 'subagent')
    return options.spanNames === 'semconv' ? phrase`invoke_agent ${role}` : phrase`subagent.${role}`
  },
  start({ payload }, { facts, capture: { id, content, snippet } }) {
    const role = id(payload.child_role)
    const goal = content(payload.child_goal, 'llm_input')
    return new AttributeList()
      .set(facts.inferenceKind, literal(OPENINFERENCE_KIND.agent))
      .set(facts.operationName, literal(OPERATION.invokeAgent))
      .set(facts.agentName, role)
      .set(facts.subagentRole, role)
      .set(facts.subagentChildSessionId, id(payload.child_session_id))
      .set(facts.subagentParentSessionId, id(payload.parent_session_id))
      .set(facts.subagentParentTurnId, id(payload.parent_turn_id))
      .set(facts.subagentChildId, id(payload.child_subagent_id))
      .set(facts.subagentParentId, id(payload.parent_subagent_id))
      .set(facts.subagentGoal, snippet(payload.child_goal))
      .setContent(facts.input, facts.inputType, facts.contentTruncated, goal)
  },
  end({ payload }, { facts, capture: { id, content, snippet, errorText } }) {
    const status = id(statusOf(payload))
    const summary = content(payload.child_summary, 'llm_output')
    return {
      attributes: new AttributeList()
        .set(facts.subagentStatus, status)
        .set(facts.subagentDurationMs, numberOf(payload.duration_ms))
        .set(facts.subagentSummary, snippet(payload.child_summary))
        .setContent(facts.output, facts.outputType, facts.contentTruncated, summary),
      error:
        isFailedStop(payload) && status !== undefined
          ? { type: status, message: errorText(payload.child_summary) ?? status }
          : undefined,
    }
  },
  measure({ payload }, options, ended) {
    const role = options.capture.id(payload.child_role) ?? options.capture.id(ended.start?.child_role) ?? NO_ROLE
    const durationMillis = numberOf(payload.duration_ms) ?? ended.durationMillis
    const labels = { [LABEL.role]: role, [LABEL.status]: isFailedStop(payload) ? 'error' : 'ok' }
    return [
      { instrument: 'subagentCount', value: 1, labels },
      { instrument: 'subagentDuration', value: durationMillis, labels: { [LABEL.role]: role } },
    ]
  },
}
