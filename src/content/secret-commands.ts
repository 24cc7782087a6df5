import type { NamedValue } from './secret-keys.ts'
import { endOfQuoted, endOfSpelled, isSpelled, QUOTE, quoteLevel, SPACE } from './secret-quotes.ts'
import { endOfMatch, MASK, type SecretFamily, type SecretSpan } from './secret-span.ts'
import { isPlaceholder, looksGenerated } from './secret-values.ts'

/** Flags with a meaningless name, which contain a password only after certain commands: `curl -u user:password`. */
interface CommandFlag {
  readonly command: RegExp
  /** The flag's first two characters, or three after two dashes. */
  readonly beginnings: readonly string[]
  /** Sticky, at the dash. The match ends where the password begins. */
  readonly flag: RegExp
  /** Required content of the password: `curl -b` accepts a file, too. */
  readonly must: RegExp | undefined
}

/** Between a flag and its argument. A list of arguments has a comma between two quotes, or the next line. */
const GAP = String.raw`(?:=|${SPACE}{1,8}(?:(?:[+>|-]|\d{1,6}(?:[\t→:|]|\\{1,31}t))?${SPACE}{0,8}- ${SPACE}{0,4})?|\\{0,31}["'],${SPACE}{0,40}(?=\\{0,31}["']))`
const OPEN = String.raw`(?:\$?${QUOTE})?`

/** `names`: literal, or with a pattern after three characters. The quote precedes or follows the user's name. */
function flag(command: RegExp, names: string, gap: string, user = '', must?: RegExp): CommandFlag {
  const beginnings = names.split('|').map(name => name.slice(0, name.startsWith('--') ? 3 : 2))
  const opening = user === '' ? OPEN : `(?:${user}${QUOTE}|${OPEN}${user})`
  return { command, beginnings, flag: new RegExp(`(?:${names})${gap}${opening}`, 'y'), must }
}

function command(names: string): RegExp {
  return new RegExp(String.raw`(?:^|[^\w.-])(?:${names})(?:\.exe)?["'\\,\s]`)
}

function command2(names: string, word: string): RegExp {
  return new RegExp(String.raw`(?:^|[^\w.-])(?:${names})["'\\,\s].{0,180}\b${word}["'\\,\s]`)
}

const LOGIN = String.raw`(?:docker|podman|nerdctl|buildah|skopeo|oras|crane|helm|az|cf|oc|rosa)\s.{0,150}\blogin`
const KEY = String.raw`[^\s:,"'\\]{1,128}[:,]`

const COMMAND_FLAGS: readonly CommandFlag[] = [
  flag(command('curl|wget|https?|xh|lftp'), '-u|--user|-U|--proxy-user', `${GAP}?`, KEY),
  // An API key as the user name, without a password.
  flag(command('curl'), '-u|--user', `${GAP}?`, '', /^[^:]{12,}:$/),
  flag(command('curl'), '-b|--cookie', `${GAP}?`, '', /=/),
  flag(command('sshpass'), '-p', `${GAP}?`),
  flag(command('https?|xh'), '-a|--auth', GAP, String.raw`(?:[^\s:"'\\]{1,128}:)?`),
  flag(command(String.raw`mysql\w*|mariadb[\w-]*|mycli|7za?|p7zip|xtrabackup`), '-p', ''),
  flag(command('redis-cli|valkey-cli|keydb-cli'), '-a', GAP),
  flag(command(LOGIN), '-p', `${GAP}?`),
  flag(command('twine|mongo(?:sh|dump|restore|export|import)?|cypher-shell|cqlsh|pscp|sqoop|hdbsql'), '-p', GAP),
  flag(command(String.raw`ldap\w+`), '-w', GAP),
  flag(command2('security', 'add-(?:generic|internet)-password'), '-w', GAP),
  flag(command('sqlcmd|bcp|osql|isql|zip|unzip|zipcloak|ipmitool'), '-P', `${GAP}?`),
  flag(command('plink|pscp|psftp|putty'), '-pw', GAP),
  flag(command('smbclient|smbget|rpcclient|net'), '-U', `${GAP}?`, String.raw`[^\s%"'\\]{1,128}%`),
  flag(command('openssl'), '-pass|-passin|-passout', GAP, 'pass:'),
  flag(command2('openssl', 'enc'), '-k', GAP),
  flag(command('snmp[a-z]+'), '-A|-X', GAP),
  flag(command('ssh-keygen'), '-N|-P', GAP),
  flag(
    command('keytool|jarsigner|apksigner'),
    '-storepass|-keypass|-srcstorepass|-srckeypass|-deststorepass|-destkeypass',
    GAP,
  ),
  flag(command2('nuget', 'push'), '-k|-ApiKey', GAP),
  flag(command2('gh', 'secret[^|]{1,40}set'), '-b|--body', `${GAP}?`),
  flag(command2('az', 'secret[^|]{1,40}set'), '--value', GAP),
  flag(command2('eas|expo', '(?:secret|env):create'), '--value', GAP),
  flag(command2('aws', 'secretsmanager'), '--secret-string', GAP),
  flag(command2('pulumi', 'set'), '--secret', GAP, String.raw`[\w.:[\]"-]{1,80}${SPACE}{1,8}`),
  flag(command2('kubectl|oc', 'secret'), '--from-literal', GAP, String.raw`[\w.-]{1,80}=`),
]

