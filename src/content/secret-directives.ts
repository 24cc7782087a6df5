import type { SecretKeyStrength } from './secret-keys.ts'
import { endOfMatch } from './secret-span.ts'
import { looksGenerated } from './secret-values.ts'

/** A secret's name and its value separated only by a space: `requirepass …`, `SetEnv DB_PASSWORD …`. */

const BEFORE_PASSWORD =
  /(?:\blogin \S{1,64}|identified by|with|encrypted|\bset|\w login|\b(?:create|alter) (?:user|role) \S{1,64}) $/i
/** Directives and commands that set the variable, header or configuration key named next. */
const BEFORE_NAME =
  /(?:\b(?:config(?:ure)?|secrets?|env|variables?) set (?:\S{1,80}[/:])?|#define |\bset -\w{1,4} |\bset[eE]nv |\bSetEnv |\bsetx |\bENV |\benv:set |\b(?:proxy_set|add|more_set|set|del|replace)[-_]header |\bheader_up [+-]?|\b(?:fastcgi|uwsgi|scgi|proxy)_(?:param|header) |\bRequestHeader (?:set|add|append) |\bwifi-sec\.)$/
/** Last characters of these prefixes: one test excludes all of them. */
const MAY_BE_BEFORE = /[tevrmdxp+:/.\w-]\s$|wifi-sec\.$|[/:]$/
const DIRECTIVE = /^(?:requirepass|masterauth|AuthLDAPBindPassword|wifi-sec\.psk|(?:add-)?authtoken)$/
/** `OPTIONS (user 'bob', password '…')` */
const BEFORE_OPTION = /(?:[(,]\s{0,8}|\b(?:SET|ADD)\s{1,4})$/

interface Named {
  readonly text: string
  readonly name: string
  readonly nameStart: number
  readonly valueAt: number
  readonly strength: SecretKeyStrength
}

/** True for a flag's value, a netrc line, SQL's `PASSWORD '…'`, or a name of several words followed by a key-like text. */
export function takesValueBehindSpace({ text, name, nameStart, valueAt, strength }: Named): boolean {
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

/** The position of the value for a command that contains this name. -1 if there is no such command. */
export function commandValueAt(text: string, name: string, nameEnd: number): number {
  if (/^password$/i.test(name)) return endOfMatch(OF_USER, text, nameEnd)
  if (/^secrets?$/.test(name)) return endOfMatch(SECRETS_SET, text, nameEnd)
  if (name === 'user-secrets') return endOfMatch(USER_SECRET, text, nameEnd)
  return name === 'wpa_passphrase' ? endOfMatch(NETWORK, text, nameEnd) : -1
}
