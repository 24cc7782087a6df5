import { SpanKind } from '@opentelemetry/api'
import { literal, phrase, type SafeText } from '../../content/capture.ts'
import { elementsOf, idOf, numberOf, peek, positive, wholeOf } from '../../contract/foreign.ts'
import {
  CONTROL_ACTIONS,
  CONTROL_FAILURES,
  CONTROL_PHASES,
  CONTROL_VERDICTS,
  type ControlHookEnd,
  type ControlHookStart,
} from '../../contract/index.ts'
import { LABEL, OPENINFERENCE_KIND } from '../../contract/semconv/index.ts'
import { AttributeList } from './attribute-list.ts'
import { OTHER_ERROR } from './error-facts.ts'
import type {
  AttributeOptions,
  EndedSpan,
  HookEvent,
  MetricPoint,
  SpanDefinition,
  SpanError,
} from './span-definition.ts'

/** The fields kept from the start of a run. */
export type KeptControlHook = Pick<ControlHookStart, 'hook_name' | 'hook_phase' | 'tool_call_id'>

const UNNAMED = 'unknown'
const FAILED = 'failed'
const FIELDS_LIMIT = 32

/** Returns a word only if it is in the vocabulary, so that attributes and labels have no other values. */
function wordOf(words: ReadonlySet<string>, value: unknown, { capture }: AttributeOptions): SafeText | undefined {
  return typeof value === 'string' && words.has(value) ? capture.id(value) : undefined
}

function millisOf({ duration_ms }: ControlHookEnd): number | undefined {
  const said = numberOf(duration_ms)
  return said !== undefined && said >= 0 ? said : undefined
}

function controlHookName({ hook_name }: ControlHookStart, draw: AttributeOptions): SafeText {
  return draw.capture.id(hook_name) ?? literal(UNNAMED)
}

export interface Block {
  /** The id of the blocked tool call. */
  readonly call: string
  /** Name of the control hook. */
  readonly by: SafeText
}

export function blockOf(
  end: ControlHookEnd,
  start: KeptControlHook | undefined,
  draw: AttributeOptions,
): Block | undefined {
  const said = (name: keyof KeptControlHook): unknown => peek(end, name) ?? peek(start, name)
  const call = idOf(said('tool_call_id'))
  if (call === undefined || peek(end, 'action') !== 'blocked' || said('hook_phase') !== 'before_tool') return undefined
  return { call, by: draw.capture.id(said('hook_name')) ?? literal(UNNAMED) }
}

export interface NewArguments {
  /** The id of the tool call that runs with the arguments. */
  readonly call: string
  readonly args: unknown
}

export function newArgumentsOf(end: ControlHookEnd, start: KeptControlHook | undefined): NewArguments | undefined {
  const call = idOf(peek(end, 'tool_call_id') ?? peek(start, 'tool_call_id'))
  const args = peek(end, 'rewritten_args')
  return call === undefined || args == null || peek(end, 'action') !== 'rewritten' ? undefined : { call, args }
}

/** Returns true for hooks before a turn, which may be its first record. Other phases happen in a turn that is already open. */
export function opensTurn(payload: ControlHookStart): boolean {
  return peek(payload, 'hook_phase') === 'before_turn'
}

function isFailed({ verdict }: ControlHookEnd): boolean {
  return verdict === FAILED
}

/** The error of a run that failed. A block is the purpose of a guard and not an error. */
function errorOf({ payload }: HookEvent<ControlHookEnd>, draw: AttributeOptions): SpanError | undefined {
  if (!isFailed(payload)) return undefined
  return {
    type: wordOf(CONTROL_FAILURES, payload.failure, draw) ?? literal(OTHER_ERROR),
    message: draw.capture.errorText(payload.failure_message),
  }
}

