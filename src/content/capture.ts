/**
 * Types for data that may leave the process. A string reaches a span only as `SafeText`, and only a `Capture` creates one from
 * a payload. An unredacted payload string therefore does not type-check as an attribute. The functions here convert our own
 * constants (`literal`), or combine texts that are safe already.
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

/**
 * The compiled capture policy. Never throws, whatever the value. Cost is linear in the limit, not in the value. Its functions
 * do not use `this`, so they can be destructured (`const { id } = capture`).
 */
export interface Capture {
  readonly mode: ContentMode
  readonly conversationHistory: boolean
  readonly senderId: boolean

  /**
   * Captures ids, models, names and reasons: redacted text on one line, at most 200 characters including the ellipsis. Accepts
   * strings and finite numbers. Undefined for anything else and the empty string. If the mode is `off`, only identifiers are
   * accepted, because a host may put a sentence in place of a name. Repeated values cost a map look-up.
   */
  id(value: unknown): SafeText | undefined

  /**
   * Captures the name and value of one entry of a flat map: text as in `id`, a finite number, a boolean. The value of a
   * secret's name is masked completely. Undefined for anything else.
   */
  entry(name: string, value: unknown): CapturedEntry | undefined

  /**
   * Captures content in the form of the mode (preview or full), within the category's limit. Undefined if off, absent or
   * blank.
   */
  content(value: unknown, category: ContentCategory): CapturedContent | undefined

  /** Captures a short text on one line: a command, target, goal, summary, description. At most 500 characters. */
  snippet(value: unknown): SafeText | undefined

  /** Captures the text of an error, at most 500 characters on one line. It is content, so undefined if the mode is `off`. */
  errorText(value: unknown): SafeText | undefined

  /** Captures the conversation history as JSON within its own limit. Undefined unless `conversationHistory` is set. */
  history(messages: unknown): CapturedContent | undefined

  /** JSON of `value` in at most `maxBytes` bytes of UTF-8, always valid. For our own structures of already captured texts. */
  json(value: unknown, maxBytes?: number): SafeText | undefined
}
