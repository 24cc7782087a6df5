import { SpanKind } from '@opentelemetry/api'
import { JSON_TYPE } from '../../content/capture-policy.ts'
import { closeJson } from '../../content/json-text.ts'
import { literal, phrase, type SafeText } from '../../content/safe-text.ts'
import { firstText, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { ToolEnd, ToolStart } from '../../contract/index.ts'
import { LABEL, OPENINFERENCE_KIND, OPERATION } from '../../contract/semconv/index.ts'
import { AttributeList } from './attribute-list.ts'
import { errorFacts } from './error-facts.ts'
import { type KeptTool, skillOf } from './skill.ts'
import type {
  AttributeOptions,
  HookEvent,
  MetricPoint,
  SpanDefinition,
  SpanError,
  ToolEndFacts,
} from './span-definition.ts'

const TARGET_KEYS = ['path', 'file_path', 'target', 'url', 'uri'] as const
const COMMAND_KEYS = ['command', 'cmd'] as const
const UNNAMED = 'unknown'
const TOOL_ERROR = 'tool_error'

/** Exit code of a command that was stopped with Ctrl-C: 128 + SIGINT. */
const STOPPED = 130
const CANCELLED = 'cancelled'

const SAME_WORD: ReadonlyMap<string, string> = new Map([
  ['success', 'completed'],
  ['succeeded', 'completed'],
  ['ok', 'completed'],
  ['done', 'completed'],
  ['complete', 'completed'],
  ['failed', 'error'],
  ['failure', 'error'],
  ['fail', 'error'],
  ['err', 'error'],
  ['errored', 'error'],
  ['exception', 'error'],
  ['timed_out', 'timeout'],
  ['denied', 'blocked'],
  ['rejected', 'blocked'],
  ['canceled', CANCELLED],
  ['aborted', CANCELLED],
])

/** Words that are valid only in a hook. A result with them reports what the tool did to something else, such as a process. */
const HOOK_WORD: ReadonlyMap<string, string> = new Map([
  ...SAME_WORD,
  ['killed', CANCELLED],
  ['abort', CANCELLED],
  ['terminated', CANCELLED],
])

const OTHER_OUTCOMES: ReadonlySet<string> = new Set([
  ...['accepted', 'async_launched', 'background', 'cached', 'interrupted', 'partial', 'pending', 'pending_approval'],
  ...['queued', 'running', 'skipped', 'started', 'stopped', 'waiting'],
])

/** Outcomes that are more precise in a result than the `error` of its hook. */
const SPECIFIC: ReadonlySet<string> = new Set(['blocked', 'timeout', CANCELLED])

/** The outcomes that hookspan defines. A result is content, so in mode `off` it supplies no other words. */
export const TOOL_OUTCOMES: ReadonlySet<string> = new Set(['completed', 'error', ...SPECIFIC])

/** Limit in characters. Of a longer result only the head is parsed. */
const PARSE_LIMIT = 64 * 1024
const HEAD = 4 * 1024

const READ_KEYS = ['"status"', '"error"', '"timeout"', '"blocked"', `"exit_code": ${STOPPED}`, `"exit_code":${STOPPED}`]

/** Tools without an id pair first in, first out, per name and task. The prefix marks these keys for the tracker. */
const QUEUED_KEY_PREFIX = '\u0000queued '

export function toolTarget(event: HookEvent<ToolStart>, { capture }: AttributeOptions): SafeText | undefined {
  event.facts.toolTarget ??= capture.snippet(firstText(event.payload.args, TARGET_KEYS)) ?? null
  return event.facts.toolTarget ?? undefined
}

export function toolCommand(event: HookEvent<ToolStart>, { capture }: AttributeOptions): SafeText | undefined {
  event.facts.toolCommand ??= capture.snippet(firstText(event.payload.args, COMMAND_KEYS)) ?? null
  return event.facts.toolCommand ?? undefined
}

/** @param start the kept start of a call whose end has no name */
export function toolName({ tool_name }: ToolStart, { capture }: AttributeOptions, start?: KeptTool): SafeText {
  return capture.id(tool_name === undefined ? start?.tool_name : tool_name) ?? literal(UNNAMED)
}

export function argumentAttributes(args: unknown, { capture, facts }: AttributeOptions): AttributeList {
  const input = capture.content(args, 'tool_input')
  return new AttributeList()
    .setContent(facts.toolInput, facts.inputType, facts.contentTruncated, input)
    .set(facts.toolParameters, input?.mimeType === JSON_TYPE ? input.text : undefined)
    .set(facts.toolTarget, capture.snippet(firstText(args, TARGET_KEYS)))
    .set(facts.toolCommand, capture.snippet(firstText(args, COMMAND_KEYS)))
}

function statusWord(value: unknown, meanings = SAME_WORD): string | undefined {
  const word = textOf(value)?.trim().toLowerCase()
  return word === undefined || word.length > 40 ? undefined : (meanings.get(word) ?? word)
}

/** Returns true if a hook's status is an unknown word. It is kept as the outcome and is not treated as an error. */
export function isUnknownStatus(status: unknown): boolean {
  const word = statusWord(status, HOOK_WORD)
  return word !== undefined && !TOOL_OUTCOMES.has(word) && !OTHER_OUTCOMES.has(word)
}

function resultObject(result: unknown): unknown {
  if (typeof result !== 'string') return result
  const head = result.length > PARSE_LIMIT ? result.slice(0, HEAD) : result
  if (head.trimStart()[0] !== '{' || !READ_KEYS.some(key => head.includes(key))) return undefined
  const json = head.length === result.length ? head : (closeJson(head, HEAD) ?? '')
  // JSON.parse is the only reliable test for JSON, and it throws on other text.
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

function isPresent(error: unknown): boolean {
  return typeof error === 'string' ? error.trim() !== '' : Boolean(error)
}

function outcomeOfResult(object: unknown, status: string | undefined): string {
  if (status !== undefined) return status
  if (isPresent(peek(object, 'error'))) return 'error'
  if (peek(object, 'timeout')) return 'timeout'
  return peek(object, 'blocked') ? 'blocked' : 'completed'
}

/** The outcome from the error of a hook without a status. The names are those of `AbortSignal`. */
function outcomeOfError({ error, error_type, error_message }: ToolEnd): string | undefined {
  const name = isPresent(error) ? textOf(peek(error, 'name')) : undefined
  if (name === 'AbortError') return CANCELLED
  if (name === 'TimeoutError') return 'timeout'
  return isPresent(error) || isPresent(error_type) || isPresent(error_message) ? 'error' : undefined
}

/** The outcome of a tool call: the hook's own status first, then that of the result. */
function readOutcome(payload: ToolEnd, { capture }: AttributeOptions): { outcome: string; resultError: unknown } {
  const { status, result } = payload
  const fromHook = statusWord(status, HOOK_WORD) ?? outcomeOfError(payload)
  if (fromHook !== undefined && fromHook !== 'error' && fromHook !== 'completed')
    return { outcome: fromHook, resultError: undefined }
  const object = resultObject(result)
  const inResult = statusWord(peek(object, 'status')) ?? (peek(object, 'exit_code') === STOPPED ? CANCELLED : undefined)
  const isContentWanted = capture.mode !== 'off'
  const ownStatus = isContentWanted || TOOL_OUTCOMES.has(inResult ?? '') ? inResult : undefined
  const isBareError = fromHook === 'error' && !SPECIFIC.has(ownStatus ?? '')
  const outcome = isBareError ? 'error' : outcomeOfResult(object, ownStatus)
  return { outcome, resultError: outcome === 'error' && isContentWanted ? peek(object, 'error') : undefined }
}

function errorOf(payload: ToolEnd, resultError: unknown, { capture }: AttributeOptions): SpanError {
  const { error, error_type, error_message } = payload
  const inHook = errorFacts(error)
  const inResult = errorFacts(resultError)
  return {
    type: capture.id(error_type) ?? capture.id(inHook.type) ?? capture.id(inResult.type) ?? literal(TOOL_ERROR),
    message: capture.errorText(error_message ?? inHook.message ?? inResult.message),
  }
}

export function toolEndOf(
  { facts, payload, correlation }: HookEvent<ToolEnd>,
  options: AttributeOptions,
  start: KeptTool | undefined,
): ToolEndFacts {
  if (facts.toolEnd !== undefined) return facts.toolEnd
  const { outcome: read, resultError } = readOutcome(payload, options)
  const isInferred = read === 'completed' && correlation === 'inferred'
  const outcome = facts.wasBlocked === true && (read === 'error' || isInferred) ? 'blocked' : read
  const error = outcome === 'error' ? errorOf(payload, resultError, options) : undefined
  facts.toolEnd = { outcome, error, skill: start === undefined ? skillOf(payload) : start.skill }
  return facts.toolEnd
}

/** One tool call. `span-tracker.ts` adds the attributes of every span, `hook-processor.ts` the hook that blocked it. */
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
    const input = content(payload.args, 'tool_input')
    const skill = skillOf(payload)
    return (
      new AttributeList()
        .set(facts.inferenceKind, literal(OPENINFERENCE_KIND.tool))
        .set(facts.toolName, name)
        .set(facts.toolCallId, id(payload.tool_call_id))
        .setContent(facts.toolInput, facts.inputType, facts.contentTruncated, input)
        // The convention requires JSON, so arguments that are plain text are not written.
        .set(facts.toolParameters, input?.mimeType === JSON_TYPE ? input.text : undefined)
        .set(facts.operationName, literal(OPERATION.executeTool))
        .set(facts.toolType, literal(name.startsWith('mcp_') ? 'extension' : 'function'))
        .set(facts.toolTarget, toolTarget(event, options))
        .set(facts.toolCommand, toolCommand(event, options))
        .set(facts.skillName, id(skill?.name))
        .set(facts.skillSource, id(skill?.source))
    )
  },
  end(event, options, ended) {
    const { facts } = options
    const { result, duration_ms } = event.payload
    const output = options.capture.content(result, 'tool_output')
    const { outcome, error } = toolEndOf(event, options, ended.start)
    const reported = numberOf(duration_ms)
    return {
      attributes: new AttributeList()
        .setContent(facts.toolOutput, facts.outputType, facts.contentTruncated, output)
        .set(facts.toolOutcome, options.capture.id(outcome))
        .set(facts.toolDurationMs, reported === event.at - ended.startAt ? undefined : reported)
        .set(facts.errorMessage, error?.message),
      error,
    }
  },
  measure(event, options, ended) {
    const name = toolName(event.payload, options, ended.start)
    const { outcome, error, skill } = toolEndOf(event, options, ended.start)
    const labels = { [LABEL.toolName]: name, [LABEL.outcome]: options.capture.id(outcome) ?? UNNAMED }
    const millis = numberOf(event.payload.duration_ms) ?? ended.durationMillis
    const genAi = { 'gen_ai.tool.name': name, ...(error === undefined ? {} : { 'error.type': error.type }) }
    const found: MetricPoint[] = [
      { instrument: 'toolCalls', value: 1, labels },
      { instrument: 'toolDuration', value: millis, labels },
      { instrument: 'genAiExecuteToolDuration', value: millis && millis / 1000, labels: genAi },
    ]
    if (skill !== undefined) {
      const loaded = { [LABEL.skillName]: options.capture.id(skill.name) ?? UNNAMED, [LABEL.source]: skill.source }
      found.push({ instrument: 'skillInferred', value: 1, labels: loaded })
    }
    return found
  },
  logEvent(event, options, { start }) {
    const { error } = toolEndOf(event, options, start)
    if (error === undefined) return undefined
    const { facts } = options
    const { payload } = event
    return {
      event: 'toolFailed',
      attributes: new AttributeList()
        .set(facts.calledTool, toolName(payload, options, start))
        .set(facts.callId, options.capture.id(payload.tool_call_id))
        .set(facts.errorType, error.type)
        .set(facts.errorMessage, error.message),
    }
  },
}

/** Tools without an id may be open several times in one slot; everything else only once. */
export function isQueued(slot: string): boolean {
  return slot.startsWith(QUEUED_KEY_PREFIX, 'tool '.length)
}
