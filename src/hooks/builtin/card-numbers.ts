/** A place in a text: from `start` up to, not including, `end`. */
export interface CardNumber {
  readonly start: number
  readonly end: number
}

const SEPARATOR = '[ \\-\\u00a0\\u2009\\u202f\\u2010-\\u2013]'
const DIGITS = new RegExp(`\\d+(?:${SEPARATOR}\\d+)*`, 'g')
const BLOCK = /\d+/g
const FEWEST = 13
const MOST = 19

/** How the numbers of an issuer begin, and how many digits they have. */
const ISSUERS: readonly (readonly [prefix: RegExp, lengths: readonly number[]])[] = [
  [/^4/, [13, 16, 19]],
  [/^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^(?:6011|64[4-9]|65)/, [16, 17, 18, 19]],
  [/^(?:30[0-5]|309|36|38|39)/, [14, 15, 16, 17, 18, 19]],
  [/^35(?:2[89]|[3-8])/, [16, 17, 18, 19]],
  [/^62/, [16, 17, 18, 19]],
  [/^(?:5018|5020|5038|5893|6304|6759|676[1-3])/, [13, 14, 15, 16, 17, 18, 19]],
  [/^220[0-4]/, [16, 17, 18, 19]],
  [/^(?:60|81|82|508)/, [16]],
]

/**
 * Numbers of payment cards: as long as an issuer's, begun like them, with a right check digit, written in one or with single
 * spaces or dashes in between. Not a part of a longer run of digits, of a word or of a fraction.
 */
export function cardNumbersIn(text: string): CardNumber[] {
  const found: CardNumber[] = []
  for (const run of text.matchAll(DIGITS)) {
    if (run[0].length < FEWEST) continue
    const blocks = [...run[0].matchAll(BLOCK)].map(block => ({ digits: block[0], start: run.index + block.index }))
    for (let at = 0; at < blocks.length; at++) {
      const count = cardAt(text, blocks, at)
      const last = blocks[at + count - 1]
      if (count === 0 || last === undefined) continue
      found.push({ start: blocks[at]?.start ?? 0, end: last.start + last.digits.length })
      at += count - 1
    }
  }
  return found
}

interface Block {
  readonly digits: string
  readonly start: number
}

/** How many blocks from here on are a card's number: the most that are; 0 for none. */
function cardAt(text: string, blocks: readonly Block[], from: number): number {
  let digits = ''
  let most = 0
  let lengths: readonly number[] | undefined
  for (let at = from; at < blocks.length; at++) {
    const block = blocks[at] as Block
    digits += block.digits
    if (digits.length > MOST) break
    if (digits.length < FEWEST) continue
    lengths ??= lengthsOf(digits)
    if (lengths.length === 0) break
    if (!lengths.includes(digits.length) || !hasCheckDigit(digits)) continue
    if (endsAlone(text, block.start + block.digits.length)) most = at - from + 1
  }
  return most > 0 && beginsAlone(text, blocks[from]?.start ?? 0) ? most : 0
}

/** How long a card's number may be that begins so. */
function lengthsOf(digits: string): readonly number[] {
  return ISSUERS.flatMap(([prefix, lengths]) => (prefix.test(digits) ? lengths : []))
}

/** Not behind a letter or a decimal point; the letter of an escaped line break is none. */
function beginsAlone(text: string, start: number): boolean {
  const before = text.slice(Math.max(0, start - 2), start)
  return !/[\p{L}_]$|\d\.$/u.test(before) || /\\[nrt]$/.test(before)
}

function endsAlone(text: string, end: number): boolean {
  return !/^(?:[\p{L}_]|\.\d)/u.test(text.slice(end, end + 2))
}

/** Luhn: every second digit from the right counts twice, its own digits added up. */
function hasCheckDigit(digits: string): boolean {
  let sum = 0
  for (let place = 0; place < digits.length; place++) {
    const digit = digits.charCodeAt(digits.length - 1 - place) - 48
    const twice = digit * 2
    sum += place % 2 === 0 ? digit : twice > 9 ? twice - 9 : twice
  }
  return sum % 10 === 0
}
