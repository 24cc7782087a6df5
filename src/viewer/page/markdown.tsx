import type { ComponentChildren } from 'preact'
import { visibleText } from '../../reading/display-text.ts'
import { Code } from './highlight.tsx'

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*[\w+#-]*(.*)$/
const HEADING = /^ {0,3}#{1,6}\s+(.*)$/
const ITEM = /^(\s{0,40})([-*+]|\d{1,9}[.)])\s+(.*)$/
const RULE = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/
const QUOTE = /^ {0,3}>\s?/
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*$/
const INDENT = 2
const MAX_INDENT = 8

/**
 * Markdown of an agent, which is untrusted. The result has elements without attributes of the text and text nodes: no HTML, no
 * image, no link. A link shows its target as text: `[here](https://a.b)` -> `here (https://a.b)`.
 */
export function Markdown({ text }: { readonly text: string }) {
  const lines = visibleText(text).split('\n')
  const blocks: ComponentChildren[] = []
  let at = 0
  /** Takes a line and those after it that belong to the same block. */
  const takeWhile = (isPart: (line: string) => boolean): string[] => {
    const from = at
    do at++
    while (at < lines.length && isPart(lines[at] ?? ''))
    return lines.slice(from, at)
  }
  while (at < lines.length) {
    const line = lines[at] ?? ''
    const [, fence, info = ''] = FENCE.exec(line) ?? []
    const heading = HEADING.exec(line)?.[1]
    if (fence !== undefined) {
      const code = takeWhile(each => !each.trimStart().startsWith(fence)).slice(1)
      at++
      // All but the language of the line that opens the block.
      if (info.trim() !== '') blocks.push(<p class="small">{info.trim()}</p>)
      blocks.push(<Code text={code.join('\n')} />)
    } else if (line.trim() === '') at++
    else if (QUOTE.test(line)) {
      const quoted = takeWhile(each => QUOTE.test(each)).map(each => each.replace(QUOTE, ''))
      blocks.push(<blockquote>{withBreaks(quoted)}</blockquote>)
    } else if (RULE.test(line) || heading !== undefined) {
      at++
      blocks.push(
        heading === undefined ? (
          <hr />
        ) : (
          <p>
            <strong>{inlineOf(heading)}</strong>
          </p>
        ),
      )
    } else if (ITEM.test(line)) blocks.push(listOf(takeWhile(each => each.trim() !== '')))
    else if (TABLE_RULE.test(lines[at + 1] ?? ''))
      blocks.push(<pre>{takeWhile(each => each.includes('|')).join('\n')}</pre>)
    else blocks.push(<p>{withBreaks(takeWhile(each => !beginsBlock(each)))}</p>)
  }
  return <div class="markdown">{blocks}</div>
}

function beginsBlock(line: string): boolean {
  return line.trim() === '' || [FENCE, HEADING, ITEM, QUOTE, RULE].some(pattern => pattern.test(line))
}

/** Nested items are indented items of one list: a hostile text cannot nest elements. */
function listOf(lines: readonly string[]) {
  const items: { indent: number; marker: string; text: string[] }[] = []
  for (const line of lines) {
    const [, blank = '', marker = '', text = ''] = ITEM.exec(line) ?? []
    const indent = Math.min(MAX_INDENT, Math.floor(blank.length / INDENT))
    if (marker !== '') items.push({ indent, marker: /\d/.test(marker) ? marker : '•', text: [text] })
    else items.at(-1)?.text.push(line.trim())
  }
  return (
    <ul>
      {items.map(({ indent, marker, text }, index) => (
        <li key={index} style={{ '--indent': indent }}>
          <span aria-hidden="true">{marker}</span> <span>{withBreaks(text)}</span>
        </li>
      ))}
    </ul>
  )
}

function withBreaks(lines: readonly string[]): ComponentChildren[] {
  return lines.flatMap((line, index) => (index === 0 ? inlineOf(line) : [<br />, ...inlineOf(line)]))
}

/** Every repetition has a limit, so that no text takes long. */
const INLINE =
  /(`{1,3})(.{1,400}?)\1|!?\[([^[\]]{0,300})\]\(([^()\s]{1,500})(?:\s[^()]{0,200})?\)|(\*\*|__|~~)(?=\S)(.{1,400}?)\5|(?<![\w*])\*(?=[^\s*])([^*]{1,400})\*(?![\w*])/g
const MAX_NESTING = 3

function inlineOf(text: string, depth = 0): ComponentChildren[] {
  if (depth === MAX_NESTING) return [text]
  const parts: ComponentChildren[] = []
  let from = 0
  for (const match of text.matchAll(INLINE)) {
    const [whole, , code, label, target, sign, strong, emphasis] = match
    const inner = inlineOf(strong ?? emphasis ?? '', depth + 1)
    parts.push(text.slice(from, match.index))
    if (code !== undefined) parts.push(<code>{code}</code>)
    else if (target !== undefined) parts.push(label === '' || label === target ? target : `${label} (${target})`)
    else if (strong === undefined) parts.push(<em>{inner}</em>)
    else parts.push(sign === '~~' ? <del>{inner}</del> : <strong>{inner}</strong>)
    from = match.index + whole.length
  }
  parts.push(text.slice(from))
  return parts
}
