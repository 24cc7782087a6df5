import { useEffect } from 'preact/hooks'

const NAME = 'match'
/** Guards against a page with very many matches. */
const MAX_MARKS = 1_000

/** Marks the texts wherever the view shows them, without a change of its elements. Older browsers show no marks. */
export function useTextMarks(texts: readonly string[]): void {
  const sought = texts.map(text => text.trim().replace(/[^\w\s]/g, '\\$&')).filter(text => text !== '')
  useEffect(() => {
    const main = document.getElementById('main')
    const { highlights } = CSS as Partial<typeof CSS>
    if (main === null || highlights === undefined || sought.length === 0) return undefined
    const pattern = new RegExp(sought.join('|'), 'gi')
    const mark = (): void => void highlights.set(NAME, new Highlight(...rangesIn(main, pattern)))
    const observer = new MutationObserver(mark)
    observer.observe(main, { childList: true, characterData: true, subtree: true })
    mark()
    return () => {
      observer.disconnect()
      highlights.delete(NAME)
    }
  }, [sought.join('\n')])
}

function rangesIn(root: Node, pattern: RegExp): Range[] {
  const ranges: Range[] = []
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null && ranges.length < MAX_MARKS; node = walker.nextNode()) {
    for (const { index, 0: match } of node.textContent?.matchAll(pattern) ?? []) {
      const range = new Range()
      range.setStart(node, index)
      range.setEnd(node, index + match.length)
      ranges.push(range)
    }
  }
  return ranges
}