function points(
  { payload }: HookEvent<ControlHookEnd>,
  draw: AttributeOptions,
  { start, durationMillis }: EndedSpan<KeptControlHook>,
): MetricPoint[] {
  const named = payload.hook_name === undefined ? (start ?? payload) : payload
  const labels = {
    [LABEL.hookName]: controlHookName(named, draw),
    [LABEL.phase]: wordOf(CONTROL_PHASES, payload.hook_phase ?? start?.hook_phase, draw) ?? UNNAMED,
  }
  const verdict = wordOf(CONTROL_VERDICTS, payload.verdict, draw) ?? UNNAMED
  const failure = isFailed(payload) ? wordOf(CONTROL_FAILURES, payload.failure, draw) : undefined
  const runs: MetricPoint = {
    instrument: 'hookRuns',
    value: positive(payload.count) ?? 1,
    labels: { ...labels, [LABEL.verdict]: verdict, ...(failure === undefined ? {} : { [LABEL.failure]: failure }) },
  }
  const millis = millisOf(payload) ?? durationMillis
  if (millis === undefined || isSum(payload)) return [runs]
  return [runs, { instrument: 'hookDuration', value: millis, labels }]
}

function isSum({ count }: ControlHookEnd): boolean {
  return positive(count) !== undefined
}

/** One run of a control hook, with its decision and its reason. */
export const controlHook: SpanDefinition<ControlHookStart, ControlHookEnd, KeptControlHook> = {
  kind: 'hook',
  spanKind: SpanKind.INTERNAL,
  parents: ['api', 'llm'],
  key: payload => (isSum(payload) ? undefined : idOf(payload.hook_run_id)),
  name(payload, draw) {
    const name = controlHookName(payload, draw)
    return draw.spanNames === 'semconv' ? phrase`hook ${name}` : phrase`hook.${name}`
  },
  start({ payload }, draw) {
    const { own, genAi, inference } = draw.names
    const kind = payload.hook_judges === true ? OPENINFERENCE_KIND.guardrail : OPENINFERENCE_KIND.chain
    return new AttributeList()
      .set(inference.spanKind, literal(kind))
      .set(own.hookName, controlHookName(payload, draw))
      .set(own.hookPhase, wordOf(CONTROL_PHASES, payload.hook_phase, draw))
      .set(own.hookPriority, wholeOf(payload.hook_priority))
      .set(genAi.toolCallId, draw.capture.id(payload.tool_call_id))
  },
  end(fired, draw) {
    const { own } = draw.names
    const { id, snippet } = draw.capture
    const { payload } = fired
    const fields = elementsOf(payload.rewritten_fields, FIELDS_LIMIT)
      .map(id)
      .filter(name => name !== undefined)
    const error = errorOf(fired, draw)
    return {
      attributes: new AttributeList()
        .set(own.hookVerdict, wordOf(CONTROL_VERDICTS, payload.verdict, draw))
        .set(own.hookAction, wordOf(CONTROL_ACTIONS, payload.action, draw))
        .set(own.hookReason, snippet(payload.reason))
        .set(own.hookDetail, snippet(payload.detail))
        .set(own.hookRewrittenFields, fields.length === 0 ? undefined : fields)
        .set(own.hookFailure, wordOf(CONTROL_FAILURES, payload.failure, draw))
        .set(own.hookDurationMs, millisOf(payload))
        .set(own.errorMessage, error?.message),
      error,
    }
  },
  measure: points,
  tell({ payload }, draw, { start }) {
    if (payload.action !== 'blocked') return undefined
    const { own, genAi } = draw.names
    const { id, snippet } = draw.capture
    return {
      event: 'hookBlocked',
      attributes: new AttributeList()
        .set(own.hookName, controlHookName(payload.hook_name === undefined ? (start ?? payload) : payload, draw))
        .set(own.hookPhase, wordOf(CONTROL_PHASES, payload.hook_phase ?? start?.hook_phase, draw))
        .set(own.hookReason, snippet(payload.reason))
        .set(genAi.toolCallId, id(payload.tool_call_id ?? start?.tool_call_id)),
    }
  },
}
