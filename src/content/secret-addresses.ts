import { endOfMatch, MASK, type SecretFamily, type SecretSpan } from './secret-span.ts'

/** A password may hold anything that a careless person forgot to encode, but a port and a path are not one. */
const USER_INFO = /:\/\/([^\s/?#@"'<>\\:]{0,256})(?::(?!\d{1,5}[/?#])([^\s/"'<>\\]{1,512}))?@(?=[\w[$])/y
const WEBHOOK =
  /:\/\/(?:hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)|(?:\w+\.)?discord(?:app)?\.com\/api(?:\/v\d+)?\/webhooks|[\w-]+\.webhook\.office\.com\/webhookb2)\/([\w/@-]{16,})/y
const SIGNATURE_VALUE = /[\w%+/=.~-]{16,}/y
const LONE_TOKEN = /^(?=.*\d)[\w-]{20,}$/

function userInfoAt(text: string, at: number): SecretSpan | undefined {
  USER_INFO.lastIndex = at
  const found = USER_INFO.exec(text)
  if (found === null) return undefined
  const [whole, user = '', password] = found
  const isSecret = password === undefined ? LONE_TOKEN.test(user) : password !== MASK && !/^\$\{?\w+\}?$/.test(password)
  return isSecret ? { start: at + 3, end: at + whole.length - 1 } : undefined
}

function webhookAt(text: string, at: number): SecretSpan | undefined {
  WEBHOOK.lastIndex = at
  const path = WEBHOOK.exec(text)?.[1]
  return path === undefined ? undefined : { start: WEBHOOK.lastIndex - path.length, end: WEBHOOK.lastIndex }
}

function signatureAt(text: string, at: number): SecretSpan | undefined {
  const start = text.indexOf('=', at) + 1
  const end = endOfMatch(SIGNATURE_VALUE, text, start)
  return end === -1 ? undefined : { start, end }
}

/**
 * `scheme://user:password@host` keeps its scheme and host. The address of a webhook, and the signature of a signed
 * address, are all that one needs to use them.
 */
export const ADDRESSES: SecretFamily = {
  // The last two are what `&` ends with in HTML and as an escape in JSON.
  candidates: /:\/\/|[?&;6](?:sig|(?:[Xx]-(?:Amz|Goog)-)?[Ss]ignature)=/g,
  spanAt(text, at) {
    return text[at] === ':' ? (webhookAt(text, at) ?? userInfoAt(text, at)) : signatureAt(text, at)
  },
}
