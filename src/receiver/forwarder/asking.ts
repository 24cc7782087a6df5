/** The output of a hook command to its agent. */
export interface Said {
  readonly code: number
  /** Standard output, as bytes. */
  readonly out: Buffer
  readonly error: string
}

export interface Wanted {
  /** Set if the agent waits for a decision. Without a decision, `open` lets it continue and `closed` does not. */
  readonly decides: 'open' | 'closed' | undefined
  readonly otherwise: Said
  readonly waits: boolean
  /** The id of an event that the receiver may already have. */
  readonly id: string | undefined
}

const EMPTY = Buffer.alloc(0)
export const NOTHING: Said = { code: 0, out: EMPTY, error: '' }
const REASON = 'hookspan could not ask the hooks that guard this agent, which is set up to do nothing then.'
/** The last eight digits become part of the spool file's name. */
const ID = /^[0-9a-f-]{1,40}[0-9a-f]{8}$/
const OK = /^HTTP\/1\.[01] 2\d\d /

/**
 * Parses the options of the hook command.
 *
 * - `--decide`: wait for an answer, and print it.
 * - `--closed exit2` or `--closed '{…}'`: if there is no answer, exit with 2, or print this JSON.
 * - `--up`: wait for a receiver.
 * - `--id ID`: the event was already sent under this id, and may not have been accepted.
 */
export function wantedBy(options: readonly string[]): Wanted {
  const at = options.indexOf('--closed')
  const isClosed = at >= 0
  const decides = isClosed ? 'closed' : options.includes('--decide') ? 'open' : undefined
  const id = options[options.indexOf('--id') + 1] ?? ''
  return {
    decides,
    otherwise: isClosed ? closed(options[at + 1] ?? '') : NOTHING,
    waits: options.includes('--up'),
    id: options.includes('--id') && ID.test(id) ? id : undefined,
  }
}

/** An unknown value closes, too. */
function closed(how: string): Said {
  return how.startsWith('{') ? { ...NOTHING, out: Buffer.from(how) } : { code: 2, out: EMPTY, error: REASON }
}

/**
 * @param text the receiver's answer in latin1, one character per byte
 * @returns undefined unless the receiver accepted the event
 */
export function saidBy(text: string): Said | undefined {
  if (!OK.test(text)) return undefined
  const [head = '', body = ''] = text.split(/\r\n\r\n(.*)/s)
  return {
    code: Number(valueIn(head, 'x-hookspan-exit') ?? 0),
    out: Buffer.from(body, 'latin1'),
    error: Buffer.from(valueIn(head, 'x-hookspan-error') ?? '', 'base64url').toString(),
  }
}

export function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  return end >= 0 && text.length >= end + 4 + Number(valueIn(text.slice(0, end), 'content-length') ?? 0)
}

function valueIn(head: string, name: string): string | undefined {
  return new RegExp(`\\r\\n${name}: ([\\w-]{0,9999})(?:\\r|$)`, 'i').exec(head)?.[1]
}
