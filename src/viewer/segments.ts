import { clipToWidth, displayWidth } from './display-width.ts'

export type DrawnKind = 'session' | 'llm' | 'api' | 'tool' | 'subagent' | 'approval' | 'skill' | 'auxiliary' | 'other'

/** What a piece of text means. The terminal and the picture each have a colour for it. */
export type Tone = DrawnKind | 'ok' | 'warn' | 'error' | 'dim' | 'plain' | 'strong'

/** Printable text (see `displayText`) of one colour. */
export interface Segment {
  readonly text: string
  readonly tone: Tone
}

export function segment(tone: Tone, text: string): Segment {
  return { tone, text }
}

export function segmentsWidth(segments: readonly Segment[]): number {
  return segments.reduce((width, { text }) => width + displayWidth(text), 0)
}

/** Puts a gap between segments and leaves out the empty ones. */
export function spaced(segments: readonly Segment[], gap = ' '): Segment[] {
  const filled = segments.filter(({ text }) => text !== '')
  return filled.flatMap((each, index) => (index === 0 ? [each] : [segment('dim', gap), each]))
}

/** The first `width` cells, the last of them an ellipsis when something was cut. */
export function clipSegments(segments: readonly Segment[], width: number): readonly Segment[] {
  if (segmentsWidth(segments) <= width) return segments
  const clipped: Segment[] = []
  let left = width
  for (const { tone, text } of segments) {
    // One cell is kept for the ellipsis: what follows a text that just fits would have to be cut to nothing.
    const fitting = displayWidth(text) < left ? text : clipToWidth(`${text} …`, left)
    clipped.push({ tone, text: fitting })
    left -= displayWidth(fitting)
    if (fitting !== text) break
  }
  return clipped
}
