/**
 * The terminal cells of a text, as in `wcwidth`. Combining marks and format characters take 0, East Asian wide characters and
 * emoji 2, all others 1.
 */

const ASCII = /^[\x20-\x7e]*$/
const ZERO = /^[\p{Mn}\p{Me}\p{Cf}\p{Emoji_Modifier}]$/u
const EMOJI = /^\p{Emoji_Presentation}$/u

const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2329, 0x232a],
  [0x2e80, 0x303e],
  [0x3041, 0x4dbf],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18dff],
  [0x1b000, 0x1b2ff],
  [0x20000, 0x3fffd],
]

/** Two regional indicators make one flag of two cells, so each counts as one. */
function isRegionalIndicator(codePoint: number): boolean {
  return codePoint >= 0x1f1e6 && codePoint <= 0x1f1ff
}

function characterWidth(character: string): number {
  const codePoint = character.codePointAt(0) ?? 0
  if (codePoint < 0x300) return 1
  if (ZERO.test(character)) return 0
  if (isRegionalIndicator(codePoint)) return 1
  const isWide = WIDE.some(([first, last]) => codePoint >= first && codePoint <= last)
  return isWide || EMOJI.test(character) ? 2 : 1
}

export function displayWidth(text: string): number {
  if (ASCII.test(text)) return text.length
  let width = 0
  for (const character of text) width += characterWidth(character)
  return width
}

export function clipToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  let clipped = ''
  let used = 0
  for (const character of text) {
    used += characterWidth(character)
    if (used > width - 1) break
    clipped += character
  }
  return width < 1 ? '' : `${clipped.trimEnd()}…`
}

export function wrapToWidth(text: string, width: number): string[] {
  const pieces: string[] = []
  let piece = ''
  let used = 0
  for (const character of text) {
    const cells = characterWidth(character)
    if (used + cells > width && piece !== '') {
      const blank = piece.lastIndexOf(' ')
      const cut = character !== ' ' && blank > (piece.length * 2) / 3 ? blank + 1 : piece.length
      pieces.push(piece.slice(0, cut).trimEnd())
      piece = piece.slice(cut)
      used = displayWidth(piece)
      if (character === ' ' && piece === '') continue
    }
    piece += character
    used += cells
  }
  pieces.push(piece)
  return pieces
}

export function padEndToWidth(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)))
}

export function padStartToWidth(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - displayWidth(text))) + text
}
