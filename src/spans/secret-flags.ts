import type { SecretFamily, SecretSpan } from './secret-span.ts'
import { isPlaceholder } from './secret-values.ts'

/** Flags without a telling name, which hold a password only behind the right command: `curl -u user:password`. */
interface CommandFlag {
  readonly command: RegExp
  /** Sticky, at the dash; its first group is the password, at the end of the match. */
  readonly flag: RegExp
}

const COMMAND_FLAGS: readonly CommandFlag[] = [
  { command: /\b(?:curl|wget|https?|xh)\s/, flag: /(?:-u|--user)[ =]?["']?[^\s:"'\\]{1,128}:([^\s"'\\]{1,256})/y },
  { command: /\bsshpass\s/, flag: /-p\s?["']?([^\s"'\\]{1,256})/y },
  { command: /\b(?:mysql\w*|mariadb\S*)\s/, flag: /-p["']?([^\s"'\\]{1,256})/y },
  { command: /\bredis-cli\s/, flag: /-a\s{1,8}["']?([^\s"'\\]{1,256})/y },
]

const REACH = 200

/** What stands in front of the flag in the same command. */
function commandBefore(text: string, at: number): string {
  const before = text.slice(Math.max(0, at - REACH), at)
  return before.slice(Math.max(before.lastIndexOf('|'), before.lastIndexOf(';'), before.lastIndexOf('&')) + 1)
}

function passwordAt(text: string, at: number): SecretSpan | undefined {
  const before = commandBefore(text, at)
  for (const { command, flag } of COMMAND_FLAGS) {
    if (!command.test(before)) continue
    flag.lastIndex = at
    const password = flag.exec(text)?.[1]
    if (password !== undefined && !isPlaceholder(password)) {
      return { start: flag.lastIndex - password.length, end: flag.lastIndex }
    }
  }
  return undefined
}

export const COMMAND_CREDENTIALS: SecretFamily = {
  candidates: /-(?:[upa]|-user)/g,
  spanAt(text, at) {
    return at > 0 && text[at - 1] === ' ' ? passwordAt(text, at) : undefined
  },
}
