import type { JSX } from 'preact'
import type { ComparedLine } from '../server/api.ts'
import { visibleValue } from './shown.ts'

const CLASSES = { ' ': '', '-': 'is-gone', '+': 'is-new' } as const
const SIGNS = { ' ': ' ', '-': '−', '+': '+' } as const

export function DiffText({
  lines,
  rest = '',
}: {
  readonly lines: readonly ComparedLine[]
  readonly rest?: string
}): JSX.Element {
  return (
    <pre class="diff">
      {lines.map(({ sign, text }, index) => (
        <span key={`${index}${sign}`} class={CLASSES[sign]}>
          {SIGNS[sign]} {visibleValue(text)}
          {'\n'}
        </span>
      ))}
      {rest}
    </pre>
  )
}
