/**
 * Types for data that may leave the process. A string reaches a span only as `SafeText`, and only `Capture`
 * (`capture-policy.ts`) creates one from a payload. An unredacted payload string therefore does not type-check as an attribute.
 * The functions here convert our own constants (`literal`), or combine texts that are safe already.
 */

declare const safe: unique symbol

export type SafeText = string & { readonly [safe]: true }

/** Constant strings. `never` for `string`, and for a pattern such as `tool.${string}`. */
type Constant<Text extends string> = Record<never, never> extends Record<Text, unknown> ? never : Text

/** For our own constants only: a payload string does not compile here. */
export function literal<const Text extends string>(constant: Constant<Text>): SafeText {
  return constant as string as SafeText
}

export function phrase(words: TemplateStringsArray, ...texts: readonly SafeText[]): SafeText {
  let phrase = words[0] ?? ''
  for (let at = 0; at < texts.length; at++) phrase += `${texts[at]}${words[at + 1]}`
  return phrase as SafeText
}

/** A cut may leave half a surrogate pair behind. */
const LONE_HIGH_SURROGATE = /[\uD800-\uDBFF]$/

/** Joins texts and cuts them to `limit` characters, including the ellipsis. Undefined if there are none. */
export function joined(texts: Iterable<SafeText>, separator: ',' | '|', limit: number): SafeText | undefined {
  const text = [...texts].join(separator)
  if (text === '') return undefined
  if (text.length <= limit) return text as SafeText
  return `${text.slice(0, limit - 3).replace(LONE_HIGH_SURROGATE, '')}...` as SafeText
}

type SafeData = SafeText | number | boolean | undefined | readonly SafeData[] | { readonly [name: string]: SafeData }

export function safeJson(data: SafeData): SafeText {
  return JSON.stringify(data) as SafeText
}

/** Masks the secrets of a text. */
export type TextRedactor = (text: string) => string

/** `off`: no content at all. `preview`: clipped one-line previews. `full`: whole values up to `content_max_chars`. */
export type ContentMode = 'off' | 'preview' | 'full'

export type ContentCategory = 'tool_input' | 'tool_output' | 'llm_input' | 'llm_output'

export interface CapturedContent {
  readonly text: SafeText
  /** `application/json` only if `text` parses as JSON, even after a cut. Otherwise `text/plain`. */
  readonly mimeType: SafeText
  readonly truncated: boolean
}

export interface CapturedEntry {
  readonly name: SafeText
  readonly value: SafeText | number | boolean
}
