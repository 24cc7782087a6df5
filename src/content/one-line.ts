const ESC = String.fromCharCode(0x1b)
const CSI = String.fromCharCode(0x9b)
const BEL = String.fromCharCode(0x07)
const ST = String.fromCharCode(0x9c)
/** OSC, DCS, SOS, PM and APC carry text up to a terminator; the 8-bit forms are single characters. */
const TEXT_STARTS = [0x9d, 0x90, 0x98, 0x9e, 0x9f].map(code => String.fromCharCode(code)).join('')

const SEQUENCES = new RegExp(
  [
    `(?:${ESC}\\[|${CSI})[0-?]{0,64}[ -/]{0,8}[@-~]`,
    // Runs of it cannot overlap (it stops at every introducer), so text without a terminator costs no more.
    `(?:${ESC}[\\]PX^_]|[${TEXT_STARTS}])[^${BEL}${ESC}${ST}${TEXT_STARTS}]{0,2048}(?:${BEL}|${ESC}\\\\|${ST})`,
    `${ESC}[ -/]{0,8}[0-~]`,
  ].join('|'),
  'g',
)

const code = (first: number, last: number): string => `${String.fromCharCode(first)}-${String.fromCharCode(last)}`
/** C0 and C1, but for what is white space. */
const CONTROLS = [code(0x00, 0x08), code(0x0e, 0x1f), code(0x7f, 0x84), code(0x86, 0x9f)].join('')
const HAS_CONTROLS = new RegExp(`[${CONTROLS}]`)
const ALL_CONTROLS = new RegExp(`[${CONTROLS}]`, 'g')
/** In two steps: replacing each run of white space would replace every single space by itself. */
const OTHER_SPACE = /[^\S ]|\u0085/g
const SPACES = / {2,}/g

/** Without terminal sequences (7-bit and 8-bit) and control characters; white space stays. */
export function withoutControls(text: string): string {
  return HAS_CONTROLS.test(text) ? text.replace(SEQUENCES, '').replace(ALL_CONTROLS, '') : text
}

/** What colours a word, also as JSON, Python, a shell and `cat -v` spell the escape character. */
const COLOURS = new RegExp(
  `(?:${ESC}\\[|${CSI}|\\\\{1,16}(?:u001[bB]|x1[bB]|0?33|e)\\[|\\^\\[\\[)[0-?]{0,64}[ -/]{0,8}[@-~]`,
  'g',
)

/** Without terminal colours: `grep --color` puts them into the middle of what it found. */
export function withoutColours(text: string): string {
  // Four searches for a character cost a tenth of one for the pattern.
  const mayHave = text.includes(ESC) || text.includes('\\') || text.includes(CSI) || text.includes('^[[')
  return mayHave ? text.replace(COLOURS, '') : text
}

/** A text as one line: no terminal sequences, no control characters, runs of white space as one space, trimmed. */
export function oneLine(text: string): string {
  return withoutControls(text).replace(OTHER_SPACE, ' ').replace(SPACES, ' ').trim()
}
