/** Longer texts are cut first: the result is one line, and the patterns below must not scan megabytes. */
const MAX_CHARS = 2_000

/** Removes whole ANSI sequences, payload included (a title, a hyperlink), so that no residue is read as text. */
const ANSI =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this takes out
  /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]/g

/** More combining marks than a script needs would overlap the neighbouring lines. */
const STACKED_MARKS = /(\p{M}{4})\p{M}+/gu

/** Printable ASCII without double blanks: most texts, and the same on one line. A turn has thousands of them. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/

/**
 * Makes text of a trace safe to show on one line. Removes everything that moves a cursor, sets a colour, changes the writing
 * direction or hides. Joiners and selectors that shape letters and emoji stay. All trace text shown in a terminal or a picture
 * passes through here.
 */
export function displayText(text: string): string {
  if (text.length <= MAX_CHARS && PLAIN.test(text)) return text
  return text
    .slice(0, MAX_CHARS)
    .replace(ANSI, '')
    .replace(/\s+/g, ' ')
    .replace(HIDDEN, '')
    .replace(STACKED_MARKS, '$1')
    .trim()
}

export function displayLines(text: string): string[] {
  const lines = text.replace(ANSI, '').split(/\r\n|[\n\r\u0085\u2028\u2029]/)
  return lines.map(line =>
    line.replaceAll('\t', '    ').replace(/\s/g, ' ').replace(HIDDEN, '').replace(STACKED_MARKS, '$1').trimEnd(),
  )
}

/**
 * Makes all text visible for a page: unprintable characters become a sign (`␛`) or a code point (`⟨U+202E⟩`), so that a command
 * hides nothing from its reader. The length is not limited.
 */
export function visibleText(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(HIDDEN, signOf).replace(STACKED_MARKS, '$1')
}

function signOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (character === '\n' || character === '\t') return character
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  if (code === 0x7f) return '␡'
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
}

/**
 * Invisible characters: control and format characters (bidi overrides, zero-width ones), unpaired surrogates, code points that
 * XML forbids, and those that fonts draw as nothing.
 */
const INVISIBLE = String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}\u2028\u2029]`

/** A letter of a script that uses joiners, for example Arabic or Devanagari. In other scripts a joiner only hides text. */
const JOINED_LETTER = String.raw`(?![\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hangul}])[\p{L}\p{M}]`

/**
 * Invisible characters that belong to the character before them. Only one is allowed: a longer run could carry hidden text.
 * - 'می‌خواهم' (U+200C between letters), 'ක්‍ෂ' (U+200D)
 * - '👩‍👧' (U+200D between emoji), '❤️' (U+FE0F), '1️⃣' (U+FE0F and U+20E3), variants of ideographs
 */
const SHAPING = [
  String.raw`(?<=${JOINED_LETTER})[\u200C\u200D](?=${JOINED_LETTER})`,
  String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])\u200D(?=\p{Extended_Pictographic})`,
  String.raw`(?<=\p{Extended_Pictographic})[\uFE0E\uFE0F]`,
  String.raw`(?<=[0-9#*])\uFE0F(?=\u20E3)`,
  String.raw`(?<=\p{sc=Han})[\uFE00-\uFE02\u{E0100}-\u{E01EF}]`,
  String.raw`(?<=\p{sc=Mong})[\u180B-\u180D]`,
].join('|')

export const HIDDEN: RegExp = new RegExp(`(?=${INVISIBLE})(?!${SHAPING})[^]`, 'gu')

/** Terminals disagree about the cells of an emoji with these. Without them each emoji has its own width. */
const EMOJI_SHAPING = /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F)\u200D|\p{Variation_Selector}/gu

export function withoutEmojiShaping(text: string): string {
  return text.replace(EMOJI_SHAPING, '')
}
