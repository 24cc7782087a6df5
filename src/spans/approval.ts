import { SpanKind } from '@opentelemetry/api'
import { elementsOf, idOf, textOf } from '../contract/foreign.ts'
import { type ApprovalRequest, type ApprovalResponse, GRANTING_CHOICES } from '../contract/index.ts'
import { LABEL, OPENINFERENCE_KIND } from '../semconv/index.ts'
import { AttributeList } from '../spans/attribute-list.ts'
import { literal } from './capture.ts'
import type { SpanDefinition } from './span-definition.ts'

const PATTERNS_LIMIT = 16
const NO_PATTERN = 'none'
const NO_CHOICE = 'unknown'

function choiceOf(payload: ApprovalResponse): string | undefined {
  return textOf(payload.choice)?.trim().toLowerCase()
}

/** A person (or a guardian model) is asked: the span is the waiting. A denial is a decision, never an error. */
export const approval: SpanDefinition<ApprovalRequest, ApprovalResponse> = {
  kind: 'approval',
  spanKind: SpanKind.INTERNAL,
  parents: ['api', 'llm'],
  key: payload => idOf(payload.tool_call_id) ?? `pattern ${textOf(payload.pattern_key) ?? ''}`,
  name(payload, draw) {
    const pattern = draw.capture.id(payload.pattern_key)
    const joint = draw.spanNames === 'semconv' ? ' ' : '.'
    return literal(pattern === undefined ? 'approval' : `approval${joint}${pattern}`)
  },
  start({ payload }, draw) {
    const { own, genAi, inference } = draw.names
    const { id, snippet } = draw.capture
    const patterns = elementsOf(payload.pattern_keys, PATTERNS_LIMIT)
      .map(id)
      .filter(key => key !== undefined)
    return new AttributeList()
      .set(inference.spanKind, literal(OPENINFERENCE_KIND.chain))
      .set(own.approvalPatternKey, id(payload.pattern_key))
      .set(own.approvalPatternKeys, patterns.length === 0 ? undefined : patterns)
      .set(own.approvalSurface, id(payload.surface))
      .set(own.approvalCommand, snippet(payload.command))
      .set(own.approvalDescription, snippet(payload.description))
      .set(genAi.toolCallId, id(payload.tool_call_id))
  },
  end(fired, draw, ended) {
    const { own } = draw.names
    const choice = choiceOf(fired.payload)
    return {
      attributes: new AttributeList()
        .set(own.approvalChoice, draw.capture.id(choice))
        .set(own.approvalGranted, GRANTING_CHOICES.has(choice ?? ''))
        .set(own.approvalTimedOut, choice === 'timeout')
        .set(own.approvalDecidedBy, draw.capture.id(fired.payload.decided_by))
        .set(own.approvalDurationMs, Math.max(0, fired.at - ended.startAt)),
    }
  },
  measure({ payload }, draw, ended) {
    const labels = {
      [LABEL.choice]: draw.capture.id(choiceOf(payload)) ?? NO_CHOICE,
      [LABEL.patternKey]: draw.capture.id(payload.pattern_key ?? ended.start?.pattern_key) ?? NO_PATTERN,
    }
    return [
      { instrument: 'approvalCount', value: 1, labels },
      ...(ended.durationMillis === undefined
        ? []
        : [{ instrument: 'approvalDuration' as const, value: ended.durationMillis, labels }]),
    ]
  },
}
