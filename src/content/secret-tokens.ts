import { PRIVATE_KEYS } from './secret-private-keys.ts'
import { afterEscape, endOfMatch, isWordCharacter, type SecretFamily, type SecretSpan } from './secret-span.ts'

const PREFIXED: readonly (readonly [beginnings: string, rest: string])[] = [
  ['sk-', '(?:proj|svcacct|service|admin|None|ant|or|lf|live|test|helicone)-(?=[\\w-]{0,80}\\d)[\\w-]{12,}'],
  ['sk- csk- xai- pplx-', '[A-Za-z0-9]{20,}[\\w-]*'],
  ['sk_ rk_', '(?:live|test|prod)_[A-Za-z0-9]{10,}'],
  ['sk_ squ_ sqp_ sqa_', '[a-f0-9]{40,}'],
  ['ghp_ gho_ ghu_ ghs_ ghr_', '[A-Za-z0-9_]{20,}'],
  ['github_', 'pat_[A-Za-z0-9_]{20,}'],
  [
    'glpat- glptt- gldt- glrt- glrtr- glcbt- glft- glimt- glagent- gloas- glsoat- glffct-',
    '[\\w-]{16,}(?:\\.[\\w-]+)*',
  ],
  ['xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xwfp-', '[\\w%-]{10,}'],
  ['xoxe.', 'xox[bp]-[\\w-]{10,}'],
  ['xapp-', '\\d-[\\w-]{10,}'],
  ['ya29.', '[\\w-]{20,}(?:\\.[\\w-]+)*'],
  ['GOCSPX- nvapi- sq0atp- sq0csp- CFPAT- HRKU- figd_ hvs. hvb. hvr. fo1_', '[\\w-]{20,}'],
  ['hf_ gsk_ r8_ fw_ nfp_ vcp_ vck_ jina_ sgp_ phx_ bkua_ glsa_ aio_', '[A-Za-z0-9]{20,}(?:_[A-Za-z0-9]+)?'],
  ['npm_ ntn_', '[A-Za-z0-9]{30,}'],
  ['secret_', '[A-Za-z0-9]{40,}'],
  ['pypi-', 'AgE[\\w-]{20,}'],
  ['dop_ doo_ dor_ tgp_ wandb_', 'v1_[\\w-]{20,}'],
  ['pylf_', 'v\\d_[\\w-]{20,}'],
  ['SG.', '[\\w-]{16,}\\.[\\w-]{16,}'],
  ['whsec_ glc_ fm1r_ fm2_', '[A-Za-z0-9+/]{20,}={0,2}'],
  ['shpat_ shpca_ shppa_ shpss_', '[a-fA-F0-9]{24,}'],
  ['lin_', '(?:api|oauth)_[A-Za-z0-9]{20,}'],
  ['tvly-', '(?:dev-|prod-)?[A-Za-z0-9-]{16,}'],
  ['lsv2_', '(?:pt|sk)_[a-f0-9]{24,}(?:_[a-f0-9]+)?'],
  ['e2b_ sbp_ sntryu_ rubygems_ fc- pul-', '[a-f0-9]{30,}'],
  ['sntrys_ ops_', 'eyJ[\\w+/=-]{16,}'],
  ['pcsk_ CCIPAT_', '\\w{20,}'],
  ['dp.', '(?:pt|st|ct|sa|scim|audit)\\.(?:[\\w-]+\\.)?[\\w-]{16,}'],
  ['AGE-', 'SECRET-KEY-1[A-Z0-9]{20,}'],
  ['sb_', 'secret_[\\w-]{16,}'],
  ['dckr_', '(?:pat|oat)_[\\w-]{16,}'],
  ['pscale_', '(?:tkn|pw|oauth)_[\\w.-]{16,}'],
  ['PMAK- NRAK- NRII- NRJS- FLWSECK- pnu_ rdme_', '[A-Za-z0-9_-]{20,}'],
  ['sha256~', '[\\w-]{40,}'],
  ['API-', '[A-Z0-9]{25,}'],
  ['key- pubkey-', '[a-f0-9]{32}'],
  ['tskey-', '(?:auth|api|client|scim|webhook)-\\w{6,}-\\w{16,}'],
  ['xkeysib-', '[a-f0-9]{64}-[A-Za-z0-9]{10,}'],
  ['shippo_ duffel_ bb_', '(?:live|test)_[\\w=-]{20,}'],
  ['pdl_', '(?:live|sdbx)_apikey_[\\w]{20,}'],
  ['CLOJARS_', '[a-z0-9]{40,}'],
  ['sl.', '(?:u\\.)?[\\w-]{60,}'],
  ['sess- pa- ico- napi_', '[A-Za-z0-9_-]{32,}'],
  ['tk-', 'us-[\\w-]{40,}'],
  ['y0_', '[\\w-]{40,}'],
  ['sdk- mob-', '[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}'],
  ['bedrock-', 'api-key-[\\w+/=]{20,}'],
  ['re_', '[A-Za-z0-9]{6,}_[A-Za-z0-9]{16,}'],
  ['dt0c01. dt0s01.', '[A-Z0-9]{20,}\\.[A-Z0-9]{40,}'],
]

/** Requires a digit or capital letter: a name in the same form (`sk_test_environment`) has only lower-case words. */
const NOT_ONLY_WORDS = '(?=[a-z_.-]{0,80}[A-Z\\d])'
const MAX_PREFIX_WORD = 8

