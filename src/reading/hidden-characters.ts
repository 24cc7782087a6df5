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
