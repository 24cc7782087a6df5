import { endOfQuoted, quoteLevel } from './secret-quotes.ts'
import { endOfMatch, MASK, type SecretFamily, type SecretSpan } from './secret-span.ts'
import { isPlaceholder } from './secret-values.ts'

/** Flags without a telling name, which hold a password only behind the right command: `curl -u user:password`. */
interface CommandFlag {
  readonly command: RegExp
  /** Sticky, at the dash; ends where the password begins. */
  readonly flag: RegExp
  /** What the password has to hold: `curl -b` takes a file, too. */
  readonly must?: RegExp
}

/** Between a flag and its argument; in a list of arguments that is a comma between two quotes. */
const GAP = String.raw`(?:=|\s{1,8}|\\{0,31}["'],\s{0,8}(?=\\{0,31}["']))`
const OPEN = String.raw`(?:\$?\\{0,31}["'])?`

function flag(names: string, gap: string, user = ''): RegExp {
  return new RegExp(`(?:${names})${gap}${OPEN}${user}`, 'y')
}

function command(names: string): RegExp {
  return new RegExp(String.raw`(?:^|[^\w.-])(?:${names})(?:\.exe)?["'\\,]{0,17}\s`)
}

const LOGIN = String.raw`(?:docker|podman|nerdctl|buildah|skopeo|oras|crane|helm|az|cf|oc|rosa)\s.{0,150}\blogin`

const COMMAND_FLAGS: readonly CommandFlag[] = [
  {
    command: command('curl|wget|https?|xh|lftp'),
    flag: flag('-u|--user|-U|--proxy-user', `${GAP}?`, String.raw`[^\s:,"'\\]{1,128}[:,]`),
  },
  { command: command('curl'), flag: flag('-b|--cookie', `${GAP}?`), must: /=/ },
  { command: command('sshpass'), flag: flag('-p', `${GAP}?`) },
  { command: command('https?|xh'), flag: flag('-a|--auth', GAP, String.raw`(?:[^\s:"'\\]{1,128}:)?`) },
  { command: command(String.raw`mysql\w*|mariadb[\w-]*|mycli|7za?|p7zip|xtrabackup`), flag: flag('-p', '') },
  { command: command('redis-cli|valkey-cli|keydb-cli'), flag: flag('-a', GAP) },
  { command: command(LOGIN), flag: flag('-p', `${GAP}?`) },
  {
    command: command('twine|mongo(?:sh|dump|restore|export|import)?|cypher-shell|cqlsh|pscp|sqoop'),
    flag: flag('-p', GAP),
  },
  { command: command(String.raw`ldap\w+`), flag: flag('-w', GAP) },
  { command: command('sqlcmd|bcp|osql|isql|zip|unzip|zipcloak'), flag: flag('-P', `${GAP}?`) },
  { command: command('plink|pscp|psftp|putty'), flag: flag('-pw', GAP) },
  { command: command('smbclient|smbget|rpcclient|net'), flag: flag('-U', `${GAP}?`, String.raw`[^\s%"'\\]{1,128}%`) },
  { command: command('openssl'), flag: flag('-pass(?:in|out)?', GAP, 'pass:') },
  { command: command('snmp[a-z]+'), flag: flag('-[AX]', GAP) },
]

const REACH = 200
const LONGEST = 512
/** Nothing, or what stands between two arguments of a list. */
const NO_PASSWORD = /^[\s,)\]]*$/
const WORD = /(?:[^\s"'\\]|\\(?!\\{0,31}[nrt"'])[\s\S])+/y

/** A line break written as `\n` at some depth of escaping has 1, 2, 4, … backslashes; one that a backslash joins has more. */
function asLines(text: string): string {
  return text
    .replace(/(\\{1,32})([nrt])/g, (_, { length }: string, letter: string) =>
      (length & (length - 1)) === 0 && letter !== 't' ? '\n' : ' ',
    )
    .replace(/\\\r?\n/g, ' ')
}

/** What stands in front of the flag in the same command. */
function commandBefore(text: string, at: number): string {
  const before = asLines(text.slice(Math.max(0, at - REACH), at))
  return before.slice(Math.max(...['|', '; ', '&&', '\n'].map(mark => before.lastIndexOf(mark))) + 1)
}

/** Not inside a word: behind a space, a quote or an escape that stands for a space. */
function beginsArgument(text: string, at: number): boolean {
  return at > 0 && (/[\s"']/.test(text.charAt(at - 1)) || /\\[nrt]$/.test(text.slice(at - 2, at)))
}

function passwordAt(text: string, at: number): SecretSpan | undefined {
  if (!beginsArgument(text, at)) return undefined
  const before = commandBefore(text, at)
  for (const each of COMMAND_FLAGS) {
    const start = each.command.test(before) ? endOfMatch(each.flag, text, at) : -1
    if (start === -1) continue
    const end = endOfArgument(text, start)
    const value = text.slice(start, end)
    if (NO_PASSWORD.test(value) || isPlaceholder(value) || value.startsWith(MASK)) continue
    if (each.must?.test(value) ?? true) {
      return { start, end }
    }
  }
  return undefined
}

/** A quoted argument may hold spaces; the quote may stand in front of the user's name. */
function endOfArgument(text: string, start: number): number {
  const word = text.slice(Math.max(0, start - LONGEST), start)
  const opened = /(\\{0,31}["'])[^\s"'\\]{0,130}$/.exec(word)?.[1] ?? ''
  if (opened === '' || text.charAt(start) === '') return Math.max(start, endOfMatch(WORD, text, start))
  const quote = opened.slice(opened.length - 1 - quoteLevel(opened, opened.length - 1, 0))
  return endOfQuoted(text.slice(0, start + LONGEST), start, quote)
}

/** Passwords as arguments of the commands that take them. */
export const COMMAND_CREDENTIALS: SecretFamily = {
  candidates: /-(?:[upabwPUAX]|-user|-proxy-user|-cookie|-auth)/g,
  spanAt: passwordAt,
}

const PHRASE =
  /\bIDENTIFIED\s{1,8}(?:WITH\s{1,8}\S{1,64}\s{1,8})?(?:BY|AS)\s{1,8}(?:PASSWORD\s{1,8})?(?=\\{0,31}["'])/iy
const QUOTE = /\\{0,31}["']/y

/** SQL that names the password without a word for it: `CREATE USER bob IDENTIFIED BY '…'`. */
export const STATEMENTS: SecretFamily = {
  candidates: /IDENTIFIED\s/gi,
  spanAt(text, at) {
    const quoteAt = endOfMatch(PHRASE, text, at)
    if (quoteAt === -1) return undefined
    const start = endOfMatch(QUOTE, text, quoteAt)
    const end = endOfQuoted(text.slice(0, start + LONGEST), start, text.slice(quoteAt, start))
    return isPlaceholder(text.slice(start, end)) ? undefined : { start, end }
  },
}
