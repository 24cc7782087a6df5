import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { plainText } from '../base/messages.ts'
import type { ResultFound, Whose } from './types.ts'

const BLOCKS_LIMIT = 1000
const STARTS_LIMIT = 1000
const CANCELLED_LIMIT = 10_000

export interface CancelledHook {
  /** `PostToolUse`, … */
  readonly event: string
  /** The tool call id if the hook is about a tool, otherwise an id of the hook itself. */
  readonly callId: string | undefined
  /** The URL or command of the hook. Claude Code omits it for hooks after a tool. */
  readonly command: string | undefined
  readonly firedAt: number
}

/** The results of tool calls in a transcript, and the hooks that timed out. */
export class TranscriptResults {
  #found: ResultFound[] = []
  #cancelled: CancelledHook[] = []
  readonly #seen = new Set<string>()
  /** When the start hook that timed out was fired, by tool call. */
  readonly #starts = new LimitedMap<string, number>(STARTS_LIMIT)

  has(callId: string): boolean {
    return this.#seen.has(callId)
  }

  /** Resets the results at the beginning of an answer. */
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

  /** Handles a `user` line. */
  note(line: unknown, at: number, whose: Whose): void {
    for (const block of elementsOf(peek(peek(line, 'message'), 'content'), BLOCKS_LIMIT)) {
      const id = peek(block, 'type') === 'tool_result' ? idOf(peek(block, 'tool_use_id')) : undefined
      if (id === undefined) continue
      this.#seen.add(id)
      this.#found.push({ ...whose, ...resultOf(line, block), tool_use_id: id, at, started_at: this.#starts.get(id) })
    }
  }

  /** Handles an `attachment` line `{type: hook_cancelled, hookEvent, toolUseID, command?, timeoutMs?}`. */
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

/**
 * Prefers the tool's structured result, which hooks have as well. A child agent's transcript contains only the text sent to the
 * model.
 */
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
