import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { humanCount } from '../../reading/human-figures.ts'
import { visibleValue } from './shown.ts'

/** Longer texts are collapsed, so that what follows stays within reach. */
const FEW_LINES = 24
const FEW_CHARS = 3_000

export function LongText({ text }: { readonly text: string }): JSX.Element {
  const [isAll, setAll] = useState(false)
  const lines = text.split('\n')
  const isLong = lines.length > FEW_LINES + 4 || text.length > FEW_CHARS * 1.2
  const part = isAll || !isLong ? text : lines.slice(0, FEW_LINES).join('\n').slice(0, FEW_CHARS)
  return (
    <div class="long-text">
      <pre>{visibleValue(part)}</pre>
      {isLong && (
        <button type="button" class="quiet" onClick={() => setAll(!isAll)}>
          {isAll ? 'Less' : `All of it: ${humanCount(lines.length)} lines, ${humanCount(text.length)} characters`}
        </button>
      )}
    </div>
  )
}
