/** All but quote, backslash, control characters, surrogates, and what is a line break to some readers of lines. */
export const MUST_ESCAPE: RegExp = /[^ !#-[\]-\u0084\u0086-\u2027\u202a-\ud7ff\ue000-\uffff]/
const LINE_BREAKS_BESIDES = ['\u0085', '\u2028', '\u2029']
/** A longer text is content, which comes again within moments or never. */
export const SHORT_CHARS = 128
const MAX_RECENT = 8
const MAX_RECENT_CHARS = 1 << 16
const OPENING = /^[[{]/

/** Spans carry the same content under the names of several conventions, and the end of a turn carries it once more. */
const recentTexts: string[] = Array(MAX_RECENT).fill('')
const recentJson: string[] = Array(MAX_RECENT).fill('""')
let oldest = 0

/** One JSON string. It holds no line break of any kind, and has a form in UTF-8 also where surrogates are alone. */
export function stringJson(text: string): string {
  if (text.length > SHORT_CHARS) return longStringJson(text)
  return MUST_ESCAPE.test(text) ? escaped(text) : `"${text}"`
}

/** The same for a long text, which is looked for among the last ones first. */
export function longStringJson(text: string): string {
  for (let place = 0; place < MAX_RECENT; place++) {
    if (recentTexts[place] === text) return recentJson[place] as string
  }
  // JSON in JSON has a quote to escape soon after its start.
  const json = OPENING.test(text) || MUST_ESCAPE.test(text) ? escaped(text) : `"${text}"`
  if (text.length <= MAX_RECENT_CHARS) {
    recentTexts[oldest] = text
    recentJson[oldest] = json
    oldest = (oldest + 1) % MAX_RECENT
  }
  return json
}

/** Content must not stay in memory until other content comes. */
export function forgetLongStrings(): void {
  recentTexts.fill('')
  recentJson.fill('""')
}

function escaped(text: string): string {
  let json = JSON.stringify(text)
  for (const character of LINE_BREAKS_BESIDES) {
    if (json.includes(character)) json = json.replaceAll(character, unicodeEscape(character))
  }
  return json
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
