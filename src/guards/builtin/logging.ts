import { ignoreErrors } from '../../contract/foreign.ts'
import { TurnState } from '../context.ts'
import { isPlain } from '../frozen-copy.ts'
import { type Hook, type HookContext, maskedLine, PRIORITY, toStandardError } from '../hook.ts'
import { type EventOf, PHASE_NAMES, PHASES, type Phase } from '../phases.ts'
import type { ToolCall } from '../tool-call.ts'
import { type BuiltinOptions, checkOptions, FUNCTION, propertiesOf, SWITCH } from './options.ts'

/** Options of `logging`. */
export interface LoggingOptions extends BuiltinOptions {
  /** Log prompts, answers, arguments and results: masked, on one line, up to 2000 characters each. Default: false. */
  readonly content?: boolean | undefined
}

/** Options of `structuredLogging`. */
export interface StructuredLoggingOptions extends LoggingOptions {
  /** Receives a line, without a line break. Default: standard error. */
  readonly write?: ((line: string) => void) | undefined
}

/**
 * Logs one line for each phase: names, kinds, sizes and durations, and texts only with `content`. Calls blocked by a hook of
 * lower priority are not logged; they are in the trace.
 *
 * @throws {TypeError} one line, for an option that is unknown or wrong
 */
export function logging(options: LoggingOptions = {}): Hook<never> {
  checkOptions('logging', options, { content: SWITCH })
  return loggingHook('logging', options, (phase, fields, ctx) => {
    const words = Object.entries(fields).flatMap(([key, value]) =>
      value === undefined ? [] : [`${key}=${shown(value)}`],
    )
    ctx.logger.info([PHASES[phase].word, ...words].join(' '))
  })
}

/**
 * Logs the same as a line of JSON: `time` (ISO 8601), `phase`, `host`, `session_id`, `turn_id`, `traceparent` and the fields of
 * the event. Keys are stable; new ones may be added.
 *
 * @throws {TypeError} one line, for an option that is unknown or wrong
 */
export function structuredLogging(options: StructuredLoggingOptions = {}): Hook<never> {
  checkOptions('structuredLogging', options, { content: SWITCH, write: FUNCTION })
  const { write = toStandardError } = options
  return loggingHook('structured-logging', options, (phase, fields, ctx) => {
    const { host, sessionId: session_id, turnId: turn_id, traceparent } = ctx
    const time = new Date().toISOString()
    write(JSON.stringify({ time, phase: PHASES[phase].word, host, session_id, turn_id, traceparent, ...fields }))
  })
}

type LogFields = Readonly<Record<string, unknown>>

function loggingHook(
  name: string,
  options: LoggingOptions,
  log: (phase: Phase, fields: LogFields, ctx: HookContext) => void,
): Hook<never> {
  const startTimes = new TurnState(() => new Map<string, number>())
  const functionOf = <P extends Phase>(phase: P) => {
    return (event: EventOf<P>, ctx: HookContext): void => {
      const { fields, content, timer } = LOGGED[phase](event)
      const times = startTimes.of(ctx)
      const startedAt = times.get(timer)
      if (PHASES[phase].isAfter) times.delete(timer)
      else times.set(timer, performance.now())
      const isTimed = PHASES[phase].isAfter && startedAt !== undefined
      const duration = isTimed ? { duration_ms: Math.round(performance.now() - startedAt) } : {}
      log(phase, { ...fields, ...duration, ...(options.content === true && shownContent(content)) }, ctx)
    }
  }
  const common = propertiesOf(options, name, PRIORITY.observability, 'pass')
  return { ...common, decisions: [], ...Object.fromEntries(PHASE_NAMES.map(phase => [phase, functionOf(phase)])) }
}

function shown(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/-]+$/.test(value) ? value : JSON.stringify(value)
}

type LoggedEvent = Readonly<{ fields: LogFields; content: LogFields; timer: string }>

const LOGGED: { readonly [P in Phase]: (event: EventOf<P>) => LoggedEvent } = {
  beforeTurn: ({ prompt }) => ({ fields: { prompt_chars: prompt.length }, content: { prompt }, timer: 'turn' }),
  afterTurn: ({ answer, attempt }) => ({
    fields: { answer_chars: answer.length, attempt },
    content: { answer },
    timer: 'turn',
  }),
  beforeModel: ({ model, messages }) => {
    const message_chars = messages.reduce((sum, { text }) => sum + text.length, 0)
    return { fields: { model, messages: messages.length, message_chars }, content: { messages }, timer: 'model' }
  },
  afterModel: ({ model, text, toolCalls, error, attempt, usage }) => ({
    fields: {
      model,
      text_chars: text.length,
      tool_calls: toolCalls.map(({ name }) => name),
      error_type: error?.type,
      error_status: error?.status,
      input_tokens: usage?.inputTokens,
      output_tokens: usage?.outputTokens,
      cost_usd: usage?.costUsd,
      attempt,
    },
    content: { text, error_message: error?.message },
    timer: 'model',
  }),
  beforeTool: ({ tool }) => ({
    fields: { ...toolFields(tool), arguments_chars: asText(tool.arguments).length },
    content: { arguments: tool.arguments },
    timer: timerOf(tool),
  }),
  afterTool: ({ tool, result, isError, attempt }) => ({
    fields: { ...toolFields(tool), is_error: isError, result_chars: asText(result).length, attempt },
    content: { result },
    timer: timerOf(tool),
  }),
}

function toolFields({ name, kind, id }: ToolCall): LogFields {
  return { tool: name, kind, tool_call_id: id }
}

function timerOf({ id, name }: ToolCall): string {
  return `tool ${id ?? name}`
}

const CONTENT_LIMIT = 2000

function shownContent(content: LogFields): LogFields {
  const given = Object.entries(content).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.map(([key, value]) => [key, maskedLine(asText(value), CONTENT_LIMIT)]))
}

/** Cyclic or non-plain data has no text. Logging must not fail because of it. */
function asText(value: unknown): string {
  if (typeof value === 'string') return value
  if (!isPlain(value) && !Array.isArray(value)) return String(value)
  return ignoreErrors(() => JSON.stringify(value)) ?? ''
}
