import { peek, textOf } from '../../contract/foreign.ts'
import { looksLikeJson, plainText } from '../base/messages.ts'

export type ToolStatus = 'ok' | 'error' | 'blocked' | 'cancelled'

/** What is known of a tool when it ends. */
export interface ToolEvidence {
  readonly isError: boolean
  readonly isAborted: boolean
  readonly isCalled: boolean
  readonly ran: boolean
  readonly name: unknown
  readonly outcome: unknown
}

/** Pi's own words for a tool that it did not start because the person stopped the run. */
const ABORTED = 'Operation aborted'
/** And for calls that it could not start: arguments that do not fit, an answer that was cut off. */
const UNFIT = ['Validation failed for tool ', 'Tool call "']
const HEAD = 64

/**
 * How a tool ended. Pi says no more than that it was an error. One that was about to run and gave no result was refused
 * by an extension (which includes one that threw). When another extension refuses before we are asked, only the words of
 * the result tell that from a call that was no good.
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
 * A result that is text is given as text. One that looks like JSON is not: the core would look for a status in it, and
 * a file that a tool has read is no word about the tool.
 */
export function toolResult(outcome: unknown): { readonly result: unknown; readonly text: string | undefined } {
  const content = peek(outcome, 'content')
  const text = plainText(content)
  if (text === undefined) return { result: content === undefined ? outcome : { content }, text }
  return { result: looksLikeJson(text) ? { content } : text, text }
}
