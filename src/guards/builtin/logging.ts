import { redactWithin } from '../../content/clip.ts'
import { oneLine } from '../../content/one-line.ts'
import { createRedactor } from '../../content/redaction.ts'
import { TurnState } from '../context.ts'
import { isPlain } from '../frozen-copy.ts'
import { type AnyHook, type Hook, type HookContext, PRIORITY, toStandardError } from '../hook.ts'
import type {
  AfterModel,
  AfterTool,
  AfterTurn,
  BeforeModel,
  BeforeTool,
  BeforeTurn,
  EventOf,
  Phase,
} from '../phases.ts'
import { PHASE_NAMES, PHASES } from '../phases.ts'
import { type BuiltinOptions, checkOptions, FUNCTION, SWITCH } from './options.ts'

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

function loggingHook(
  name: string,
  options: LoggingOptions,
  log: (phase: Phase, fields: LogFields, ctx: HookContext) => void,
): Hook<never> {
  const events = new EventFormatter(options.content === true)
  const phases = PHASE_NAMES.map(phase => [
    phase,
    (event: EventOf<Phase>, ctx: HookContext): void => log(phase, events.fieldsOf(phase, event, ctx), ctx),
  ])
  const hook: AnyHook = {
    name: options.name ?? name,
    priority: options.priority ?? PRIORITY.observability,
    onFailure: options.onFailure ?? 'pass',
    decisions: [],
    ...Object.fromEntries(phases),
  }
  return hook as Hook<never>
}

function shown(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/-]+$/.test(value) ? value : JSON.stringify(value)
}

export type LogFields = Readonly<Record<string, unknown>>

const CONTENT_LIMIT = 2000
const masked = createRedactor({ enabled: true, patterns: [] })

class EventFormatter {
  readonly #content: boolean
  readonly #startTimes = new TurnState(() => new Map<string, number>())

  constructor(content: boolean) {
    this.#content = content
  }

  fieldsOf<P extends Phase>(phase: P, event: EventOf<P>, ctx: HookContext): LogFields {
    switch (phase) {
      case 'beforeTurn': {
        const { prompt } = event as BeforeTurn
        this.#startTimer(ctx, 'turn')
        return { prompt_chars: prompt.length, ...this.#text('prompt', prompt) }
      }
      case 'afterTurn': {
        const { answer, attempt } = event as AfterTurn
        return { answer_chars: answer.length, attempt, ...this.#duration(ctx, 'turn'), ...this.#text('answer', answer) }
      }
      case 'beforeModel': {
        const { model, messages } = event as BeforeModel
        const chars = messages.reduce((sum, { text }) => sum + text.length, 0)
        this.#startTimer(ctx, 'model')
        return { model, messages: messages.length, message_chars: chars, ...this.#text('messages', messages) }
      }
      case 'afterModel': {
        const { model, text, toolCalls, error, attempt, usage } = event as AfterModel
        return {
          model,
          text_chars: text.length,
          tool_calls: toolCalls.map(({ name }) => name),
          error_type: error?.type,
          error_status: error?.status,
          input_tokens: usage?.inputTokens,
          output_tokens: usage?.outputTokens,
          cost_usd: usage?.costUsd,
          attempt,
          ...this.#duration(ctx, 'model'),
          ...this.#text('text', text),
          ...this.#text('error_message', error?.message),
        }
      }
      case 'beforeTool': {
        const { tool } = event as BeforeTool
        this.#startTimer(ctx, `tool ${tool.id ?? tool.name}`)
        return {
          tool: tool.name,
          kind: tool.kind,
          tool_call_id: tool.id,
          arguments_chars: sizeOf(tool.arguments),
          ...this.#text('arguments', tool.arguments),
        }
      }
      default: {
        const { tool, result, isError, attempt } = event as AfterTool
        return {
          tool: tool.name,
          kind: tool.kind,
          tool_call_id: tool.id,
          is_error: isError,
          result_chars: sizeOf(result),
          attempt,
          ...this.#duration(ctx, `tool ${tool.id ?? tool.name}`),
          ...this.#text('result', result),
        }
      }
    }
  }

  #startTimer(ctx: HookContext, what: string): void {
    this.#startTimes.of(ctx).set(what, performance.now())
  }

  #duration(ctx: HookContext, what: string): LogFields {
    const began = this.#startTimes.of(ctx).get(what)
    this.#startTimes.of(ctx).delete(what)
    return began === undefined ? {} : { duration_ms: Math.round(performance.now() - began) }
  }

  #text(key: string, value: unknown): LogFields {
    if (!this.#content || value === undefined) return {}
    return {
      [key]: redactWithin({ text: oneLine(asText(value)), isCut: false }, CONTENT_LIMIT, masked).text.slice(
        0,
        CONTENT_LIMIT,
      ),
    }
  }
}

function sizeOf(value: unknown): number {
  return asText(value).length
}

/** Cyclic or non-plain data has no text. Logging must not fail because of it. */
function asText(value: unknown): string {
  if (typeof value === 'string') return value
  if (!isPlain(value) && !Array.isArray(value)) return String(value)
  try {
    return JSON.stringify(value)
  } catch {
    return ''
  }
}
