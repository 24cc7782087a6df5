const ESC = String.fromCharCode(0x1b)
const CSI = String.fromCharCode(0x9b)
const BEL = String.fromCharCode(0x07)
const ST = String.fromCharCode(0x9c)
/** OSC, DCS, SOS, PM and APC contain text up to a terminator. The 8-bit forms are single characters. */
const TEXT_STARTS = [0x9d, 0x90, 0x98, 0x9e, 0x9f].map(code => String.fromCharCode(code)).join('')

const SEQUENCES = new RegExp(
  [
    `(?:${ESC}\\[|${CSI})[0-?]{0,64}[ -/]{0,8}[@-~]`,
    // Runs cannot overlap (each stops at every introducer), so text without a terminator costs no more.
    `(?:${ESC}[\\]PX^_]|[${TEXT_STARTS}])[^${BEL}${ESC}${ST}${TEXT_STARTS}]{0,2048}(?:${BEL}|${ESC}\\\\|${ST})`,
    `${ESC}[ -/]{0,8}[0-~]`,
  ].join('|'),
  'g',
)

const code = (first: number, last: number): string => `${String.fromCharCode(first)}-${String.fromCharCode(last)}`
/** C0 and C1 control characters, except white space. */
const CONTROLS = [code(0x00, 0x08), code(0x0e, 0x1f), code(0x7f, 0x84), code(0x86, 0x9f)].join('')
const HAS_CONTROLS = new RegExp(`[${CONTROLS}]`)
const ALL_CONTROLS = new RegExp(`[${CONTROLS}]`, 'g')
/** White space other than a single space, which stays: a pattern of all runs would replace each space of the text by itself. */
const UNEVEN_SPACE = /[\s\u0085]{2,}|[^\S ]|\u0085/g
/** The first character that `oneLine` changes. One class: V8 then searches twice as fast. */
const UNEVEN = new RegExp(`[${CONTROLS}\t-\r\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]| {2}`)

export function withoutControls(text: string): string {
  return HAS_CONTROLS.test(text) ? text.replace(SEQUENCES, '').replace(ALL_CONTROLS, '') : text
}

/** Terminal colours, including the spellings of the escape character in JSON, Python, shells and `cat -v`. */
const COLOURS = new RegExp(
  `(?:${ESC}\\[|${CSI}|\\\\{1,16}(?:u001[bB]|x1[bB]|0?33|e)\\[|\\^\\[\\[)[0-?]{0,64}[ -/]{0,8}[@-~]`,
  'g',
)

/** Removes terminal colours, which `grep --color` inserts. Four character searches cost a tenth of the pattern. */
export function withoutColours(text: string): string {
  const mayHave = text.includes(ESC) || text.includes('\\') || text.includes(CSI) || text.includes('^[[')
  return mayHave ? text.replace(COLOURS, '') : text
}

/** True if a line has this text as it is, except for white space around it. */
export function isEven(text: string): boolean {
  return !UNEVEN.test(text)
}

/** One line of a text without control characters. */
export function collapseSpace(text: string): string {
  return text.replace(UNEVEN_SPACE, ' ').trim()
}

export function oneLine(text: string): string {
  return isEven(text) ? text.trim() : collapseSpace(withoutControls(text))
}

/** How much of a text without control characters collapses to a line of `lineLength` characters, or one less. */
export function lengthForLine(text: string, lineLength: number): number {
  let length = lineLength
  UNEVEN_SPACE.lastIndex = 0
  while (length < text.length) {
    const space = UNEVEN_SPACE.exec(text)
    if (space === null || space.index >= length) return length
    length += space[0].length - (space.index === 0 ? 0 : 1)
  }
  return text.length
}
