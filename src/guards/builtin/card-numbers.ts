export interface CardNumber {
  readonly start: number
  readonly end: number
}

const SEPARATOR = '[ \\-\\u00a0\\u2009\\u202f\\u2010-\\u2013]'
const DIGITS = new RegExp(`\\d+(?:${SEPARATOR}\\d+)*`, 'g')
const BLOCK = /\d+/g
const FEWEST = 13
const MAX_PREFIX = 4

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
 * Finds payment card numbers: the prefix and length of an issuer and a valid check digit, in one block or separated by single
 * spaces or dashes. Parts of a longer run of digits, of a word or of a fraction do not match.
 */
export function cardNumbersIn(text: string): CardNumber[] {
  const found: CardNumber[] = []
  for (const run of text.matchAll(DIGITS)) if (run[0].length >= FEWEST) addCards(found, text, run[0], run.index)
  return found
}

function addCards(found: CardNumber[], text: string, run: string, start: number): void {
  const blocks = [...run.matchAll(BLOCK)]
  const digits = blocks.map(([block]) => block).join('')
  /** The end in the text for each digit position at a block boundary; 0 inside a block. */
  const ends = new Uint32Array(digits.length + 1)
  let place = 0
  for (const block of blocks) {
    place += block[0].length
    ends[place] = start + block.index + block[0].length
  }
  let taken = 0
  place = 0
  for (const block of blocks) {
    const length = place < taken ? 0 : cardAt(text, digits, place, start + block.index, ends)
    if (length > 0) {
      taken = place + length
      found.push({ start: start + block.index, end: ends[taken] ?? 0 })
    }
    place += block[0].length
  }
}

function cardAt(text: string, digits: string, place: number, start: number, ends: Uint32Array): number {
  const begun = digits.slice(place, place + MAX_PREFIX)
  let most = 0
  for (const [prefix, lengths] of ISSUERS) {
    if (!prefix.test(begun)) continue
    for (const length of lengths) {
      const end = ends[place + length] ?? 0
      if (length > most && end > 0 && hasCheckDigit(digits, place, place + length) && endsAlone(text, end))
        most = length
    }
  }
  return most > 0 && beginsAlone(text, start) ? most : 0
}

/** True unless a letter or a decimal point precedes. The letter of an escaped line break (`\n`) does not count. */
function beginsAlone(text: string, start: number): boolean {
  const before = text.slice(Math.max(0, start - 2), start)
  return !/[\p{L}_]$|\d\.$/u.test(before) || /\\[nrt]$/.test(before)
}

function endsAlone(text: string, end: number): boolean {
  return !/^(?:[\p{L}_]|\.\d)/u.test(text.slice(end, end + 2))
}

function hasCheckDigit(digits: string, from: number, to: number): boolean {
  let sum = 0
  for (let place = to - 1; place >= from; place--) {
    const digit = digits.charCodeAt(place) - 48
    const twice = digit * 2
    sum += (to - 1 - place) % 2 === 0 ? digit : twice > 9 ? twice - 9 : twice
  }
  return sum % 10 === 0
}
