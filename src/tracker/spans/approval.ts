import { SpanKind } from '@opentelemetry/api'
import { literal, phrase } from '../../content/safe-text.ts'
import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import type { ApprovalRequest, ApprovalResponse, HumanInputRequest, HumanInputResolved } from '../../contract/index.ts'
import { GRANTING_CHOICES } from '../../contract/index.ts'
import { LABEL, OPENINFERENCE_KIND } from '../../contract/semconv/index.ts'
import { AttributeList } from './attribute-list.ts'
import type { SpanDefinition } from './span-definition.ts'

const PATTERNS_LIMIT = 16
const NO_PATTERN = 'none'
const NO_CHOICE = 'unknown'

/** Surface of a guardian model, which decides before the user is asked, and its choice to pass the question on to the user. */
const GUARDIAN = 'smart'
export const ESCALATED = 'escalated'
const APPROVAL = 'approval'

type Question = ApprovalRequest & HumanInputRequest
type Answer = ApprovalResponse & HumanInputResolved

function choiceOf(payload: Answer): string | undefined {
  return textOf(payload.choice ?? payload.outcome)
    ?.trim()
    .toLowerCase()
}

function patternOf(payload: Question): string | undefined {
  return textOf(payload.pattern_key) ?? textOf(payload.kind)
}

/** Returns true for a question other than an approval. It is answered, not granted. */
function isQuestion(payload: Question): boolean {
  const kind = textOf(payload.kind)
  return kind !== undefined && kind !== APPROVAL
}

export function isDenied(payload: Answer, start: unknown): boolean {
  const choice = choiceOf(payload)
  const isOpen = choice === ESCALATED || isQuestion(payload) || isQuestion((start ?? {}) as Question)
  return !isOpen && !GRANTING_CHOICES.has(choice ?? '')
}

export function isGuarded({ kind, start }: { readonly kind: string; readonly start: unknown }): boolean {
  return kind === 'approval' && peek(start, 'surface') === GUARDIAN
}

/** Returns true if a request asks the user the question that a guardian had before, under the same key. */
export function isEscalation(open: Parameters<typeof isGuarded>[0], next: unknown): boolean {
  return isGuarded(open) && peek(next, 'surface') !== GUARDIAN
}

/** A question to the user or to a guardian model; its duration is the wait. A denial is a decision, never an error. */
export const approval: SpanDefinition<Question, Answer> = {
  kind: 'approval',
  spanKind: SpanKind.INTERNAL,
  parents: ['api', 'llm'],
  key(payload) {
    const request = idOf(payload.request_id)
    if (request !== undefined) return `question ${request}`
    return idOf(payload.tool_call_id) ?? `pattern ${textOf(payload.pattern_key) ?? ''}`
  },
  name(payload, options) {
    const pattern = options.capture.id(patternOf(payload))
    const word = literal(isQuestion(payload) ? 'question' : APPROVAL)
    if (pattern === undefined || pattern === word) return word
    return options.spanNames === 'semconv' ? phrase`${word} ${pattern}` : phrase`${word}.${pattern}`
  },
  start({ payload }, { facts, capture: { id, snippet } }) {
    const patterns = elementsOf(payload.pattern_keys, PATTERNS_LIMIT)
      .map(id)
      .filter(key => key !== undefined)
    return new AttributeList()
      .set(facts.inferenceKind, literal(OPENINFERENCE_KIND.chain))
      .set(facts.approvalPatternKey, id(patternOf(payload)))
      .set(facts.approvalPatternKeys, patterns.length === 0 ? undefined : patterns)
      .set(facts.approvalSurface, id(payload.surface ?? payload.platform))
      .set(facts.approvalCommand, snippet(payload.command))
      .set(facts.approvalDescription, snippet(payload.description ?? payload.prompt))
      .set(facts.callId, id(payload.tool_call_id))
  },
  end({ at, payload }, { facts, capture: { id } }, { startAt }) {
    const choice = choiceOf(payload)
    const isOpen = choice === ESCALATED || isQuestion(payload)
    return {
      attributes: new AttributeList()
        .set(facts.approvalChoice, id(choice))
        .set(facts.approvalGranted, isOpen ? undefined : GRANTING_CHOICES.has(choice ?? ''))
        .set(facts.approvalTimedOut, choice === 'timeout')
        .set(facts.approvalDecidedBy, id(payload.decided_by))
        .set(facts.approvalDurationMs, Math.max(0, at - startAt)),
    }
  },
  logEvent({ payload }, { facts, capture: { id } }, { start }) {
    const choice = choiceOf(payload)
    const isOpen = choice === ESCALATED || choice === undefined || isQuestion(payload) || isQuestion(start ?? {})
    if (isOpen || GRANTING_CHOICES.has(choice)) return undefined
    return {
      event: choice === 'timeout' ? 'approvalTimedOut' : 'approvalDenied',
      attributes: new AttributeList()
        .set(facts.approvalPatternKey, id(patternOf(payload) ?? patternOf(start ?? {})))
        .set(facts.approvalChoice, id(choice))
        .set(facts.approvalDecidedBy, id(payload.decided_by))
        .set(facts.callId, id(payload.tool_call_id)),
    }
  },
  measure({ payload }, options, ended) {
    const labels = {
      [LABEL.choice]: options.capture.id(choiceOf(payload)) ?? NO_CHOICE,
      [LABEL.patternKey]: options.capture.id(patternOf(payload) ?? patternOf(ended.start ?? {})) ?? NO_PATTERN,
    }
    return [
      { instrument: 'approvalCount', value: 1, labels },
      { instrument: 'approvalDuration', value: ended.durationMillis, labels },
    ]
  },
}
