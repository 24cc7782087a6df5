import { keepAll } from './clip.ts'
import { ASSIGNMENTS } from './secret-assignments.ts'
import { COMMAND_CREDENTIALS } from './secret-flags.ts'
import { endOfMatch, isWordCharacter, MASK, maskSpans, type SecretFamily, type SecretSpan } from './secret-span.ts'
import { PREFIXED_TOKENS, UNSEPARATED_TOKENS } from './secret-tokens.ts'

export { isSecretKey } from './secret-keys.ts'
export { MASK } from './secret-span.ts'

export interface RedactorOptions {
  /** False: nothing is masked, own patterns included. */
  readonly enabled: boolean
  /** Own patterns, from `checkPattern`. */
  readonly patterns: readonly RegExp[]
}

const SCHEME = /bearer(?:\s+|%20)|basic(?:\s+|%20)/iy
const TOKEN = /[\w.~+/-]{8,}={0,2}(?!\w*=)/y

/** `user:password` in base64. A word (`basic understanding`) decodes to bytes, not to printable text with a colon. */
function isUserAndPassword(base64: string): boolean {
  const decoded = Buffer.from(base64.slice(0, 400), 'base64').toString('latin1')
  return /^[\x20-\x7e]*:/.test(decoded)
}

const SCHEMED_CREDENTIALS: SecretFamily = {
  candidates: /(?:bearer|basic)(?:\s|%20)/gi,
  spanAt(text, at) {
    if (at > 0 && isWordCharacter(text.charCodeAt(at - 1)) && !/\\[nrt]$/.test(text.slice(Math.max(0, at - 2), at)))
      return undefined
    const start = endOfMatch(SCHEME, text, at)
    const end = start === -1 ? -1 : endOfMatch(TOKEN, text, start)
    if (end === -1) return undefined
    const token = text.slice(start, end)
    const isBearer = /e/i.test(text.charAt(at + 1))
    const isSecret = isBearer ? /\d/.test(token) || token.length >= 24 : isUserAndPassword(token)
    return isSecret ? { start, end } : undefined
  },
}

/** A password may hold anything that a careless person forgot to encode, but a port and a path are not one. */
const USER_INFO = /:\/\/([^\s/?#@"'<>\\:]{0,256})(?::(?!\d{1,5}[/?#])([^\s/"'<>\\]{1,512}))?@(?=[\w[$])/y
const WEBHOOK =
  /:\/\/(?:hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)|(?:\w+\.)?discord(?:app)?\.com\/api(?:\/v\d+)?\/webhooks|[\w-]+\.webhook\.office\.com\/webhookb2)\/([\w/@-]{16,})/y
const LONE_TOKEN = /^(?=.*\d)[\w-]{20,}$/

function userInfoAt(text: string, at: number): SecretSpan | undefined {
  USER_INFO.lastIndex = at
  const found = USER_INFO.exec(text)
  if (found === null) return undefined
  const [whole, user = '', password] = found
  const isSecret = password === undefined ? LONE_TOKEN.test(user) : password !== MASK && !/^\$\{?\w+\}?$/.test(password)
  return isSecret ? { start: at + 3, end: at + whole.length - 1 } : undefined
}

/** `scheme://user:password@host` keeps its scheme and host; the address of a webhook is the key to it. */
const ADDRESSES: SecretFamily = {
  candidates: /:\/\//g,
  spanAt(text, at) {
    WEBHOOK.lastIndex = at
    const path = WEBHOOK.exec(text)?.[1]
    return path === undefined
      ? userInfoAt(text, at)
      : { start: WEBHOOK.lastIndex - path.length, end: WEBHOOK.lastIndex }
  },
}

const PIECE = 8192
const OVERLAP = 1024

/**
 * An own pattern may scan a long run again from each of its characters (`\w+@` over hexadecimal), so it sees a long
 * text in pieces: what it costs grows with the text and not with its square. A match longer than `OVERLAP` may be cut.
 */
function maskOwn(text: string, pattern: RegExp): string {
  let masked = ''
  let kept = 0
  for (let from = 0; from < text.length; from += PIECE - OVERLAP) {
    const isLast = from + PIECE >= text.length
    const piece = isLast ? text : text.slice(0, from + PIECE)
    const border = isLast ? text.length : from + PIECE - OVERLAP
    pattern.lastIndex = Math.max(from, kept)
    for (let hit = pattern.exec(piece); hit !== null && hit.index < border; hit = pattern.exec(piece)) {
      masked += text.slice(kept, hit.index) + MASK
      kept = hit.index + hit[0].length
    }
    if (isLast) break
  }
  return kept === 0 ? text : masked + text.slice(kept)
}

/** Assignments come last: what they name may have been masked more closely before. */
const FAMILIES: readonly SecretFamily[] = [
  UNSEPARATED_TOKENS,
  PREFIXED_TOKENS,
  ADDRESSES,
  SCHEMED_CREDENTIALS,
  COMMAND_CREDENTIALS,
  ASSIGNMENTS,
]

/**
 * Masks the secrets inside a text with `[REDACTED]`. Linear in the text; masking twice changes nothing more. `keepAll`
 * when it is not enabled.
 */
export function createRedactor({ enabled, patterns }: RedactorOptions): (text: string) => string {
  if (!enabled) return keepAll
  return text => {
    let masked = text
    for (const pattern of patterns) masked = maskOwn(masked, pattern)
    for (const family of FAMILIES) masked = maskSpans(masked, family)
    return masked
  }
}
