/**
 * What may leave the process. A string reaches a span only as `SafeText`, and only a `Capture` makes one out of a payload:
 * a payload string that was not clipped and redacted does not type-check as an attribute. What is here besides makes one
 * of our own constants (`literal`), or puts together what is safe already.
 */

declare const safe: unique symbol

/** A string that has been through the capture policy: clipped, and with its secrets masked. */
export type SafeText = string & { readonly [safe]: true }

/** Texts that the compiler knows one by one; `never` for `string`, and for a pattern such as `tool.${string}`. */
type Constant<Text extends string> = Record<never, never> extends Record<Text, unknown> ? never : Text

/** For our own constants only: what comes out of a payload does not compile here. */
export function literal<const Text extends string>(constant: Constant<Text>): SafeText {
  return constant as string as SafeText
}

/** Our own words around safe texts. */
export function phrase(words: TemplateStringsArray, ...texts: readonly SafeText[]): SafeText {
  let phrase = words[0] ?? ''
  for (let at = 0; at < texts.length; at++) phrase += `${texts[at]}${words[at + 1]}`
  return phrase as SafeText
}

/** A cut may leave half a character behind. */
const LONE_HIGH_SURROGATE = /[\uD800-\uDBFF]$/

/** Joined, and cut to `limit` characters, ellipsis included; undefined when there is nothing to join. */
export function joined(texts: Iterable<SafeText>, separator: ',' | '|', limit: number): SafeText | undefined {
  const text = [...texts].join(separator)
  if (text === '') return undefined
  if (text.length <= limit) return text as SafeText
  return `${text.slice(0, limit - 3).replace(LONE_HIGH_SURROGATE, '')}...` as SafeText
}

/** Data in which every text is safe. Absent members are left out. */
type SafeData = SafeText | number | boolean | undefined | readonly SafeData[] | { readonly [name: string]: SafeData }

/** The data as JSON, however long that gets. */
export function safeJson(data: SafeData): SafeText {
  return JSON.stringify(data) as SafeText
}

/** `off`: no content at all. `preview`: clipped one-line previews. `full`: whole values up to `content_max_chars`. */
export type ContentMode = 'off' | 'preview' | 'full'

/** Which cap applies: each can be configured on its own. */
export type ContentCategory = 'tool_input' | 'tool_output' | 'llm_input' | 'llm_output'

export interface CapturedContent {
  readonly text: SafeText
  /** `application/json` only when `text` parses as JSON, also after a cut; else `text/plain`. */
  readonly mimeType: SafeText
  readonly truncated: boolean
}

export interface CapturedEntry {
  readonly name: SafeText
  readonly value: SafeText | number | boolean
}

/**
 * The compiled capture policy. Nothing in here throws, whatever the value; cost is linear in the cap, not the value. Its
 * functions can be taken apart (`const { id } = capture`).
 */
export interface Capture {
  readonly mode: ContentMode
  /** Write the conversation history as the input of the llm span. */
  readonly conversationHistory: boolean
  readonly senderId: boolean

  /**
   * Ids, models, names, reasons: text of at most 200 characters, ellipsis included, on one line, redacted. Strings and
   * finite numbers only; anything else, and the empty string, is undefined. In `off` only what looks like an identifier:
   * a host may put a sentence where a name belongs. Repeated values cost a map look-up.
   */
  id(value: unknown): SafeText | undefined

  /**
   * One entry of a flat map that somebody hands in, its name as well as its value: text as `id` has it, a finite number, a
   * boolean. What stands under the name of a secret is masked whole. Undefined for anything else.
   */
  entry(name: string, value: unknown): CapturedEntry | undefined

  /** Content in the mode's form (preview or full), under the category's cap; undefined when off, absent or blank. */
  content(value: unknown, category: ContentCategory): CapturedContent | undefined

  /** A short piece of content on one line: a command, target, goal, summary, description. At most 500 characters. */
  snippet(value: unknown): SafeText | undefined

  /** The text of an error, at most 500 characters on one line. Content too: undefined when the mode is `off`. */
  errorText(value: unknown): SafeText | undefined

  /** The conversation history as JSON under its own cap, when `conversationHistory`; else undefined. */
  history(messages: unknown): CapturedContent | undefined

  /** JSON of `value` in at most `maxBytes` bytes of UTF-8, always valid; for structures of ours that hold already captured texts. */
  json(value: unknown, maxBytes?: number): SafeText | undefined
}
