import { SpanKind } from '@opentelemetry/api'
import { literal, phrase, type SafeText } from '../../content/capture.ts'
import { JSON_TYPE } from '../../content/capture-policy.ts'
import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { ToolEnd, ToolStart } from '../../contract/index.ts'
import { LABEL, OPENINFERENCE_KIND, OPERATION } from '../../contract/semconv/index.ts'
import { AttributeList } from './attribute-list.ts'
import { errorFacts } from './error-facts.ts'
import { type KeptTool, skillOf, skillOfEnded } from './skill.ts'
import {
  type AttributeOptions,
  type EndedSpan,
  type HookEvent,
  type MetricPoint,
  perRecord,
  type SpanDefinition,
  type SpanError,
  type SpanLogEvent,
} from './span-definition.ts'
import { toolOutcomeOf } from './tool-outcome.ts'

const TARGET_KEYS = ['path', 'file_path', 'target', 'url', 'uri'] as const
const COMMAND_KEYS = ['command', 'cmd'] as const
const UNNAMED = 'unknown'
const TOOL_ERROR = 'tool_error'

/** Tools without an id pair first in, first out, per name and task. The prefix marks these keys for the tracker. */
const QUEUED_KEY_PREFIX = '\u0000queued '

function firstText(args: unknown, keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const text = textOf(peek(args, key))
    if (text !== undefined) return text
  }
  return undefined
}

export const toolTarget: (event: HookEvent<ToolStart>, options: AttributeOptions) => SafeText | undefined = perRecord(
  'toolTarget',
  ({ payload }, options) => options.capture.snippet(firstText(payload.args, TARGET_KEYS)),
)

export const toolCommand: (event: HookEvent<ToolStart>, options: AttributeOptions) => SafeText | undefined = perRecord(
  'toolCommand',
  ({ payload }, options) => options.capture.snippet(firstText(payload.args, COMMAND_KEYS)),
)

export function toolName(payload: ToolStart, options: AttributeOptions): SafeText {
  return options.capture.id(payload.tool_name) ?? literal(UNNAMED)
}

export function argumentAttributes(args: unknown, { capture, facts }: AttributeOptions): AttributeList {
  const input = capture.content(args, 'tool_input')
  return new AttributeList()
    .set(facts.toolInput, input?.text)
    .set(facts.inputType, input?.mimeType)
    .set(facts.toolParameters, input?.mimeType === JSON_TYPE ? input.text : undefined)
    .set(facts.toolTarget, capture.snippet(firstText(args, TARGET_KEYS)))
    .set(facts.toolCommand, capture.snippet(firstText(args, COMMAND_KEYS)))
    .set(facts.contentTruncated, input?.truncated || undefined)
}

function isMcp(name: string): boolean {
  return name.startsWith('mcp_')
}

function errorOf(event: HookEvent<ToolEnd>, options: AttributeOptions): SpanError | undefined {
  const { outcome, resultError } = toolOutcomeOf(event, options)
  if (outcome !== 'error') return undefined
  const { error, error_type, error_message } = event.payload
  const { capture } = options
  const inHook = errorFacts(error)
  const inResult = errorFacts(resultError)
  return {
    type: capture.id(error_type) ?? capture.id(inHook.type) ?? capture.id(inResult.type) ?? literal(TOOL_ERROR),
    message: capture.errorText(error_message ?? inHook.message ?? inResult.message),
  }
}

function ownDuration(event: HookEvent<ToolEnd>, ended: EndedSpan<KeptTool>): number | undefined {
  const reported = numberOf(event.payload.duration_ms)
  return reported === undefined || reported === event.at - ended.startAt ? undefined : reported
}

