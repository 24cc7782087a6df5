import type { DisplayKind } from './segments.ts'

/** A period of time in epoch milliseconds. */
export interface Extent {
  readonly startAt: number
  readonly endAt: number
}

/** The position of a span in its turn, as fractions from 0 to 1. Wrong clocks are clamped. */
function fractionOf(span: Extent, whole: Extent): { readonly from: number; readonly to: number } {
  const length = whole.endAt - whole.startAt
  if (!(length > 0)) return { from: 0, to: 1 }
  const from = clamp((span.startAt - whole.startAt) / length)
  return { from, to: Math.max(from, clamp((span.endAt - whole.startAt) / length)) }
}

function clamp(fraction: number): number {
  return Math.min(1, Math.max(0, fraction))
}

/** Whole cell, left half, right half. Framing spans are thin, waits for the user dashed. */
const STROKES = { work: '━╸╺', frame: '─╴╶', wait: '╍╸╺' } as const

function strokeOf(kind: DisplayKind): string {
  if (kind === 'approval') return STROKES.wait
  return kind === 'session' || kind === 'llm' || kind === 'subagent' || kind === 'skill' ? STROKES.frame : STROKES.work
}

/** A bar of `width` cells in steps of half a cell. The shortest span is one half cell. */
export function waterfallBar(kind: DisplayKind, span: Extent, whole: Extent, width: number): string {
  const { from, to } = fractionOf(span, whole)
  const halves = width * 2
  const first = Math.min(halves - 1, Math.floor(from * halves))
  const end = Math.max(first + 1, Math.ceil(to * halves))
  const [both = '', left = '', right = ''] = strokeOf(kind)
  const covers = (half: number): boolean => half >= first && half < end
  return Array.from({ length: width }, (_, cell) => {
    if (covers(cell * 2)) return covers(cell * 2 + 1) ? both : left
    return covers(cell * 2 + 1) ? right : ' '
  }).join('')
}
