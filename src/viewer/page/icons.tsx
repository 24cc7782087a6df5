import type { JSX } from 'preact'
import type { DisplayKind } from '../../reading/segments.ts'

/** One shape per kind, so that colour is never the only difference. Drawn in a square of 16. */
const SHAPES: Readonly<Record<DisplayKind, string>> = {
  session: 'M8 2a3 3 0 1 1 0 6 3 3 0 0 1 0-6ZM2.5 14c.4-3 2.6-4.7 5.5-4.7s5.1 1.7 5.5 4.7Z',
  llm: 'M8 2.2a5.8 5.8 0 1 0 5.8 5.8h-2A3.8 3.8 0 1 1 8 4.2v2.1l3.6-3.1L8 .1Z',
  api: 'M8 1l1.7 5.3L15 8l-5.3 1.7L8 15l-1.7-5.3L1 8l5.3-1.7Z',
  tool: 'M10.6 1.3a4.2 4.2 0 0 0-4 5.6L1.6 12l2.5 2.4 5-5a4.2 4.2 0 0 0 5.5-5.2l-2.6 2.5-2.5-.6-.6-2.4Z',
  subagent: 'M3 1h2v6.5c0 1 .6 1.5 1.5 1.5H9V6.5L14.5 10 9 13.5V11H6.5C4.4 11 3 9.6 3 7.5Z',
  approval: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm-1 3h2v4l2.7 1.8-1.1 1.7L7 9Z',
  hook: 'M8 1l6 2v5c0 3.3-2.4 5.7-6 7-3.6-1.3-6-3.7-6-7V3Zm-.9 9.6 4-5.2-1.4-1.1-2.8 3.6-1.6-1.5-1.2 1.3Z',
  skill: 'M2 2.5c2-.8 4-.8 5.4.3V14c-1.4-1-3.4-1-5.4-.3Zm12 0c-2-.8-4-.8-5.4.3V14c1.4-1 3.4-1 5.4-.3Z',
  auxiliary:
    'M3.5 6.5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3Zm4.5 0a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3Zm4.5 0a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3Z',
  other: 'M3 3h10v10H3Z',
}

const NAMES: Readonly<Record<DisplayKind, string>> = {
  session: 'turn',
  llm: 'loop',
  api: 'model request',
  tool: 'tool',
  subagent: 'sub-agent',
  approval: 'waiting for approval',
  hook: 'guard',
  skill: 'skill',
  auxiliary: 'side call',
  other: 'span',
}

export function kindName(kind: DisplayKind): string {
  return NAMES[kind]
}

export function KindIcon({ kind }: { readonly kind: DisplayKind }): JSX.Element {
  return (
    <svg class="icon" style={{ '--kind': `var(--kind-${kind})` }} viewBox="0 0 16 16" aria-hidden="true">
      <path d={SHAPES[kind]} />
    </svg>
  )
}
