import { redactWithin } from '../../content/clip.ts'
import { oneLine } from '../../content/one-line.ts'
import { createRedactor } from '../../content/redaction.ts'
import { isPlain } from '../frozen-copy.ts'
import type { HookContext } from '../hook.ts'
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
import { TurnMemory } from './memory.ts'

/** The fields of a log entry for an event: names, kinds, sizes and durations, and texts only with `content`. */
export type Told = Readonly<Record<string, unknown>>

const CONTENT_LIMIT = 2000
const masked = createRedactor({ enabled: true, patterns: [] })

/** Builds log entries and keeps the start times of a turn for durations. */
export class EventTeller {
  readonly #content: boolean
  readonly #began = new TurnMemory(() => new Map<string, number>())

  constructor(content: boolean) {
    this.#content = content
  }

  told<P extends Phase>(phase: P, event: EventOf<P>, ctx: HookContext): Told {
    switch (phase) {
      case 'beforeTurn': {
        const { prompt } = event as BeforeTurn
        this.#begin(ctx, 'turn')
        return { prompt_chars: prompt.length, ...this.#text('prompt', prompt) }
      }
      case 'afterTurn': {
        const { answer, attempt } = event as AfterTurn
        return { answer_chars: answer.length, attempt, ...this.#since(ctx, 'turn'), ...this.#text('answer', answer) }
      }
      case 'beforeModel': {
        const { model, messages } = event as BeforeModel
        const chars = messages.reduce((sum, { text }) => sum + text.length, 0)
        this.#begin(ctx, 'model')
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
          ...this.#since(ctx, 'model'),
          ...this.#text('text', text),
          ...this.#text('error_message', error?.message),
        }
      }
      case 'beforeTool': {
        const { tool } = event as BeforeTool
        this.#begin(ctx, `tool ${tool.id ?? tool.name}`)
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
          ...this.#since(ctx, `tool ${tool.id ?? tool.name}`),
          ...this.#text('result', result),
        }
      }
    }
  }

  #begin(ctx: HookContext, what: string): void {
    this.#began.of(ctx).set(what, performance.now())
  }

  #since(ctx: HookContext, what: string): Told {
    const began = this.#began.of(ctx).get(what)
    this.#began.of(ctx).delete(what)
    return began === undefined ? {} : { duration_ms: Math.round(performance.now() - began) }
  }

  #text(key: string, value: unknown): Told {
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
