import { copyOf } from './clip.ts'

/** Names of secrets: keys of objects, variables, headers, flags, query parameters. */

const HINT = /ke[ny]|cre[td]|p(?:ass|wd|sk)|auth|cook|jwt|signature|bearer/i

const ALWAYS =
  /(?:passwords?|passwd|passphrase|passcode|requirepass|masterauth|psk|storepass|keypass|secrets?|apikeys?|accesskey|secretkey|privatekey|presharedkey|clientkeydata|credentials?|(?:auth|access|refresh|api|bot|bearer|csrf|xsrf|id|session|private|secret)tokens?)$/
const GLUED_PASS = /^(?:db|user|smtp|ftp|mail|admin|root|my|pg|ssh)pass$/
const PASS_OF =
  /^(?:db|user|smtp|ftp|mail|email|admin|root|mysql|pg|postgres|redis|mongo|http|proxy|login|basic|auth|sudo|ssh|key)$/
const OFTEN = new Set(['pass', 'token', 'auth', 'authorization', 'bearer', 'cookie', 'cookies', 'jwt'])

/** With these words, `token` means a piece of text or a position in a list. */
const TOKEN_OF_TEXT = new Set(
  'page next prev previous continuation pad eos bos unk cls mask sep stop start end special max min per first last num cancellation cancel design syntax unexpected invalid illegal unknown expected input output prompt completion'.split(
    ' ',
  ),
)
const KEY_OF =
  /^(?:api|access|private|secret|encryption|decryption|signing|master|account|auth|shared|deploy|storage|webhook|consumer|admin|root|license|preshared|subscription|ingest|ingestion|hmac|jwt|aes|rsa|ssh|pgp|gpg|openai|anthropic|azure|stripe|groq|gemini|mistral|openrouter|fernet|nonce)$/
const WEAK_KEY_OF = /^(?:app|application)$/

/** Words after the noun that select an instance, and do not change its meaning. */
const QUALIFIER =
  /^(?:value|prod|production|dev|development|staging|test|live|base|old|new|current|confirm|confirmation|primary|secondary|default|text|plain|plaintext|str|string|raw|base64|b64|pem|header|binary)$/
const QUESTION =
  /^(?:no|ask|prompt|skip|without|use|show|hide|require|requires|required|has|is|enable|disable|allow|forgot)$/
const HEADER = /^x-/i

const WORKING_DIRECTORY = /^(?:OLD)?PWD$/

const MAX_NAME = 200
const KNOWN_NAMES = 1000
const known = new Map<string, SecretKeyStrength | 'none'>()

/** `githubAccessToken`, `GITHUB_ACCESS_TOKEN_2` → github, access, token. */
function words(name: string): string[] {
  const spaced = name.replace(/([a-z\d])([A-Z])/g, '$1 $2').toLowerCase()
  const parts = spaced.split(/[^a-z\d]+/).map(word => word.replace(/\d+$/, ''))
  return parts.filter(part => part !== '')
}

/** `strong`: always a secret. `weak`: the word has other meanings, so in running text the value must look random. */
export type SecretKeyStrength = 'strong' | 'weak'

/** A secret's name in a text, and where its value begins. */
export interface NamedValue {
  readonly text: string
  readonly name: string
  readonly nameStart: number
  readonly valueAt: number
  readonly strength: SecretKeyStrength
}

export function secretKeyStrength(name: string): SecretKeyStrength | undefined {
  if (name.length > MAX_NAME || !HINT.test(name)) return undefined
  let strength = known.get(name)
  if (strength === undefined) {
    strength = judge(name) ?? 'none'
    if (known.size >= KNOWN_NAMES) known.clear()
    known.set(copyOf(name), strength)
  }
  return strength === 'none' ? undefined : strength
}

function judge(name: string): SecretKeyStrength | undefined {
  if (WORKING_DIRECTORY.test(name)) return undefined
  const parts = words(name)
  while (parts.length > 1 && QUALIFIER.test(parts.at(-1) ?? '')) parts.pop()
  // The private key of a client certificate in a kubeconfig. A plain `client key` may be anything.
  if (parts.slice(-3).join(' ') === 'client key data') return 'strong'
  const noun = parts.at(-1) ?? ''
  const before = parts.at(-2) ?? ''
  if (parts.length > 1 && QUESTION.test(parts[0] ?? '')) return undefined
  if (noun === 'pwd' || ALWAYS.test(noun)) return 'strong'
  if (noun === 'key' || noun === 'keys') {
    if (KEY_OF.test(before) || parts.slice(-3).join(' ') === 'logged in key') return 'strong'
    return WEAK_KEY_OF.test(before) ? 'weak' : undefined
  }
  if (noun === 'signature') return before === 'amz' || before === 'goog' ? 'strong' : undefined
  if (noun === 'token' && TOKEN_OF_TEXT.has(before)) return undefined
  if (GLUED_PASS.test(noun) || (noun === 'pass' && PASS_OF.test(before))) return 'strong'
  if (!OFTEN.has(noun)) return undefined
  return parts.length > 1 && HEADER.test(name) ? 'strong' : 'weak'
}

/** True if the value of this object key is a secret: `password`, `apiKey`, `X-Auth-Token`; not `max_tokens`. */
export function isSecretKey(name: string): boolean {
  return secretKeyStrength(name) !== undefined
}
