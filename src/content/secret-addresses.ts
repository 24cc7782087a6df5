import { endOfMatch, MASK, type SecretFamily, type SecretSpan } from './secret-span.ts'

/** A password may contain any character the user forgot to encode. A port followed by a path is not a password. */
const USER_INFO = /:\/\/([^\s/?#@"'<>\\:]{0,256})(?::(?!\d{1,5}[/?#])([^\s/"'<>\\]{1,512}))?@(?=[\w[$])/y
/** A password with a slash. Excludes a variable in place of a port, and IPv6 addresses. */
const SLASHED = /:\/\/[^\s/?#@"'<>\\:[]{0,256}:(?!\d{1,5}[/?#]|[$<{/]|[A-Z_]{1,40}\/)[^\s"'<>\\@]{1,512}@(?=[\w[$])/y
const DIGEST = /@sha\d{3}:/y
const WEBHOOK =
  /:\/\/(?:hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)|(?:\w+\.)?discord(?:app)?\.com\/api(?:\/v\d+)?\/webhooks|[\w-]+\.webhook\.office\.com\/webhookb2)\/([\w/@-]{16,})/y
const SIGNATURE_VALUE = /[\w%+/=.~-]{16,}/y
const LONE_TOKEN = /^(?=.*\d)[\w-]{20,}$/

function userInfoAt(text: string, at: number): SecretSpan | undefined {
  USER_INFO.lastIndex = at
  const found = USER_INFO.exec(text)
  const end = found === null ? endOfMatch(SLASHED, text, at) : at + found[0].length
  if (end === -1 || endOfMatch(DIGEST, text, end - 1) !== -1) return undefined
  const [, user = '', password] = found ?? ['', '', text.slice(at, end)]
  const isSecret = password === undefined ? LONE_TOKEN.test(user) : password !== MASK && !/^\$\{?\w+\}?$/.test(password)
  return isSecret ? { start: at + 3, end: end - 1 } : undefined
}

function webhookAt(text: string, at: number): SecretSpan | undefined {
  WEBHOOK.lastIndex = at
  const path = WEBHOOK.exec(text)?.[1]
  return path === undefined ? undefined : { start: WEBHOOK.lastIndex - path.length, end: WEBHOOK.lastIndex }
}

const KEY_VAULT = /:\/\/[\w-]{1,40}\.vault\.azure\.net\/secrets\/[\w/-]{1,160}\\{0,31}["']/y
const VALUE_FIELD = /["']value\\{0,31}["']\s{0,8}:\s{0,8}\\{0,31}["']/
const VALUE = /(?:[^"'\\]|\\(?!\\{0,31}["']))+/y

/** `"id": "https://….vault.azure.net/secrets/db/…", …, "value": "…"` */
function keptValueAt(text: string, at: number): SecretSpan | undefined {
  const behind = endOfMatch(KEY_VAULT, text, at)
  if (behind === -1) return undefined
  const field = VALUE_FIELD.exec(text.slice(behind, behind + 600))
  if (field === null) return undefined
  const start = behind + field.index + field[0].length
  const end = endOfMatch(VALUE, text, start)
  return end === -1 || text.startsWith(MASK, start) ? undefined : { start, end }
}

function signatureAt(text: string, at: number): SecretSpan | undefined {
  const start = text.indexOf('=', at) + 1
  const end = endOfMatch(SIGNATURE_VALUE, text, start)
  return end === -1 ? undefined : { start, end }
}

/**
 * Secrets in addresses. `scheme://user:password@host` keeps its scheme and host. The path of a webhook and the signature of a
 * signed URL are masked, because either is sufficient to use the URL.
 */
export const ADDRESSES: SecretFamily = {
  // The last two are the ends of `&amp;` in HTML and of an escaped `&` in JSON.
  candidates: /:\/\/|[?&;6](?:sig|(?:[Xx]-(?:Amz|Goog)-)?[Ss]ignature)=/g,
  spanAt(text, at) {
    return text[at] === ':'
      ? (webhookAt(text, at) ?? keptValueAt(text, at) ?? userInfoAt(text, at))
      : signatureAt(text, at)
  },
}
