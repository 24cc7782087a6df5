import { type DiffLine, diffLines } from '../../reading/argument-lines.ts'

const CONTEXT_LINES = 2
const SECRET = /("[^"]*(?:key|token|secret|passw|auth|credential)[^"]*"\s*:\s*)"(?:[^"\\]|\\.)*"/gi
/** Secrets in YAML, and the receiver's token in a URL. */
const SECRET_LINE =
  /^(\s*(?:- )?['"]?[\w.-]*(?:key|token|secret|passw|auth|credential)[\w.-]*['"]?\s*:\s+)(?![[{&*|>])\S.*$/i
const TOKEN_PATH = /\/t\/[0-9a-f]{64}\//g
const COLORS = { '-': '\u001b[31m', '+': '\u001b[32m', ' ': '' } as const
const PLAIN = '\u001b[39m'

/**
 * A line diff with some context; `''` if nothing changes. Values that look secret by their name are hidden, because the diff is
 * printed.
 */
export function lineDiff(before: string, after: string, color: boolean): string {
  const lines = diffLines(linesOf(before), linesOf(after))
  const isShown = lines.map((_, index) =>
    lines.slice(Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1).some(({ sign }) => sign !== ' '),
  )
  return lines
    .map((line, index) => {
      if (isShown[index]) return draw(line, color)
      return isShown[index - 1] ? '  …\n' : ''
    })
    .join('')
    .replace(/ {2}…\n$/, '')
}

function draw({ sign, text }: DiffLine, color: boolean): string {
  const line = `${sign} ${withoutSecrets(text)}`.trimEnd()
  return color && sign !== ' ' ? `${COLORS[sign]}${line}${PLAIN}\n` : `${line}\n`
}

function withoutSecrets(text: string): string {
  const json = text.replace(SECRET, '$1"***"')
  return (json === text ? text.replace(SECRET_LINE, '$1***') : json).replace(TOKEN_PATH, '/t/***/')
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/)
}
