import { afterEscape, endOfMatch, isWordCharacter, type SecretFamily } from './secret-span.ts'

const SCHEME = /bearer(?:\s+|%20)|basic(?:\s+|%20)/iy
const TOKEN = /[\w.~+/-]{8,}={0,2}/y
/** `Bearer error="invalid_token"`: a challenge, not a credential. */
const PARAMETER = /^[a-z_]+=$/

/** `user:password` in base64. A word (`basic understanding`) decodes to bytes, not to printable text with a colon. */
function isUserAndPassword(base64: string): boolean {
  const decoded = Buffer.from(base64.slice(0, 400), 'base64').toString('latin1')
  return /^[\x20-\x7e]*:/.test(decoded)
}

function isBearerToken(token: string): boolean {
  return !PARAMETER.test(token) && (/\d/.test(token) || token.length >= 24)
}

/** `Bearer …` and `Basic …`, anywhere in a text. */
export const SCHEMED_CREDENTIALS: SecretFamily = {
  candidates: /(?:bearer|basic)(?:\s|%20)/gi,
  spanAt(text, at) {
    const isGlued = at > 0 && isWordCharacter(text.charCodeAt(at - 1))
    if (isGlued && afterEscape(text, at - 1) !== at) return undefined
    const start = endOfMatch(SCHEME, text, at)
    const end = start === -1 ? -1 : endOfMatch(TOKEN, text, start)
    if (end === -1) return undefined
    const token = text.slice(start, end)
    const isBearer = /e/i.test(text.charAt(at + 1))
    return (isBearer ? isBearerToken(token) : isUserAndPassword(token)) ? { start, end } : undefined
  },
}
