import { closeJson } from '../content/bounded-json.ts'
import { peek, textOf } from '../contract/foreign.ts'
import type { ToolEnd } from '../contract/index.ts'
import { type Draw, type Fired, perRecord } from './span-definition.ts'

export interface ToolOutcome {
  /** `completed`, `error`, `timeout`, `blocked`, `cancelled`, or a result's own status in lower case. */
  readonly outcome: string
  /** What the result says of its error, when the outcome is `error`. */
  readonly resultError: unknown
}

/** What a shell says of a command that was stopped with Ctrl-C: 128 + SIGINT. */
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
  ['timed_out', 'timeout'],
  ['denied', 'blocked'],
  ['rejected', 'blocked'],
  ['canceled', CANCELLED],
])

/** Of these a result knows more than a host's bare `error` does. */
const SPECIFIC: ReadonlySet<string> = new Set(['blocked', 'timeout', CANCELLED])

/** Our own words: a result is content, so in `off` it has no others. */
const OUTCOMES: ReadonlySet<string> = new Set(['completed', 'error', ...SPECIFIC])

/** Above this a result is not parsed: only its head is read. */
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

function statusWord(value: unknown): string | undefined {
  const word = textOf(value)?.trim().toLowerCase()
  return word === undefined || word.length > 40 ? undefined : (SAME_WORD.get(word) ?? word)
}

function parse(text: string): unknown {
  // JSON.parse is the only way to know that text is JSON, and it answers by throwing.
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A result as an object: itself, or JSON text that parses to one. Text that holds no telling key is not parsed. */
function resultObject(result: unknown): unknown {
  if (typeof result !== 'string') return result
  const head = result.length > PARSE_LIMIT ? result.slice(0, HEAD) : result
  if (head.trimStart()[0] !== '{' || !TELLING_KEYS.some(key => head.includes(key))) return undefined
  return parse(head.length === result.length ? head : (closeJson(head, HEAD) ?? ''))
}

function isTold(error: unknown): boolean {
  return typeof error === 'string' ? error.trim() !== '' : Boolean(error)
}

function outcomeOfResult(object: unknown, status: string | undefined): string {
  if (status !== undefined) return status
  if (isTold(peek(object, 'error'))) return 'error'
  if (peek(object, 'timeout')) return 'timeout'
  return peek(object, 'blocked') ? 'blocked' : 'completed'
}

function readOutcome(fired: Fired<ToolEnd>, { capture }: Draw): ToolOutcome {
  const { status, result } = fired.payload
  const told = statusWord(status)
  if (told !== undefined && told !== 'error' && told !== 'completed') return { outcome: told, resultError: undefined }
  const object = resultObject(result)
  const said = statusWord(peek(object, 'status')) ?? (peek(object, 'exit_code') === STOPPED ? CANCELLED : undefined)
  const isContentWanted = capture.mode !== 'off'
  const ownStatus = isContentWanted || OUTCOMES.has(said ?? '') ? said : undefined
  const isBareError = told === 'error' && !SPECIFIC.has(ownStatus ?? '')
  const outcome = isBareError ? 'error' : outcomeOfResult(object, ownStatus)
  return { outcome, resultError: outcome === 'error' && isContentWanted ? peek(object, 'error') : undefined }
}

const BLOCKED: ToolOutcome = { outcome: 'blocked', resultError: undefined }
/** Among the facts of a record. */
const WAS_BLOCKED = 'wasBlocked'

/** A guard kept the call of this end from running. Hosts report an error, the agent's answer to it, or a result with the reason. */
export function noteBlocked(fired: Fired<unknown>): void {
  fired.facts[WAS_BLOCKED] = true
}

/** How a tool call ended: the hook's own word first, then what the result says. */
export const toolOutcomeOf: (fired: Fired<ToolEnd>, draw: Draw) => ToolOutcome = perRecord(
  'toolOutcome',
  (fired, draw) => {
    const read = readOutcome(fired, draw)
    const isOpenToDoubt = read.outcome === 'error' || read.outcome === 'completed'
    return isOpenToDoubt && fired.facts[WAS_BLOCKED] === true ? BLOCKED : read
  },
)