function points(event: HookEvent<ToolEnd>, options: AttributeOptions, ended: EndedSpan<KeptTool>): MetricPoint[] {
  const name = toolName(event.payload.tool_name === undefined ? (ended.start ?? event.payload) : event.payload, options)
  const labels = {
    [LABEL.toolName]: name,
    [LABEL.outcome]: options.capture.id(toolOutcomeOf(event, options).outcome) ?? UNNAMED,
  }
  const found: MetricPoint[] = [{ instrument: 'toolCalls', value: 1, labels }]
  const durationMillis = numberOf(event.payload.duration_ms) ?? ended.durationMillis
  if (durationMillis !== undefined && durationMillis >= 0) {
    const error = errorOf(event, options)
    const genAi = { 'gen_ai.tool.name': name, ...(error === undefined ? {} : { 'error.type': error.type }) }
    found.push({ instrument: 'toolDuration', value: durationMillis, labels })
    found.push({ instrument: 'genAiExecuteToolDuration', value: durationMillis / 1000, labels: genAi })
  }
  const skill = skillOfEnded(ended.start, event.payload)
  if (skill !== undefined) {
    const name = options.capture.id(skill.name) ?? UNNAMED
    found.push({
      instrument: 'skillInferred',
      value: 1,
      labels: { [LABEL.skillName]: name, [LABEL.source]: skill.source },
    })
  }
  return found
}

function failure(
  event: HookEvent<ToolEnd>,
  options: AttributeOptions,
  { start }: EndedSpan<KeptTool>,
): SpanLogEvent | undefined {
  const error = errorOf(event, options)
  if (error === undefined) return undefined
  const { facts } = options
  const { payload } = event
  return {
    event: 'toolFailed',
    attributes: new AttributeList()
      .set(facts.calledTool, toolName(payload.tool_name === undefined ? (start ?? payload) : payload, options))
      .set(facts.callId, options.capture.id(payload.tool_call_id))
      .set(facts.errorType, error.type)
      .set(facts.errorMessage, error.message),
  }
}

/** One tool call. `span-tracker.ts` adds the attributes of every span, `tool-decisions.ts` the hook that blocked it. */
export const tool: SpanDefinition<ToolStart, ToolEnd, KeptTool> = {
  kind: 'tool',
  spanKind: SpanKind.INTERNAL,
  parents: ['api', 'llm'],
  key(payload) {
    const call = idOf(payload.tool_call_id)
    if (call !== undefined) return call
    return `${QUEUED_KEY_PREFIX}${textOf(payload.tool_name) ?? ''} ${idOf(payload.task_id) ?? ''}`
  },
  name(payload, options) {
    const name = toolName(payload, options)
    return options.spanNames === 'semconv' ? phrase`execute_tool ${name}` : phrase`tool.${name}`
  },
  start(event, options) {
    const { payload } = event
    const { facts } = options
    const { id, content } = options.capture
    const name = toolName(payload, options)
    const callId = id(payload.tool_call_id)
    const input = content(payload.args, 'tool_input')
    const skill = skillOf(payload)
    return (
      new AttributeList()
        .set(facts.inferenceKind, literal(OPENINFERENCE_KIND.tool))
        .set(facts.toolName, name)
        .set(facts.toolCallId, callId)
        .set(facts.toolInput, input?.text)
        .set(facts.inputType, input?.mimeType)
        // The convention requires JSON, so arguments that are plain text are not written.
        .set(facts.toolParameters, input?.mimeType === JSON_TYPE ? input.text : undefined)
        .set(facts.operationName, literal(OPERATION.executeTool))
        .set(facts.toolType, literal(isMcp(name) ? 'extension' : 'function'))
        .set(facts.toolTarget, toolTarget(event, options))
        .set(facts.toolCommand, toolCommand(event, options))
        .set(facts.skillName, id(skill?.name))
        .set(facts.skillSource, id(skill?.source))
        .set(facts.contentTruncated, input?.truncated || undefined)
    )
  },
  end(event, options, ended) {
    const { facts } = options
    const output = options.capture.content(event.payload.result, 'tool_output')
    const error = errorOf(event, options)
    return {
      attributes: new AttributeList()
        .set(facts.toolOutput, output?.text)
        .set(facts.outputType, output?.mimeType)
        .set(facts.toolOutcome, options.capture.id(toolOutcomeOf(event, options).outcome))
        .set(facts.toolDurationMs, ownDuration(event, ended))
        .set(facts.errorMessage, error?.message)
        .set(facts.contentTruncated, output?.truncated || undefined),
      error,
    }
  },
  measure: points,
  logEvent: failure,
}

/** Tools without an id may be open several times under one key; everything else only once. */
export function isQueued(key: string): boolean {
  return key.startsWith(QUEUED_KEY_PREFIX)
}