const BY_BEGINNING = new Map<string, CommandFlag[]>()
for (const each of COMMAND_FLAGS) {
  for (const beginning of each.beginnings) {
    BY_BEGINNING.set(beginning, [...(BY_BEGINNING.get(beginning) ?? []), each])
  }
}

const AWS_VALUE = new RegExp(`--value${GAP}${OPEN}`, 'y')
const SECURE_PARAMETER = /put-parameter[\s\S]{0,400}SecureString/

const REACH = 200
const MAX_VALUE = 512
const NO_PASSWORD = /^[\s,)\]]*$/
const WORD = /(?:[^\s"'\\]|\\(?!\\{0,31}[nrt"'])[\s\S])+/y

/** Restores line breaks. By its depth of escaping, `\n` has 1, 2, 4, … backslashes. A continued line has more. */
function asLines(text: string): string {
  const plain = text
    .replace(/(\\{1,32})([nrt])/g, (_, { length }: string, letter: string) =>
      (length & (length - 1)) === 0 && letter !== 't' ? '\n' : ' ',
    )
    .replace(/\\\r?\n/g, ' ')
  // Joins lists with one argument per line, in JSON or code, and in YAML.
  return plain
    .replace(/([,[])[ \t]{0,40}\n[ \t]{0,40}(?=\\{0,31}["'])/g, '$1 ')
    .replace(/\n[ \t]{0,40}(?:[+>|-]|\d{1,6}[\t→:|])?[ \t]{0,40}- /g, ' ')
}

function commandBefore(text: string, at: number): string {
  const before = asLines(text.slice(Math.max(0, at - REACH), at))
  const start = Math.max(...['|', '; ', '&&', '\n'].map(mark => before.lastIndexOf(mark))) + 1
  return before.slice(start).replace(/^[+-]/, ' ')
}

function beginsArgument(text: string, at: number): boolean {
  const before = text.charAt(at - 1)
  if (before === ' ' || before === '"' || before === "'") return at > 0
  if ('nrt'.includes(before)) return text.charAt(at - 2) === '\\'
  return before === '\n' || before === '\t' || before === '\r'
}

function passwordAt(text: string, at: number): SecretSpan | undefined {
  if (text.charAt(at + 1) === 'S' && text.startsWith('-SecureString', at)) return secureStringAt(text, at)
  if (!beginsArgument(text, at)) return undefined
  const flags = BY_BEGINNING.get(text.slice(at, at + (text.charAt(at + 1) === '-' ? 3 : 2)))
  if (flags === undefined) return undefined
  let before: string | undefined
  for (const each of flags) {
    const start = endOfMatch(each.flag, text, at)
    if (start === -1) continue
    before ??= commandBefore(text, at)
    if (!each.command.test(before)) continue
    const end = endOfArgument(text, start)
    const value = text.slice(start, end)
    if (NO_PASSWORD.test(value) || isPlaceholder(value)) continue
    if (each.must?.test(value) ?? true) return { start, end }
  }
  if (text.startsWith('--value', at)) return parameterAt(text, at)
  return text.startsWith('--secret', at) ? valueBefore(text, at) : undefined
}

const PULUMI_BEFORE =
  /\bpulumi\s.{0,80}\bset\s{1,4}(?:--?[\w-]{1,20}\s{1,4}){0,2}[\w.:[\]"-]{1,80}\s{1,4}\\{0,31}["']?([^\s"'\\-][^\s"'\\]{0,200})\\{0,31}["']?\s{1,4}$/

/** `pulumi config set name … --secret` */
function valueBefore(text: string, at: number): SecretSpan | undefined {
  const before = text.slice(Math.max(0, at - MAX_VALUE), at)
  const value = PULUMI_BEFORE.exec(before)?.[1]
  if (value === undefined || isPlaceholder(value)) return undefined
  const start = at - before.length + before.lastIndexOf(value)
  return { start, end: start + value.length }
}

/** `aws ssm put-parameter --value … --type SecureString` */
function parameterAt(text: string, at: number): SecretSpan | undefined {
  if (!SECURE_PARAMETER.test(text.slice(Math.max(0, at - REACH), at + MAX_VALUE))) return undefined
  return argumentAt(text, endOfMatch(AWS_VALUE, text, at))
}

const SECURE_STRING = new RegExp(
  `-SecureString(?:${SPACE}{1,4}-(?:AsPlainText|Force))*${SPACE}{1,4}(?:-String${SPACE}{1,4})?(?!-)${OPEN}`,
  'y',
)
const PIPED = new RegExp(String.raw`(${QUOTE})([^"'\\|]{1,200})${QUOTE}${SPACE}{0,4}\|${SPACE}{0,4}ConvertTo$`)

/** `ConvertTo-SecureString "…" -AsPlainText` and `"…" | ConvertTo-SecureString` */
function secureStringAt(text: string, at: number): SecretSpan | undefined {
  const before = text.slice(Math.max(0, at - 300), at)
  const piped = PIPED.exec(before)
  const plain = text.slice(at, at + MAX_VALUE)
  if (!/^[^|;\r\n]*-AsPlainText/i.test(plain)) return undefined
  if (piped === null) return argumentAt(text, endOfMatch(SECURE_STRING, text, at))
  const [whole, opening = '', value = ''] = piped
  const start = at - whole.length + opening.length
  return isPlaceholder(value) ? undefined : { start, end: start + value.length }
}

function argumentAt(text: string, start: number): SecretSpan | undefined {
  if (start === -1) return undefined
  const end = endOfArgument(text, start)
  const value = text.slice(start, end)
  return NO_PASSWORD.test(value) || isPlaceholder(value) ? undefined : { start, end }
}

const OPENED = new RegExp(String.raw`(${QUOTE})[^\s"'\\]{0,130}$`)

function endOfArgument(text: string, start: number): number {
  const word = text.slice(Math.max(0, start - MAX_VALUE), start)
  const opened = OPENED.exec(word)?.[1] ?? ''
  if (opened === '' || text.charAt(start) === '') return Math.max(start, endOfMatch(WORD, text, start))
  if (isSpelled(opened)) return endOfSpelled(text, start, opened)
  const quote = opened.slice(opened.length - 1 - quoteLevel(opened, opened.length - 1, 0))
  return endOfQuoted(text.slice(0, start + MAX_VALUE), start, quote)
}

export const COMMAND_CREDENTIALS: SecretFamily = {
  // The rest of each flag is checked later: a list of names here costs three times as much.
  candidates: /-(?:[upabwksdSPUAXN]|-[upcavbsf][sroaue])/g,
  spanAt: passwordAt,
}

/** A secret's name and its value separated only by a space: `requirepass …`, `SetEnv DB_PASSWORD …`. */

const BEFORE_PASSWORD =
  /(?:\blogin \S{1,64}|identified by|with|encrypted|\bset|\w login|\b(?:create|alter) (?:user|role) \S{1,64}) $/i
const BEFORE_NAME =
  /(?:\b(?:config(?:ure)?|secrets?|env|variables?) set (?:\S{1,80}[/:])?|#define |\bset -\w{1,4} |\bset[eE]nv |\bSetEnv |\bsetx |\bENV |\benv:set |\b(?:proxy_set|add|more_set|set|del|replace)[-_]header |\bheader_up [+-]?|\b(?:fastcgi|uwsgi|scgi|proxy)_(?:param|header) |\bRequestHeader (?:set|add|append) |\bwifi-sec\.)$/
/** Last characters of these prefixes: one test excludes all of them. */
const MAY_BE_BEFORE = /[tevrmdxp+:/.\w-]\s$|wifi-sec\.$|[/:]$/
const DIRECTIVE = /^(?:requirepass|masterauth|AuthLDAPBindPassword|wifi-sec\.psk|(?:add-)?authtoken)$/
/** `OPTIONS (user 'bob', password '…')` */
const BEFORE_OPTION = /(?:[(,]\s{0,8}|\b(?:SET|ADD)\s{1,4})$/

/** True for a flag's value, a netrc line, SQL's `PASSWORD '…'`, or a name of several words followed by a key-like text. */
export function takesValueBehindSpace({ text, name, nameStart, valueAt, strength }: NamedValue): boolean {
  const value = text.slice(valueAt, valueAt + 100)
  const before = text.slice(Math.max(0, nameStart - 100), nameStart)
  if (name.startsWith('-')) {
    // `pulumi config set --secret NAME …`
    return !/^[-|&;<>]/.test(value) && !(name === '--secret' && /\bpulumi\s/.test(before))
  }
  const isOnLine = !/[\r\n]/.test(text.slice(nameStart + name.length, valueAt))
  if (DIRECTIVE.test(name) || (isOnLine && MAY_BE_BEFORE.test(before) && BEFORE_NAME.test(before))) return true
  if (/^(?:token|auth|jwt|key|cookie|pass)s?$/.test(name)) return false
  if (strength === 'strong' && /^\\{0,31}'/.test(value) && BEFORE_OPTION.test(before)) return true
  if (/^secrets?$/.test(name)) return false
  if (/^password$/i.test(name) && BEFORE_PASSWORD.test(before)) return true
  return /[a-z][_-][a-z]/i.test(name) && looksGenerated(/^[^\s\\]*/.exec(value)?.[0] ?? '')
}

/** `SET PASSWORD FOR 'bob'@'%' = '…'` */
const OF_USER =
  /\sFOR\s{1,4}[^\s=]{1,80}(?:\s{0,2}@\s{0,2}[^\s=]{1,80})?\s{0,4}=\s{0,4}(?:PASSWORD\(\s?)?(?=\\{0,31}["'])/iy
/** `fly secrets set NAME=…`, `doppler secrets set NAME …`: a secret, whatever its name. */
const SECRETS_SET =
  /\sset\s{1,4}(?:--?[\w-]{1,30}(?:=\S{1,60})?\s{1,4}){0,3}\\{0,31}["']?[A-Z][A-Z\d_]{1,60}(?:=|\s{1,4})(?![-\s])/y
/** `dotnet user-secrets set "Db:Connection" …` */
const USER_SECRET = /\sset\s{1,4}(?:\\{0,31}"[^"\\]{1,80}\\{0,31}"|[\w.:]{1,80})\s{1,4}(?![-\s])/y
/** `wpa_passphrase home …` */
const NETWORK = /\s{1,4}(?:\\{0,31}"[^"\\]{1,40}\\{0,31}"|[\w.-]{1,40})\s{1,4}(?![-\s])/y

export function commandValueAt(text: string, name: string, nameEnd: number): number {
  if (/^password$/i.test(name)) return endOfMatch(OF_USER, text, nameEnd)
  if (/^secrets?$/.test(name)) return endOfMatch(SECRETS_SET, text, nameEnd)
  if (name === 'user-secrets') return endOfMatch(USER_SECRET, text, nameEnd)
  return name === 'wpa_passphrase' ? endOfMatch(NETWORK, text, nameEnd) : -1
}

const IDENTIFIED =
  /\bIDENTIFIED\s{1,8}(?:WITH\s{1,8}\S{1,64}\s{1,8})?(?:BY|AS)\s{1,8}(?:PASSWORD\s{1,8})?(?=\\{0,31}["'])/iy
/** Oracle accepts a password without quotes. */
const UNQUOTED = /\bIDENTIFIED\s{1,8}BY\s{1,8}(?!VALUES\b)(?=[\w$#])/iy
const CREATES_USER = /\b(?:create|alter)\s{1,8}(?:user|role)\s{1,8}\S{1,64}\s{1,8}$/i
const STATEMENT_QUOTE = /\\{0,31}["']/y
const BARE_PASSWORD = /[\w$#!%*.-]+/y
/** `sqlplus -S scott/…@db`. The login may be quoted. */
const ORACLE_LOGIN =
  /sql(?:plus|ldr)\s{1,4}(?:-\w{1,8}\s{1,4}(?:\d[\d.]*\s{1,4})?)?(?:userid=)?\\{0,31}["']?\w[\w$#.-]{0,64}\/(?=[\w$#!%"*])/iy
const LOGIN_PASSWORD = /[^\s@"'\\]+/y

function quotedAt(text: string, quoteAt: number): SecretSpan | undefined {
  const start = endOfMatch(STATEMENT_QUOTE, text, quoteAt)
  const end = endOfQuoted(text.slice(0, start + MAX_VALUE), start, text.slice(quoteAt, start))
  return isPlaceholder(text.slice(start, end)) ? undefined : { start, end }
}

function bareAt(text: string, start: number, word: RegExp): SecretSpan | undefined {
  const end = start === -1 ? -1 : endOfMatch(word, text, start)
  return end === -1 || text.startsWith(MASK, start) || isPlaceholder(text.slice(start, end))
    ? undefined
    : { start, end }
}

export const STATEMENTS: SecretFamily = {
  candidates: /IDENTIFIED\s/gi,
  spanAt(text, at) {
    const quoteAt = endOfMatch(IDENTIFIED, text, at)
    if (quoteAt !== -1) return quotedAt(text, quoteAt)
    const start = endOfMatch(UNQUOTED, text, at)
    if (start === -1 || !CREATES_USER.test(text.slice(Math.max(0, at - 100), at))) return undefined
    return bareAt(text, start, BARE_PASSWORD)
  },
}

export const ORACLE_LOGINS: SecretFamily = {
  candidates: /sql(?:plus|ldr)\s/gi,
  spanAt(text, at) {
    return bareAt(text, endOfMatch(ORACLE_LOGIN, text, at), LOGIN_PASSWORD)
  },
}
