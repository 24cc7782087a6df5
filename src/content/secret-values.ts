import { isLoneType } from './secret-declarations.ts'
import { secretKeyStrength } from './secret-keys.ts'
import { MASK } from './secret-span.ts'

/** What stands behind a secret's name and is none: a placeholder, a reference, a type, a piece of code, a sentence. */

const REFERENCE =
  /^(?:\$(?:[A-Z_][A-Z0-9_]*|[a-z_]+)$|\$?\{[\w.]+(?:[(:?][^{}]{0,60})?\}$|\$\(|\$\{\{|\{\{|(?:<[^<>]{0,80}>?\s*){1,4}$|%[\w(]+[%)s]?$|@\w+$|![01]$)/
/** Where a secret is kept: the name of it in a store, a file that is mounted, a value that is encrypted. */
const KEPT_ELSEWHERE =
  /^(?:arn:aws[\w-]*:|projects\/[\w-]+\/secrets\/|https:\/\/[\w-]+\.vault\.azure\.net\/|@Microsoft\.KeyVault\(|(?:op|vault|ssm|sm|secretsmanager|keychain|keyring|env|ref\+\w+):\/\/|vault:secret\/|(?:file:\/\/)?\/run\/secrets\/|ENC\[AES)/
const STARS = /^[*•●xX.…_-]{3,}$/
/** What documentation writes in the place of a secret. */
const DUMMY =
  /^(?:change[-_ ]?(?:me|it|this)|(?:your|insert|enter|replace|put)[-_ ](?:[a-z]+[-_ ]){0,4}(?:key|token|password|passwd|secret|value|here|id)s?(?:[-_ ]here)?|(?:api[-_]?key|token|password|secret)[-_ ]?(?:goes[-_ ])?here|placeholder|redacted|example|dummy|todo|fixme|n\/a|basic|bearer|\.{3,}|…)$/i
const LITERAL =
  /^(?:true|false|null|nil|none|undefined|nan|yes|no|on|off|required|optional|inherit|string|str|number|int|integer|boolean|bool|bytes|any|object|unknown|void|never|buffer|await|new|async|function|lambda|typeof|not|[|>][-+]?|~|-)[;?!|]?$/i
const SENTENCE =
  /^(?:a|an|and|are|at|basic|be|bearer|blank|by|can|cannot|change|changed|did|does|empty|enter|expired|failed|field|for|from|has|have|if|in|incorrect|invalid|is|it|least|may|mismatch|missing|must|oauth2?|of|or|ok|please|reset|see|set|flag|option|argument|parameter|should|that|the|this|to|too|use|used|using|was|when|will|with|wrong|your|valid|expired|accepted|rejected|denied|revoked|loaded|found|cached|stored|saved|present|absent|available|unavailable|configured|verified|enabled|disabled|unset|unchanged|updated|hidden|masked|encrypted|ok)[.,;:!?]?$/i
const CODE_ROOT =
  /^(?:process\.env|os\.(?:environ|getenv)|import\.meta|self|this|config|settings|options|opts|args|params|props|req|request|res|response|ctx|context|env|secrets|vars?|local|data|module|state|user|body|headers|session|creds|credentials|form)[.[(]/
const CALL = /^[A-Za-z_$][A-Za-z_$.]*\(/
const KNOWN_CALL =
  /^(?:get|load|read|fetch|prompt|input|decrypt|ask|env|create|generate|sign|make|find|str|hash|encode|String|Buffer)\w*[(.]/
const IDENTIFIER = /^[A-Za-z_$][A-Za-z_$.]*$/

/** `Bearer $TOKEN`: what is referred to may have its scheme in front. */
const SCHEME = /^[A-Za-z][\w-]{1,20}\s+(?=[$<{%@])/

/** An empty or already masked value, or one that only names where the secret is. */
export function isPlaceholder(value: string): boolean {
  if (value.startsWith(MASK)) return true
  if (value.length > 300) return value.trim() === ''
  if (KEPT_ELSEWHERE.test(value.trimStart())) return true
  if (value.length > 100) return false
  const bare = value.trim().replace(SCHEME, '')
  return bare === '' || REFERENCE.test(bare) || STARS.test(bare) || DUMMY.test(bare)
}

/** The mode of a request, as `credentials: 'include'` of `fetch` has it. */
export function isMode(value: string): boolean {
  return value === 'include' || value === 'omit' || value === 'same-origin'
}

/** Text that is no secret under the name of one either: nothing, a mode, or the place where the secret is kept. */
export function namesNoSecret(value: string): boolean {
  return value === '' || isMode(value) || (value.length <= 300 && KEPT_ELSEWHERE.test(value))
}

/** A word that says something about the secret instead of being it. `inSentence`: it may be one of a sentence's words. */
export function isSpokenOf(value: string, inSentence: boolean): boolean {
  return value.length <= 16 && (LITERAL.test(value) || (inSentence && SENTENCE.test(value)))
}

/**
 * An expression, not a literal: `getToken(`, `process.env.`, `config.password`, `{ token: accessToken }`. `spaced`:
 * there was a space between the name's sign and the value, as code has it and `.env` files do not.
 */
export function isCode(value: string, name: string, spaced: boolean, next: string): boolean {
  if (value.length > 100) return false
  if (CODE_ROOT.test(value) || KNOWN_CALL.test(value) || (spaced && CALL.test(value))) return true
  if (!IDENTIFIER.test(value)) return isLoneType(value)
  const [field = ''] = /[^.]*$/.exec(name) ?? []
  if (value === field || (field !== name && spaced && secretKeyStrength(value) !== undefined)) return true
  // `other_options.password`, `random_password.db.result`
  if (spaced && /[A-Z_].*\.|\..*[A-Z_]/.test(value) && value.split('.').some(part => secretKeyStrength(part)))
    return true
  return /[A-Z_.]/.test(value) && ',);}'.includes(next) && secretKeyStrength(value) !== undefined
}

/** Letters and digits mixed, or long: what a token looks like and a word does not. */
export function looksRandom(value: string): boolean {
  if (value.length < 6) return false
  if (/\d/.test(value)) return /[A-Za-z]/.test(value) || value.length <= 64
  return (
    /[!@#$%^&*+=~]/.test(value) ||
    (value.length >= 12 && /[a-z][A-Z]|[A-Z][a-z].*[A-Z]/.test(value)) ||
    value.length >= 24
  )
}

/** Strict, for a name and a value with nothing but a space between them. */
export function looksGenerated(value: string): boolean {
  return (
    value.length >= 16 &&
    /^\w[\w+/=.~-]*$/.test(value) &&
    /\d/.test(value) &&
    /[a-z]/.test(value) &&
    /[A-Z]/.test(value)
  )
}
