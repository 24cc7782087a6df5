import { secretKeyStrength } from './secret-keys.ts'
import { endOfMatch, MASK } from './secret-span.ts'

/** Recognizes texts after a secret's name that are not secrets: placeholders, references, types, code, sentences. */

const REFERENCE =
  /^(?:\$(?:[A-Z_][A-Z0-9_]*|[a-z_]+)$|\$?\{[\w.]+(?:[(:?][^{}]{0,60})?\}$|\$\(|\$\{\{|\{\{|(?:<[^<>]{0,80}>?\s*){1,4}$|%[\w(]+[%)s]?$|@\w+$|![01]$)/
/** References to a secret: its name in a store, a mounted file, an encrypted value. */
const KEPT_ELSEWHERE =
  /^(?:arn:aws[\w-]*:|projects\/[\w-]+\/secrets\/|https:\/\/[\w-]+\.vault\.azure\.net\/|@Microsoft\.KeyVault\(|(?:op|vault|ssm|sm|secretsmanager|keychain|keyring|env|ref\+\w+):\/\/|vault:secret\/|(?:file:\/\/)?\/run\/secrets\/|ENC\[AES)/
const STARS = /^[*•●xX.…_-]{3,}$/
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

/** `Bearer $TOKEN`: a scheme may precede a reference. */
const SCHEME = /^[A-Za-z][\w-]{1,20}\s+(?=[$<{%@])/

export function isPlaceholder(value: string): boolean {
  if (value.startsWith(MASK)) return true
  if (value.length > 300) return value.trim() === ''
  if (KEPT_ELSEWHERE.test(value.trimStart())) return true
  if (value.length > 100) return false
  const bare = value.trim().replace(SCHEME, '')
  return bare === '' || REFERENCE.test(bare) || STARS.test(bare) || DUMMY.test(bare)
}

/** True for the mode of a request, as in `credentials: 'include'` of `fetch`. */
export function isMode(value: string): boolean {
  return value === 'include' || value === 'omit' || value === 'same-origin'
}

export function namesNoSecret(value: string): boolean {
  return value === '' || isMode(value) || (value.length <= 300 && KEPT_ELSEWHERE.test(value))
}

/** True for a word about the secret. `inSentence`: the value may be a word of a sentence. */
export function isSpokenOf(value: string, inSentence: boolean): boolean {
  return value.length <= 16 && (LITERAL.test(value) || (inSentence && SENTENCE.test(value)))
}

/**
 * True for an expression: `getToken(`, `process.env.`, `config.password`, `{ token: accessToken }`. `spaced`: white space
 * separates the sign and the value, as in code but not in `.env` files.
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

/** True for mixed letters and digits, or long values: they look like tokens, not like words. */
export function looksRandom(value: string): boolean {
  if (value.length < 6) return false
  if (/\d/.test(value)) return /[A-Za-z]/.test(value) || value.length <= 64
  return (
    /[!@#$%^&*+=~]/.test(value) ||
    (value.length >= 12 && /[a-z][A-Z]|[A-Z][a-z].*[A-Z]/.test(value)) ||
    value.length >= 24
  )
}

/** A strict test, for a name and a value separated only by a space. */
export function looksGenerated(value: string): boolean {
  return (
    value.length >= 16 &&
    /^\w[\w+/=.~-]*$/.test(value) &&
    /\d/.test(value) &&
    /[a-z]/.test(value) &&
    /[A-Z]/.test(value)
  )
}

/** Variables declared with a type: `const apiKey: string = "…"`, `var password string = "…"`, `char token[] = "…"`. */

const NAME = String.raw`[A-Za-z_][\w.:]{0,40}`
const ARGUMENTS = String.raw`(?:[<[][\w\s,.'|&<>[\]?]{0,60}[>\]])?`
/** `string | undefined`, `Optional[str]`, `&'static str`, `[]const u8`. */
const AFTER_COLON = String.raw`\s{0,4}:\s{0,4}(?:&(?:\\{0,31}'\w{1,20}\s)?|\[\w{0,10}\])?(?:mut\s|const\s)?${NAME}${ARGUMENTS}[?!*]?(?:\s{0,2}\|\s{0,2}${NAME}${ARGUMENTS}){0,4}`
const AFTER_SPACE = String.raw`\s{1,2}(?:\*|\[\])?(?:string|byte|str|char|[nN]?[vV]?(?:ar)?[cC]har2?|N?VARCHAR2?|TEXT)(?:\(\w{1,5}\))?`
const OTHER = String.raw`\s[Aa]s\s\w{1,30}|\[\w{0,20}\]|\s{0,2}\{[\w\s;]{1,60}\}`
const TYPE = new RegExp(String.raw`[?!]?(?:${AFTER_COLON}|${AFTER_SPACE}|${OTHER})\s{0,4}=(?![=>~])\s{0,4}`, 'y')
const IS_TYPE =
  /^[?!]?\s*:?\s*(?:&|\[|readonly |(?:list\[|dict\[|string|str|String|bytes|Bytes|any|unknown|Optional|Union|Final|Annotated|[A-Z][A-Za-z]*(?:<|\[|\s*=|\s*\|)))/

const WRAPPERS =
  'String(?:::from)?|(?:\\w{1,20}::)?Secret(?:Str|String|Bytes|Box)?(?:(?:::|\\.)(?:new|from|of))?|SecureString|std::string|bytes|\\[\\](?:byte|rune)|Some|(?:Box|Cow|Arc|Rc)::from|CString::new|NSString|(?:\\w{1,20}\\.)?Field'
export const WRAPPER: string = String.raw`(?:(?:new\s)?(?:${WRAPPERS})\(\s{0,4}(?:default\s?=\s?)?)?`

export function declaredValueAt(text: string, nameEnd: number): number {
  return endOfMatch(TYPE, text, nameEnd)
}

export function isType(text: string): boolean {
  return IS_TYPE.test(text)
}

/** A type without a value, as in `def login(password: Optional[str])`. */
function isLoneType(value: string): boolean {
  return /^(?:(?:Optional|Union|[Ll]ist|[Dd]ict|[Ss]et|[Tt]uple|Sequence|Final|Literal|Annotated|Promise|Array|Record|Readonly|Partial)[[<]|&(?:'\w+)?$|&?(?:str|mut)$|Secret(?:Str|String|Bytes|Box)\b[<[]?)/.test(
    value,
  )
}
