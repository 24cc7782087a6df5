import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { plainText } from '../base/messages.ts'
import type { ResultFound, Whose } from './types.ts'

const BLOCKS_LIMIT = 1000
const STARTS_LIMIT = 1000
const CANCELLED_LIMIT = 10_000

/** A hook that timed out, as Claude Code notes it in the transcript. */
export interface CancelledHook {
  /** `PostToolUse`, … */
  readonly event: string
  /** The tool call of a tool's hook; else an id of the hook's own. */
  readonly callId: string | undefined
  /** The URL or command; Claude Code leaves it out for the hooks behind a tool. */
  readonly command: string | undefined
  readonly firedAt: number
}

/** The results of tool calls in a transcript, and the hooks that timed out. */
export class TranscriptResults {
  #found: ResultFound[] = []
  #cancelled: CancelledHook[] = []
  readonly #seen = new Set<string>()
  /** By tool call: when the hook of its start was fired, which timed out. */
  readonly #starts = new LimitedMap<string, number>(STARTS_LIMIT)

  has(callId: string): boolean {
    return this.#seen.has(callId)
  }

  /** An answer begins: its calls have no results yet. */
  forget(): void {
    this.#seen.clear()
  }

  take(): readonly ResultFound[] {
    const found = this.#found
    this.#found = []
    return found
  }

  takeCancelled(): readonly CancelledHook[] {
    const cancelled = this.#cancelled
    this.#cancelled = []
    return cancelled
  }

  /** A `user` line. */
  note(line: unknown, at: number, whose: Whose): void {
    for (const block of elementsOf(peek(peek(line, 'message'), 'content'), BLOCKS_LIMIT)) {
      const id = peek(block, 'type') === 'tool_result' ? idOf(peek(block, 'tool_use_id')) : undefined
      if (id === undefined) continue
      this.#seen.add(id)
      this.#found.push({ ...whose, ...resultOf(line, block), tool_use_id: id, at, started_at: this.#starts.get(id) })
    }
  }

  /** An `attachment` line `{type: hook_cancelled, hookEvent, toolUseID, command?, timeoutMs?}`. */
  noteCancelled(line: unknown, at: number): void {
    const attachment = peek(line, 'attachment')
    const event = textOf(peek(attachment, 'hookEvent'))
    if (peek(attachment, 'type') !== 'hook_cancelled' || event === undefined) return
    const timeoutMillis = numberOf(peek(attachment, 'timeoutMs'))
    const firedAt = at - (timeoutMillis ?? 0)
    const callId = idOf(peek(attachment, 'toolUseID'))
    if (event === 'PreToolUse' && callId !== undefined && timeoutMillis !== undefined) this.#starts.set(callId, firedAt)
    if (this.#cancelled.length >= CANCELLED_LIMIT) return
    this.#cancelled.push({ event, callId, command: textOf(peek(attachment, 'command')), firedAt })
  }
}

/** A transcript has what the tool gave, as hooks have it; that of a child agent has only what the model is sent. */
function resultOf(line: unknown, block: unknown): Pick<ResultFound, 'is_error' | 'denial' | 'response'> {
  const content = peek(block, 'content')
  const isError = peek(block, 'is_error') === true
  const response = isError ? undefined : peek(line, 'toolUseResult')
  return {
    is_error: isError || undefined,
    denial: peek(line, 'toolDenialKind'),
    response: response ?? plainText(content) ?? content,
  }
}
