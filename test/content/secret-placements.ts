import type { Capture } from '../../src/content/capture-policy.ts'
import { captureWith } from './captures.ts'
import type { SecretCase } from './secret-case.ts'

/** Where an agent comes across a text, and every string that a trace could then say. */
export interface Placement {
  readonly what: string
  place(text: string): unknown
  /** What is done to the text first; default: nothing. */
  write?(each: SecretCase): string
}

const ESC = '\u001b'

/** As Python's `repr` has it. */
function python(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r')
  return escaped.includes("'") && !escaped.includes('"') ? `"${escaped}"` : `'${escaped.replaceAll("'", "\\'")}'`
}

function indented(text: string): string {
  return text.replaceAll('\n', '\n    ')
}

/** As `grep --color` marks what it has found: the secret, or the middle of it. */
function marked(before: string, found: string, after: string): string {
  return `${before}${ESC}[01;31m${ESC}[K${found}${ESC}[m${ESC}[K${after}`
}

function markedInside({ before, secret, after }: SecretCase): string {
  const middle = Math.ceil(secret.length / 2)
  return before + marked(secret.slice(0, middle), secret.slice(middle, middle + 2), secret.slice(middle + 2)) + after
}

function jsonValue(text: string): unknown {
  return /^[[{]["{]/.test(text) ? JSON.parse(text) : text
}

const json = (value: unknown): string => JSON.stringify(value)

export const PLACEMENTS: readonly Placement[] = [
  { what: 'as it is', place: text => text },
  { what: 'as the value that it is the JSON of', place: jsonValue },
  { what: 'in a paragraph', place: text => `Here is what I found:\n\n${text}\n\nShall I go on?` },
  { what: 'in a block of Markdown', place: text => `Run this:\n\`\`\`\n${text}\n\`\`\`\nand wait.` },
  { what: 'in a log', place: text => `2026-11-21T10:20:30.123Z DEBUG [worker-3] ${text}\n2026-11-21 INFO done` },
  { what: 'as an argument', place: text => ({ command: text, timeout: 5 }) },
  {
    what: 'in a list of parts',
    place: text => [
      { type: 'text', text },
      { type: 'text', text: 'and more' },
    ],
  },
  { what: 'in JSON text', place: text => json({ stdout: text, exit_code: 0 }) },
  { what: 'in indented JSON text', place: text => JSON.stringify({ stdout: text, lines: [text] }, undefined, 2) },
  {
    what: 'in the arguments of a call in a message',
    place: text => [
      { role: 'assistant', tool_calls: [{ function: { name: 'terminal', arguments: json({ command: text }) } }] },
    ],
  },
  { what: 'in JSON in JSON in JSON', place: text => json({ body: json({ event: json({ output: text }) }) }) },
  { what: 'in JSON behind words', place: text => `Calling terminal with ${json({ command: text })} now` },
  {
    what: 'in JSON in JSON behind words',
    place: text => `sent ${json({ arguments: json({ command: text }) })} and waited`,
  },
  { what: 'in a Python dictionary', place: text => `{'command': ${python(text)}, 'timeout': 5}` },
  { what: 'in YAML', place: text => `steps:\n  - run: |\n    ${indented(text)}\n  - name: next\n` },
  { what: 'in lines of JSON', place: text => `${json({ n: 1 })}\n${json({ n: 2, line: text })}\n` },
  { what: 'in coloured output', place: text => `${ESC}[32m$${ESC}[0m ${ESC}[1m${text}${ESC}[0m\n` },
  { what: 'in coloured output in JSON', place: text => json({ stdout: json({ out: `${ESC}[1m${text}${ESC}[0m` }) }) },
  {
    what: 'marked by grep',
    write: ({ before, secret, after }) => marked(before, secret, after),
    place: text => text,
  },
  { what: 'marked by grep inside', write: markedInside, place: text => text },
  {
    what: 'marked by grep inside, in JSON behind words',
    write: markedInside,
    place: text => `got ${json({ out: text })}`,
  },
  {
    what: 'marked by grep, in JSON in JSON',
    write: ({ before, secret, after }) => marked(before, secret, after),
    place: text => json({ arguments: json({ out: text }) }),
  },
  { what: 'in a command for another shell', place: text => `ssh host ${json(text)} && date` },
  { what: 'in the standard input of a command', place: text => `cat <<'EOF' | sh\n${text}\nEOF\n` },
  { what: 'in a diff', place: text => `@@ -1,2 +1,2 @@\n-old\n+${text.replaceAll('\n', '\n+')}\n` },
  { what: 'in a numbered listing', place: text => `     1\t${text.replaceAll('\n', '\n     2\t')}\n` },
  { what: 'in an error', place: text => new Error(`command failed: ${text}`) },
  { what: 'in a text of an error', place: text => ({ type: 'E', message: `exit status 1\n${text}` }) },
]

const CAPTURES: Readonly<Record<'preview' | 'full' | 'off', Capture>> = {
  preview: captureWith({ previewMaxChars: 20_000, conversationHistory: true }),
  full: captureWith({ mode: 'full', conversationHistory: true }),
  off: captureWith({ mode: 'off', conversationHistory: true }),
}

export type Mode = keyof typeof CAPTURES
export const MODES = Object.keys(CAPTURES) as Mode[]

/** All that the capture policy makes of a value. */
export function allThatIsSaid(value: unknown, mode: Mode): string[] {
  const capture = CAPTURES[mode]
  return [
    capture.content(value, 'tool_output')?.text,
    capture.history([{ role: 'tool', content: value }])?.text,
    capture.snippet(value),
    capture.errorText(value),
    capture.id(value),
  ].flatMap(text => (text === undefined ? [] : [text, decoded(text)]))
}

const COLOURS = new RegExp(String.raw`(?:${ESC}|\\+u001b)\[[0-9;]*[mK]`, 'g')

/** What a reader makes of escapes, so that none of them hides a leak from the test. */
function decoded(text: string): string {
  let plain = text.replace(COLOURS, '')
  for (let depth = 0; depth < 6; depth++) plain = plain.replace(/\\(["'\\])/g, '$1').replace(/\\n/g, '\n')
  return plain
}

/** What must not be left of a secret: any 12 characters of it, or all of a shorter one. */
export function leakOf(text: string, whole: string): string | undefined {
  const secret = whole.replace(/-----(?:BEGIN|END) [A-Z ]+-----/g, '')
  if (secret.length < 16) return secret.length > 5 && text.includes(secret) ? secret : undefined
  for (let at = 0; at + 12 <= secret.length; at++) {
    const piece = secret.slice(at, at + 12)
    if (text.includes(piece)) return piece
  }
  return undefined
}

export function placed({ write, place }: Placement, each: SecretCase): unknown {
  return place(write?.(each) ?? each.before + each.secret + each.after)
}
