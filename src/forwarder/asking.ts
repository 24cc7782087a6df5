/** What an agent is told by a hook that is a command. */
export interface Said {
  readonly code: number
  /** Standard output, as bytes. */
  readonly out: Buffer
  readonly error: string
}

/** What the one who has set up the agent wants of us. */
export interface Wanted {
  /** The agent waits for what hooks decide. `open`: where nobody says it, it goes on; `closed`: it does not. */
  readonly decides: 'open' | 'closed' | undefined
  /** What it is told then. */
  readonly otherwise: Said
  /** It goes on when a receiver listens, which may be started first. */
  readonly waits: boolean
  /** Of the event, if a receiver may have it already. */
  readonly id: string | undefined
}

const EMPTY = Buffer.alloc(0)
export const NOTHING: Said = { code: 0, out: EMPTY, error: '' }
const REASON = 'hookspan could not ask the hooks that guard this agent, which is set up to do nothing then.'
/** It ends in what a file of the spool is named by. */
const ID = /^[0-9a-f-]{1,40}[0-9a-f]{8}$/
const OK = /^HTTP\/1\.[01] 2\d\d /

/**
 * `--decide`: wait for an answer, and hand it on. `--closed exit2`, or `--closed '{…}'`: should there be none, end with 2, or print
 * that. `--up`: wait for a receiver. `--id ID`: the event was sent under this id, and not surely taken.
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

/** What nobody knows closes, too. */
function closed(how: string): Said {
  return how.startsWith('{') ? { ...NOTHING, out: Buffer.from(how) } : { code: 2, out: EMPTY, error: REASON }
}

/** @param text what a receiver has answered, a character a byte; undefined where it has not taken what it was sent */
export function saidBy(text: string): Said | undefined {
  if (!OK.test(text)) return undefined
  const [head = '', body = ''] = text.split(/\r\n\r\n(.*)/s)
  return {
    code: Number(valueIn(head, 'x-hookspan-exit') ?? 0),
    out: Buffer.from(body, 'latin1'),
    error: Buffer.from(valueIn(head, 'x-hookspan-error') ?? '', 'base64url').toString(),
  }
}

/** Whether all of an answer is there. */
export function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  return end >= 0 && text.length >= end + 4 + Number(valueIn(text.slice(0, end), 'content-length') ?? 0)
}

function valueIn(head: string, name: string): string | undefined {
  return new RegExp(`\\r\\n${name}: ([\\w-]{0,9999})(?:\\r|$)`, 'i').exec(head)?.[1]
}
