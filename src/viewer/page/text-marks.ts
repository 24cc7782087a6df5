import { useEffect } from 'preact/hooks'

const NAME = 'match'
/** Guards against a page with very many matches. */
const MAX_MARKS = 1_000

/** Marks the texts wherever the view shows them, without a change of its elements. Older browsers show no marks. */
export function useTextMarks(texts: readonly string[]): void {
  const sought = texts.map(text => text.trim().toLowerCase()).filter(text => text !== '')
  useEffect(() => {
    const main = document.getElementById('main')
    const { highlights } = CSS as Partial<typeof CSS>
    if (main === null || highlights === undefined || sought.length === 0) return undefined
    const mark = (): void => void highlights.set(NAME, new Highlight(...rangesIn(main, sought)))
    const observer = new MutationObserver(mark)
    observer.observe(main, { childList: true, characterData: true, subtree: true })
    mark()
    return () => {
      observer.disconnect()
      highlights.delete(NAME)
    }
  }, [sought.join('\n')])
}

function rangesIn(root: Node, sought: readonly string[]): Range[] {
  const ranges: Range[] = []
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null && ranges.length < MAX_MARKS; node = walker.nextNode()) {
    const text = node.textContent?.toLowerCase() ?? ''
    // Some capitals have more characters in lower case, so places would not match.
    if (text.length !== node.textContent?.length) continue
    for (const each of sought) {
      for (let at = text.indexOf(each); at >= 0; at = text.indexOf(each, at + each.length)) {
        const range = new Range()
        range.setStart(node, at)
        range.setEnd(node, at + each.length)
        ranges.push(range)
      }
    }
  }
  return ranges
}