function compile(): Map<string, RegExp> {
  const rests = new Map<string, string[]>()
  for (const [beginnings, rest] of PREFIXED) {
    for (const beginning of beginnings.split(' ')) rests.set(beginning, [...(rests.get(beginning) ?? []), rest])
  }
  const compiled = new Map<string, RegExp>()
  for (const [beginning, alternatives] of rests) {
    compiled.set(beginning, new RegExp(`${NOT_ONLY_WORDS}(?:${alternatives.join('|')})`, 'y'))
  }
  return compiled
}

const REST_BY_BEGINNING = compile()

function prefixedAt(text: string, start: number, separatorAt: number): SecretSpan | undefined {
  const rest = REST_BY_BEGINNING.get(text.slice(start, separatorAt + 1))
  if (rest === undefined) return undefined
  const end = endOfMatch(rest, text, separatorAt + 1)
  return end === -1 ? undefined : { start, end }
}

/** `ghp_…`, `sk-ant-…`, `SG.….…`: a known word, a separator, and enough of a token after it. */
export const PREFIXED_TOKENS: SecretFamily = {
  candidates: /[-_.~](?=[\w-][\w.-]{11})/g,
  spanAt(text, separatorAt) {
    let start = separatorAt
    // One escape (`u001b`) can be glued to the start of the word.
    const limit = Math.max(0, separatorAt - MAX_PREFIX_WORD - 5)
    while (start > limit && isWordCharacter(text.charCodeAt(start - 1))) start--
    if (start === separatorAt) return undefined
    const found = prefixedAt(text, start, separatorAt)
    if (found !== undefined) return found
    const behindEscape = afterEscape(text, start)
    const escaped = behindEscape === start ? undefined : prefixedAt(text, behindEscape, separatorAt)
    return escaped ?? (text[separatorAt] === '.' ? dottedAt(text, separatorAt) : undefined)
  },
}

const UNSEPARATED: readonly RegExp[] = [
  /A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])/y,
  /AIza[\w-]{30,}/y,
  /AT[AC]TT3[\w=-]{30,}/y,
  /ABSK[A-Za-z0-9+/]{60,}={0,2}/y,
  // The second form is a token truncated before its first dot.
  /eyJ[\w-]{10,}(?:\.[\w-]*){1,4}|eyJ[\w-]{200,}$/y,
  /dapi[a-f0-9]{32}(?:-\d+)?/y,
  /SK[a-f0-9]{32}(?![A-Za-z0-9])/y,
  /ATBB[A-Za-z0-9]{24,}/y,
  /LTAI[A-Za-z0-9]{12,30}(?![A-Za-z0-9])/y,
  /AKID[A-Za-z0-9]{28,40}(?![A-Za-z0-9])/y,
  /AKC[a-z][A-Za-z0-9]{60,}/y,
  /EAA[A-Za-z0-9]{60,}/y,
  /1\/\/0[\w-]{40,}/y,
  /EZ[AT]K[A-Za-z0-9]{50,}/y,
]

const TELEGRAM = /:AA[\w-]{30,}/y
/** `123456789:AA…`, with or without the `bot` of the API's URLs. */
function telegramAt(text: string, colonAt: number): SecretSpan | undefined {
  let start = colonAt
  while (start > 0 && colonAt - start < 12 && text.charCodeAt(start - 1) <= 57 && text.charCodeAt(start - 1) >= 48)
    start--
  if (colonAt - start < 6) return undefined
  const end = endOfMatch(TELEGRAM, text, colonAt)
  return end === -1 ? undefined : { start, end }
}

const DOTTED: readonly (readonly [head: RegExp, rest: RegExp])[] = [
  [/^\w{8,20}$/, /\.atlasv1\.[\w=-]{40,}/y],
  [/^pat\w{14}$/, /\.[a-f0-9]{64}/y],
  [/^[MNO]\w{23,27}$/, /\.[\w-]{6}\.[\w-]{27,}/y],
]

function dottedAt(text: string, at: number): SecretSpan | undefined {
  let start = at
  while (start > 0 && at - start < 40 && isWordCharacter(text.charCodeAt(start - 1))) start--
  start = afterEscape(text, start)
  for (const [head, rest] of DOTTED) {
    const end = head.test(text.slice(start, at)) ? endOfMatch(rest, text, at) : -1
    if (end !== -1) return { start, end }
  }
  return undefined
}

function unseparatedAt(text: string, start: number): SecretSpan | undefined {
  // A dash counts too, as part of a token. Otherwise `-eyJ-eyJ-…` would be scanned to its end from every `eyJ`.
  const glued = start > 0 && (isWordCharacter(text.charCodeAt(start - 1)) || '_-'.includes(text.charAt(start - 1)))
  const isBehindEscape = (): boolean => [1, 2, 3, 4, 5].some(length => afterEscape(text, start - length) === start)
  if (glued && !isBehindEscape()) return undefined
  for (const pattern of UNSEPARATED) {
    const end = endOfMatch(pattern, text, start)
    if (end !== -1) return { start, end }
  }
  return undefined
}

/** Keys without a separator: cloud access keys, JWTs, bot tokens, private keys. */
export const UNSEPARATED_TOKENS: SecretFamily = {
  candidates:
    /A(?:[KSCT][ICA][ATCD]|BSK|TBB|KC[a-z])|AIza|LTAI|EAA[A-Za-z\d]{4}|EZ[AT]K|eyJ|dapi[\da-f]|SK[\da-f]{4}|1\/\/0[\w-]|:AA[\w-]|-----[BE]/g,
  hints: ['AA', 'AB', 'AC', 'AI', 'AK', 'AS', 'AT', 'EZ', 'yJ', 'dapi', 'SK', '1//0', '-----'],
  spanAt(text, at) {
    const first = text[at]
    if (first === '-') return PRIVATE_KEYS.spanAt(text, at)
    return first === ':' ? telegramAt(text, at) : unseparatedAt(text, at)
  },
}
