/**
 * The terminal cells of a text, as in `wcwidth`. Combining marks and format characters take 0, East Asian wide characters and
 * emoji 2, all others 1.
 */

const ASCII = /^[\x20-\x7e]*$/
const ZERO = /^[\p{Mn}\p{Me}\p{Cf}\p{Emoji_Modifier}]$/u
/** Two of these make one flag of two cells, so each counts as one. */
const REGIONAL_INDICATOR = /^[\u{1f1e6}-\u{1f1ff}]$/u
const WIDE =
  /^[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]$/u

function characterWidth(character: string): number {
  if ((character.codePointAt(0) ?? 0) < 0x300) return 1
  if (ZERO.test(character)) return 0
  return WIDE.test(character) && !REGIONAL_INDICATOR.test(character) ? 2 : 1
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
