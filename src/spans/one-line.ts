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

const NEEDS_STRIPPING = /(?![\t\n\r])\p{Cc}/u
const CONTROLS = /(?![\t\n\v\f\r\u0085])\p{Cc}/gu
const SPACE = /[\s\u0085]+/g
const NEEDS_COLLAPSING = /[^\S ]|\u0085| {2}/

/** Without terminal sequences (7-bit and 8-bit) and control characters; white space stays. */
export function withoutControls(text: string): string {
  return NEEDS_STRIPPING.test(text) ? text.replace(SEQUENCES, '').replace(CONTROLS, '') : text
}

/** A text as one line: no terminal sequences, no control characters, runs of white space as one space, trimmed. */
export function oneLine(text: string): string {
  const stripped = withoutControls(text)
  return (NEEDS_COLLAPSING.test(stripped) ? stripped.replace(SPACE, ' ') : stripped).trim()
}
