import type { DrawnKind } from './segments.ts'

/** A stretch of time in epoch milliseconds. */
export interface Extent {
  readonly startAt: number
  readonly endAt: number
}

/** Where a span lies in its turn, as fractions from 0 to 1. Clocks that went wrong stay inside. */
function fractionOf(span: Extent, whole: Extent): { readonly from: number; readonly to: number } {
  const length = whole.endAt - whole.startAt
  if (!(length > 0)) return { from: 0, to: 1 }
  const from = clamp((span.startAt - whole.startAt) / length)
  return { from, to: Math.max(from, clamp((span.endAt - whole.startAt) / length)) }
}

function clamp(fraction: number): number {
  return Math.min(1, Math.max(0, fraction))
}

/** Whole cell, left half, right half. Spans that only hold others are drawn thin, waiting for somebody dashed. */
const STROKES = { work: '━╸╺', frame: '─╴╶', wait: '╍╸╺' } as const

function strokeOf(kind: DrawnKind): string {
  if (kind === 'approval') return STROKES.wait
  return kind === 'session' || kind === 'llm' || kind === 'subagent' || kind === 'skill' ? STROKES.frame : STROKES.work
}

/** A bar of `width` cells in steps of half a cell; the shortest span still shows as one half. */
export function waterfallBar(kind: DrawnKind, span: Extent, whole: Extent, width: number): string {
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
