import { SpanKind } from '@opentelemetry/api'
import { literal, phrase, type SafeText } from '../../content/safe-text.ts'
import { elementsOf, idOf, numberOf, peek, positive, wholeOf } from '../../contract/foreign.ts'
import type { ControlHookEnd, ControlHookStart } from '../../contract/index.ts'
import { CONTROL_ACTIONS, CONTROL_FAILURES, CONTROL_PHASES, CONTROL_VERDICTS } from '../../contract/index.ts'
import { LABEL, OPENINFERENCE_KIND } from '../../contract/semconv/index.ts'
import { AttributeList } from './attribute-list.ts'
import { OTHER_ERROR } from './error-facts.ts'
import type { AttributeOptions, HookEvent, MetricPoint, SpanDefinition, SpanError } from './span-definition.ts'

type KeptControlHook = Pick<ControlHookStart, 'hook_name' | 'hook_phase' | 'tool_call_id'>

const UNNAMED = 'unknown'
const FIELDS_LIMIT = 32

type ControlWord = NonNullable<ControlHookEnd['hook_phase' | 'verdict' | 'action' | 'failure']>

/** Returns a word only if it is in the vocabulary, so that attributes and labels have no other values. */
function wordOf(words: readonly ControlWord[], value: unknown, { capture }: AttributeOptions): SafeText | undefined {
  return words.includes(value as ControlWord) ? capture.id(value) : undefined
}

function millisOf({ duration_ms }: ControlHookEnd): number | undefined {
  const reported = numberOf(duration_ms)
  return reported !== undefined && reported >= 0 ? reported : undefined
}

/** @param start the kept start of a run whose end has no name */
function guardName({ hook_name }: ControlHookStart, options: AttributeOptions, start?: KeptControlHook): SafeText {
  return options.capture.id(hook_name === undefined ? start?.hook_name : hook_name) ?? literal(UNNAMED)
}

/** The decision of a guard about a tool call: it blocked the call, or replaced its arguments. */
interface ToolDecision {
  readonly call: string
  readonly blockedBy: SafeText | undefined
  readonly args: unknown
}

export function toolDecision(end: ControlHookEnd, start: unknown, options: AttributeOptions): ToolDecision | undefined {
  const reported = (name: keyof KeptControlHook): unknown => peek(end, name) ?? peek(start, name)
  const call = idOf(reported('tool_call_id'))
  if (call === undefined) return undefined
  const action = peek(end, 'action')
  if (action === 'blocked' && reported('hook_phase') === 'before_tool')
    return { call, blockedBy: options.capture.id(reported('hook_name')) ?? literal(UNNAMED), args: undefined }
  const args = action === 'rewritten' ? peek(end, 'rewritten_args') : undefined
  return args == null ? undefined : { call, blockedBy: undefined, args }
}

/** Returns true for hooks before a turn, which may be its first record. Other phases happen in a turn that is already open. */
export function opensTurn(payload: ControlHookStart): boolean {
  return peek(payload, 'hook_phase') === 'before_turn'
}

/** The error of a run that failed. A block is the purpose of a guard and not an error. */
function errorOf({ payload }: HookEvent<ControlHookEnd>, options: AttributeOptions): SpanError | undefined {
  if (payload.verdict !== 'failed') return undefined
  return {
    type: wordOf(CONTROL_FAILURES, payload.failure, options) ?? literal(OTHER_ERROR),
    message: options.capture.errorText(payload.failure_message),
  }
}

function isSum({ count }: ControlHookEnd): boolean {
  return positive(count) !== undefined
}

export const controlHook: SpanDefinition<ControlHookStart, ControlHookEnd, KeptControlHook> = {
  kind: 'hook',
  spanKind: SpanKind.INTERNAL,
  parents: ['api', 'llm'],
  key: payload => (isSum(payload) ? undefined : idOf(payload.hook_run_id)),
  name(payload, options) {
    const name = guardName(payload, options)
    return options.spanNames === 'semconv' ? phrase`hook ${name}` : phrase`hook.${name}`
  },
  start({ payload }, options) {
    const { facts } = options
    const kind = payload.hook_judges === true ? OPENINFERENCE_KIND.guardrail : OPENINFERENCE_KIND.chain
    return new AttributeList()
      .set(facts.inferenceKind, literal(kind))
      .set(facts.hookName, guardName(payload, options))
      .set(facts.hookPhase, wordOf(CONTROL_PHASES, payload.hook_phase, options))
      .set(facts.hookPriority, wholeOf(payload.hook_priority))
      .set(facts.callId, options.capture.id(payload.tool_call_id))
  },
  end(event, options) {
    const { facts } = options
    const { id, snippet } = options.capture
    const { payload } = event
    const fields = elementsOf(payload.rewritten_fields, FIELDS_LIMIT)
      .map(id)
      .filter(name => name !== undefined)
    const error = errorOf(event, options)
    return {
      attributes: new AttributeList()
        .set(facts.hookVerdict, wordOf(CONTROL_VERDICTS, payload.verdict, options))
        .set(facts.hookAction, wordOf(CONTROL_ACTIONS, payload.action, options))
        .set(facts.hookReason, snippet(payload.reason))
        .set(facts.hookDetail, snippet(payload.detail))
        .set(facts.hookRewrittenFields, fields.length === 0 ? undefined : fields)
        .set(facts.hookFailure, wordOf(CONTROL_FAILURES, payload.failure, options))
        .set(facts.hookDurationMs, millisOf(payload))
        .set(facts.errorMessage, error?.message),
      error,
    }
  },
  measure({ payload }, options, { start, durationMillis }) {
    const labels = {
      [LABEL.hookName]: guardName(payload, options, start),
      [LABEL.phase]: wordOf(CONTROL_PHASES, payload.hook_phase ?? start?.hook_phase, options) ?? UNNAMED,
    }
    const verdict = wordOf(CONTROL_VERDICTS, payload.verdict, options) ?? UNNAMED
    const failure = payload.verdict === 'failed' ? wordOf(CONTROL_FAILURES, payload.failure, options) : undefined
    const runs: MetricPoint = {
      instrument: 'hookRuns',
      value: positive(payload.count) ?? 1,
      labels: { ...labels, [LABEL.verdict]: verdict, ...(failure === undefined ? {} : { [LABEL.failure]: failure }) },
    }
    const value = isSum(payload) ? undefined : (millisOf(payload) ?? durationMillis)
    return [runs, { instrument: 'hookDuration', value, labels }]
  },
  logEvent({ payload }, options, { start }) {
    if (payload.action !== 'blocked') return undefined
    const { facts } = options
    const { id, snippet } = options.capture
    return {
      event: 'hookBlocked',
      attributes: new AttributeList()
        .set(facts.hookName, guardName(payload, options, start))
        .set(facts.hookPhase, wordOf(CONTROL_PHASES, payload.hook_phase ?? start?.hook_phase, options))
        .set(facts.hookReason, snippet(payload.reason))
        .set(facts.callId, id(payload.tool_call_id ?? start?.tool_call_id)),
    }
  },
}
