import { closeJson } from '../../content/bounded-json.ts'
import { peek, textOf } from '../../contract/foreign.ts'
import type { ToolEnd } from '../../contract/index.ts'
import { type AttributeOptions, type HookEvent, perRecord } from './span-definition.ts'

export interface ToolOutcome {
  /** `completed`, `error`, `timeout`, `blocked`, `cancelled`, or a result's own status in lower case. */
  readonly outcome: string
  readonly resultError: unknown
}

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
const OUTCOMES: ReadonlySet<string> = new Set(['completed', 'error', ...SPECIFIC])

/** Limit in characters. Of a longer result only the head is parsed. */
const PARSE_LIMIT = 64 * 1024
const HEAD = 4 * 1024

const TELLING_KEYS = [
  '"status"',
  '"error"',
  '"timeout"',
  '"blocked"',
  `"exit_code": ${STOPPED}`,
  `"exit_code":${STOPPED}`,
]

function statusWord(value: unknown, meanings = SAME_WORD): string | undefined {
  const word = textOf(value)?.trim().toLowerCase()
  return word === undefined || word.length > 40 ? undefined : (meanings.get(word) ?? word)
}

export const TOOL_OUTCOMES: readonly string[] = ['completed', 'error', 'timeout', 'blocked', CANCELLED]

/** Returns true if a hook's status is an unknown word. It is kept as the outcome and is not treated as an error. */
export function isUnknownStatus(status: unknown): boolean {
  const word = statusWord(status, HOOK_WORD)
  return word !== undefined && !OUTCOMES.has(word) && !OTHER_OUTCOMES.has(word)
}

function parse(text: string): unknown {
  // JSON.parse is the only reliable test for JSON, and it throws on other text.
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A result as an object: itself, or parsed from JSON text. Text without a relevant key is not parsed. */
function resultObject(result: unknown): unknown {
  if (typeof result !== 'string') return result
  const head = result.length > PARSE_LIMIT ? result.slice(0, HEAD) : result
  if (head.trimStart()[0] !== '{' || !TELLING_KEYS.some(key => head.includes(key))) return undefined
  return parse(head.length === result.length ? head : (closeJson(head, HEAD) ?? ''))
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

function readOutcome(event: HookEvent<ToolEnd>, { capture }: AttributeOptions): ToolOutcome {
  const { status, result } = event.payload
  const fromHook = statusWord(status, HOOK_WORD) ?? outcomeOfError(event.payload)
  if (fromHook !== undefined && fromHook !== 'error' && fromHook !== 'completed')
    return { outcome: fromHook, resultError: undefined }
  const object = resultObject(result)
  const inResult = statusWord(peek(object, 'status')) ?? (peek(object, 'exit_code') === STOPPED ? CANCELLED : undefined)
  const isContentWanted = capture.mode !== 'off'
  const ownStatus = isContentWanted || OUTCOMES.has(inResult ?? '') ? inResult : undefined
  const isBareError = fromHook === 'error' && !SPECIFIC.has(ownStatus ?? '')
  const outcome = isBareError ? 'error' : outcomeOfResult(object, ownStatus)
  return { outcome, resultError: outcome === 'error' && isContentWanted ? peek(object, 'error') : undefined }
}

const BLOCKED: ToolOutcome = { outcome: 'blocked', resultError: undefined }
const WAS_BLOCKED = 'wasBlocked'

/** Marks an end whose call was blocked by a guard. A host may report it as an error, or as a result with the reason. */
export function noteBlocked(event: HookEvent<unknown>): void {
  event.facts[WAS_BLOCKED] = true
}

/** The outcome of a tool call: the hook's own status first, then that of the result. */
export const toolOutcomeOf: (event: HookEvent<ToolEnd>, options: AttributeOptions) => ToolOutcome = perRecord(
  'toolOutcome',
  (event, options) => {
    const read = readOutcome(event, options)
    const isInferred = read.outcome === 'completed' && event.correlation === 'inferred'
    return event.facts[WAS_BLOCKED] === true && (read.outcome === 'error' || isInferred) ? BLOCKED : read
  },
)
