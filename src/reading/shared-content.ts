import { displayText } from './display-text.ts'
import { countOf, humanCount } from './human-figures.ts'
import { type TraceTree, walkTree } from './trace-forest.ts'

const MASK = '[REDACTED]'
const CUT_MARK = '.content.truncated'
const MIN_CONTENT_CHARS = 40

export type AlteredValue = Readonly<{ span: string; attribute: string; count: number }>

interface SharedContent {
  spans: number
  texts: number
  chars: number
  readonly masked: AlteredValue[]
  readonly cut: AlteredValue[]
}

export function sharedContent(trees: Iterable<TraceTree>): SharedContent {
  const found: SharedContent = { spans: 0, texts: 0, chars: 0, masked: [], cut: [] }
  for (const tree of trees) {
    for (const { node } of walkTree(tree)) {
      found.spans += 1
      const span = displayText(node.span.name)
      for (const [name, value] of Object.entries(node.span.attributes)) {
        if (name.endsWith(CUT_MARK) && value === true) found.cut.push({ span, attribute: '', count: 1 })
        const text = typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : ''
        const count = text.split(MASK).length - 1
        const attribute = displayText(name)
        if (count > 0) found.masked.push({ span, attribute, count })
        if (text.endsWith('…')) found.cut.push({ span, attribute, count: 1 })
        if (text.length < MIN_CONTENT_CHARS) continue
        found.texts += 1
        found.chars += text.length
      }
    }
  }
  return found
}

const MAX_NAMED = 20

export function* sharedContentLines({ spans, texts, chars, masked, cut }: SharedContent): Generator<string, void> {
  yield `${countOf(spans, 'span')}, ${countOf(texts, 'text')} with ${humanCount(chars)} characters in total`
  yield masked.length === 0
    ? 'no secret was masked: there was none, or none was recognised'
    : `secrets were masked in ${countOf(masked.length, 'value')}:`
  yield* nameLines(masked)
  yield cut.length === 0
    ? 'no value was truncated when recorded'
    : `${countOf(cut.length, 'value')} truncated when recorded:`
  yield* nameLines(cut)
}

function* nameLines(values: readonly AlteredValue[]): Generator<string, void> {
  for (const { span, attribute, count } of values.slice(0, MAX_NAMED)) {
    yield `  ${[span, attribute].filter(text => text !== '').join('  ')}${count > 1 ? `  ×${count}` : ''}`
  }
  if (values.length > MAX_NAMED) yield `  … and ${humanCount(values.length - MAX_NAMED)} more`
}
