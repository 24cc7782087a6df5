import { withoutEmojiShaping } from './display-text.ts'
import { clipToWidth, displayWidth } from './display-width.ts'

export type DisplayKind = (typeof OWN_KINDS)[number] | 'other'

export const OWN_KINDS = [
  'session',
  'llm',
  'api',
  'tool',
  'subagent',
  'approval',
  'hook',
  'skill',
  'auxiliary',
] as const

export type Tone = DisplayKind | 'ok' | 'warn' | 'error' | 'dim' | 'plain' | 'strong'

export type TextSegment = Readonly<{ text: string; tone: Tone }>

export type Line = readonly TextSegment[]

export function segment(tone: Tone, text: string): TextSegment {
  return { tone, text }
}

export function segmentsWidth(segments: Line): number {
  return segments.reduce((width, { text }) => width + displayWidth(text), 0)
}

export function joinSegments(segments: Line, gap = ' '): TextSegment[] {
  const filled = segments.filter(({ text }) => text !== '')
  return filled.flatMap((each, index) => (index === 0 ? [each] : [segment('dim', gap), each]))
}

export function clipSegments(segments: Line, width: number): Line {
  if (segmentsWidth(segments) <= width) return segments
  const clipped: TextSegment[] = []
  let left = width
  for (const { tone, text } of segments) {
    // Keeps one cell for the ellipsis: the text after one that just fits would be cut to nothing.
    const fitting = displayWidth(text) < left ? text : clipToWidth(`${text} …`, left)
    clipped.push({ tone, text: fitting })
    left -= displayWidth(fitting)
    if (fitting !== text) break
  }
  return clipped
}

export function blankSegment(width: number): TextSegment {
  return segment('plain', ' '.repeat(Math.max(0, width)))
}

const MIN_GAP = 2

export function alignEnds(left: Line, right: Line, width: number): Line {
  const fitting = clipSegments(left, Math.max(0, width - segmentsWidth(right) - MIN_GAP))
  const gap = Math.max(MIN_GAP, width - segmentsWidth([...fitting, ...right]))
  return [...fitting, segment('plain', ' '.repeat(gap)), ...right]
}

/**
 * The sixteen colours that every terminal theme defines, so that the tree fits each theme. Kinds have the hues of the page
 * (`colours.css`) and of the export.
 */
const CODES: { readonly [Each in Tone]: string } = {
  session: '1',
  llm: '2',
  api: '94',
  tool: '32',
  subagent: '35',
  approval: '33',
  hook: '93',
  skill: '96',
  auxiliary: '36',
  other: '',
  ok: '32',
  warn: '33',
  error: '31',
  dim: '2',
  plain: '',
  strong: '1',
}

export function paintLine(segments: Line, color: boolean): string {
  const filled = [...segments]
  while (filled.at(-1)?.text.trim() === '') filled.pop()
  const painted = filled.map((each, index) => {
    const whole = withoutEmojiShaping(each.text)
    const text = index === filled.length - 1 ? whole.trimEnd() : whole
    const code = CODES[each.tone]
    return color && code !== '' && text.trim() !== '' ? `\x1b[${code}m${text}\x1b[0m` : text
  })
  return painted.join('')
}
