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
/** Two steps: a single pattern for runs of white space would also replace every single space. */
const OTHER_SPACE = /[^\S ]|\u0085/g
const SPACES = / {2,}/g

export function withoutControls(text: string): string {
  return HAS_CONTROLS.test(text) ? text.replace(SEQUENCES, '').replace(ALL_CONTROLS, '') : text
}

/** Terminal colours, including the spellings of the escape character in JSON, Python, shells and `cat -v`. */
const COLOURS = new RegExp(
  `(?:${ESC}\\[|${CSI}|\\\\{1,16}(?:u001[bB]|x1[bB]|0?33|e)\\[|\\^\\[\\[)[0-?]{0,64}[ -/]{0,8}[@-~]`,
  'g',
)

/** Removes terminal colours: `grep --color` inserts them into its matches. */
export function withoutColours(text: string): string {
  // Four character searches cost a tenth of the pattern.
  const mayHave = text.includes(ESC) || text.includes('\\') || text.includes(CSI) || text.includes('^[[')
  return mayHave ? text.replace(COLOURS, '') : text
}

export function oneLine(text: string): string {
  return withoutControls(text).replace(OTHER_SPACE, ' ').replace(SPACES, ' ').trim()
}
