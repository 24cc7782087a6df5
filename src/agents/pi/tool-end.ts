import { peek, textOf } from '../../contract/foreign.ts'
import { looksLikeJson, plainText } from '../base/messages.ts'

export type ToolStatus = 'ok' | 'error' | 'blocked' | 'cancelled'

export interface ToolEvidence {
  readonly isError: boolean
  readonly isAborted: boolean
  readonly isCalled: boolean
  readonly ran: boolean
  readonly name: unknown
  readonly outcome: unknown
}

/** Pi's message for a tool not started because the user stopped the run. */
const ABORTED = 'Operation aborted'
/** Pi's messages for calls that it could not start: invalid arguments, or a truncated answer. */
const UNFIT = ['Validation failed for tool ', 'Tool call "']
const HEAD = 64

/**
 * Derives a tool's status, because Pi reports only an error flag. A tool that was about to run and has no result was blocked by
 * an extension, possibly by an error in it. If another extension blocks first, only the text distinguishes a blocked call from an
 * invalid one.
 */
export function toolStatus(evidence: ToolEvidence): { readonly status: ToolStatus; readonly isSure: boolean } {
  const { isError, isCalled, ran } = evidence
  if (!isError) return { status: 'ok', isSure: true }
  const text = plainText(peek(evidence.outcome, 'content'))
  if (evidence.isAborted || text === ABORTED) return { status: 'cancelled', isSure: true }
  if (ran) return { status: 'error', isSure: true }
  if (isCalled) return { status: 'blocked', isSure: true }
  return { status: isUnfit(text, evidence.name) ? 'error' : 'blocked', isSure: false }
}

function isUnfit(text: string | undefined, name: unknown): boolean {
  if (text === undefined) return true
  const head = text.slice(0, HEAD)
  return UNFIT.some(words => head.startsWith(words)) || text === `Tool ${textOf(name) ?? ''} not found`
}

/**
 * Returns a text result as text, unless it looks like JSON. Otherwise the core would look for a status in it, although it may be
 * a file that the tool has read.
 */
export function toolResult(outcome: unknown): { readonly result: unknown; readonly text: string | undefined } {
  const content = peek(outcome, 'content')
  const text = plainText(content)
  if (text === undefined) return { result: content === undefined ? outcome : { content }, text }
  return { result: looksLikeJson(text) ? { content } : text, text }
}
