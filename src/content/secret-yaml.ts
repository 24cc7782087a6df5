import type { SecretKeyStrength } from './secret-keys.ts'
import { LINE_END } from './secret-quotes.ts'
import { endOfMatch, MASK, type SecretSpan } from './secret-span.ts'
import { isPlaceholder, looksRandom } from './secret-values.ts'

/** Properties before a value in YAML, and block scalars. */

/** The number or mark of a line in a listing or diff. */
const MARK = String.raw`(?: {0,8}\d{1,6}(?:[\t→:|]|\\{1,31}t)|[+>|-])?`
const INDENTATION = String.raw`(?:[ \t]|\\{1,31}t)`

/** `&anchor`, `!!str`, `!unsafe`. */
const PROPERTIES = /(?:(?:&[\w-]{1,40}|![\w!./:-]{0,60})[ \t]{1,4}(?=["'|>\w$%{[+/]|\\)){1,2}/y
/** Tags with a reference to a secret as their value. */
const REFERENCE =
  /!(?:Ref|Sub|GetAtt|ImportValue|FindInMap|Join|Select|If|Base64|Split|ENV|env|env_var|include|secret|lookup|reference|file)\b/

const BLOCK_HEAD = new RegExp(String.raw`[|>][-+\d]{0,2}(?:[ \t]{1,4}#[^\n\\]{0,80})?(?=${LINE_END})`, 'y')
const BLOCK_LINE = new RegExp(
  String.raw`${LINE_END}(?<mark>${MARK})(?<indent>${INDENTATION}{0,60})(?<content>(?:[^\n\r\\]|\\(?!\\{0,31}[nr]))*)`,
  'y',
)
const MAX_BLOCK = 16_384
const NEXT_KEY = /^(?:- |[\w.'"-]{1,60}:(?:\s|$))/

/** The position of the value after an anchor and a tag. -1 if the tag makes it a reference. */
export function behindProperties(text: string, valueAt: number): number {
  const first = text.charAt(valueAt)
  if (first !== '!' && first !== '&') return valueAt
  const end = endOfMatch(PROPERTIES, text, valueAt)
  if (end === -1) return valueAt
  return REFERENCE.test(text.slice(valueAt, end)) ? -1 : end
}

export function beginsBlock(text: string, valueAt: number): boolean {
  return '|>'.includes(text.charAt(valueAt) || ' ') && endOfMatch(BLOCK_HEAD, text, valueAt) !== -1
}

interface Named {
  readonly text: string
  readonly nameStart: number
  readonly valueAt: number
  readonly strength: SecretKeyStrength
}

const LINE_BEFORE = new RegExp(String.raw`(?:^|${LINE_END})${MARK}(${INDENTATION}{0,60})[\w\s"'.-]{0,20}$`)

function indentationBefore(text: string, nameStart: number): number {
  return LINE_BEFORE.exec(text.slice(Math.max(0, nameStart - 100), nameStart))?.[1]?.length ?? 0
}

/** The lines of a block scalar, as long as they are indented like the first one. */
export function blockSpan({ text, nameStart, valueAt, strength }: Named): SecretSpan | undefined {
  const least = indentationBefore(text, nameStart) + 1
  let at = endOfMatch(BLOCK_HEAD, text, valueAt)
  const lines: string[] = []
  let start = -1
  let end = -1
  let indented = ''
  while (at !== -1 && at - valueAt < MAX_BLOCK) {
    BLOCK_LINE.lastIndex = at
    const { indent = '', content = '' } = BLOCK_LINE.exec(text)?.groups ?? {}
    if (BLOCK_LINE.lastIndex === 0) break
    // An escaped line break is inside a string, which ends the block.
    const isSpelled = text.charAt(at) === '\\'
    const line = isSpelled ? content.replace(/\\{0,31}["'`].*$/s, '') : content
    if (start === -1) indented = indent
    // If a whole text was indented, its later lines may have lost their indentation. Then only the next key ends the block.
    if (line !== '' && indent.length < least && (indent === '' || NEXT_KEY.test(line))) break
    if (line !== '' && (indent === '' || !indent.startsWith(indented))) break
    const lineEnd = BLOCK_LINE.lastIndex - content.length + line.length
    if (line !== '') {
      if (start === -1) start = lineEnd - line.length
      end = lineEnd
      lines.push(line)
    }
    if (line !== content) break
    at = BLOCK_LINE.lastIndex
  }
  if (start === -1 || text.startsWith(MASK, start)) return undefined
  if (strength === 'weak' && !lines.every(line => !/\s/.test(line) && looksRandom(line))) return undefined
  // `NAME=${{ secrets.NAME }}` only refers to secrets.
  return lines.every(line => isPlaceholder(line.replace(/^[\w."'-]{1,60}=/, ''))) ? undefined : { start, end }
}
