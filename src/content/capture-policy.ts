import { peek, textOf } from '../contract/foreign.ts'
import { boundedJson, numberText } from './bounded-json.ts'
import type { Clipped } from './clip.ts'
import { clip, keepAll, maskedWindowOf, redactWithin, WINDOW_MARGIN, windowOf, withinBytes } from './clip.ts'
import { rewriteJson } from './json-text.ts'
import { collapseSpace, isEven, lengthForLine, oneLine, withoutControls } from './one-line.ts'
import type { CapturedContent, CapturedEntry, ContentCategory, ContentMode, SafeText } from './safe-text.ts'
import { literal } from './safe-text.ts'
import { isSecretKey } from './secret-keys.ts'
import { maskRecords } from './secret-records.ts'
import { MASK } from './secret-span.ts'
import { TextMemo } from './text-memo.ts'

export interface CaptureSettings {
  readonly mode: ContentMode
  readonly previewMaxChars: number
  /** Limit of one value in `full` mode, in bytes of UTF-8. */
  readonly contentMaxChars: number
  readonly conversationHistory: boolean
  readonly senderId: boolean
  readonly redact: (text: string) => string
  /** True if the redactor's result depends on the text alone, which is unknown of a user's function. */
  readonly isPure?: boolean
  /** True if the redactor has custom rules. It then receives even the shortest keys. */
  readonly redactsShortKeys?: boolean
}

export const JSON_TYPE: SafeText = literal('application/json')
const TEXT_TYPE: SafeText = literal('text/plain')
const ID_CAP = 200
const SNIPPET_CAP = 500
const HISTORY_MAX_CHARS = 20_000
const ID_CACHE_SIZE = 2000
/** Characters of ids and vocabulary words. Texts of only these need no collapsing, stripping or cutting, and are not prose. */
const IDENTIFIER = /^[\w.:@/+=|#~,()-]{1,200}$/
/** Longer texts are not memoized: the memo would keep them alive. */
const MEMO_LIMIT = 256 * 1024
/** Collapsing white space shortens a text, so more is read than is kept. */
const SPACE_ALLOWANCE = 2

function safe(text: string): SafeText {
  return text as SafeText
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value))
}

/**
 * The compiled capture policy. Never throws, whatever the value. Cost is linear in the limit, not in the value. Its functions
 * do not use `this`, so they can be destructured (`const { id } = capture`).
 */
export class Capture {
  readonly mode: ContentMode
  readonly conversationHistory: boolean
  readonly senderId: boolean
  readonly #settings: CaptureSettings
  readonly #ids = new Map<string, SafeText>()
  /** Several spans capture the same user message. Only strings are memoized: an object can change between two calls. */
  readonly #last = new Map<ContentCategory, { value: string; captured: CapturedContent | undefined }>()
  /** Undefined in previews: a preview costs less than finding a long text again. */
  readonly #whole: TextMemo<CapturedContent | undefined> | undefined
  readonly #encode: ((text: string) => string) | undefined
  /** Without memos: the content of a tool is rarely repeated, and remembering it costs. */
  readonly #ofTools: Capture | undefined
  readonly #leaf: (text: string) => string
  readonly #isSecret: (key: string) => boolean

  constructor(settings: CaptureSettings) {
    const { mode, redact } = settings
    const isMemoized = mode === 'full' && settings.isPure === true
    if (isMemoized) {
      this.#whole = new TextMemo(text => this.#content(text))
      this.#encode = new TextMemo(text => JSON.stringify(text)).resultOf
      this.#ofTools = new Capture({ ...settings, isPure: false })
    }
    this.#settings = settings
    this.mode = mode
    this.conversationHistory = settings.conversationHistory && mode !== 'off'
    this.senderId = settings.senderId
    const whole = isMemoized && redact !== keepAll ? new TextMemo(redact).resultOf : redact
    this.#leaf = mode === 'full' ? whole : text => redact(withoutControls(text))
    this.#isSecret = redact === keepAll ? () => false : isSecretKey
  }

  /**
   * Captures ids, models, names and reasons: redacted text on one line, at most 200 characters including the ellipsis. Accepts
   * strings and finite numbers. Undefined for anything else and the empty string. If the mode is `off`, only identifiers are
   * accepted, because a host may put a sentence in place of a name. Repeated values cost a map look-up.
   */
  readonly id = (value: unknown): SafeText | undefined => {
    if (typeof value !== 'string') return isNumeric(value) ? safe(numberText(value)) : undefined
    const known = this.#ids.get(value)
    if (known !== undefined) return known
    const isIdentifier = IDENTIFIER.test(value)
    if (!isIdentifier && this.mode === 'off') return undefined
    const text = isIdentifier ? this.#settings.redact(value) : this.#line(this.#window(value, ID_CAP), ID_CAP).text
    if (text === '') return undefined
    if (value.length <= ID_CAP) this.#remember(value, safe(text))
    return safe(text)
  }

  /**
   * Captures the name and value of one entry of a flat map: text as in `id`, a finite number, a boolean. The value of a
   * secret's name is masked completely. Undefined for anything else.
   */
  readonly entry = (key: string, value: unknown): CapturedEntry | undefined => {
    const name = this.id(key)
    if (name === undefined) return undefined
    if (typeof value === 'boolean') return { name, value }
    const isNumber = typeof value === 'number'
    const plain = isNumber && Number.isFinite(value) ? value : isNumber ? undefined : this.id(value)
    if (plain === undefined) return undefined
    return { name, value: this.#isSecret(key) ? literal(MASK) : plain }
  }

  /** Captures content in the form of the mode, within the category's limit. Undefined if off, absent or blank. */
  readonly content = (value: unknown, category: ContentCategory): CapturedContent | undefined => {
    if (this.mode === 'off') return undefined
    if (this.#ofTools && (category === 'tool_input' || category === 'tool_output')) {
      return this.#ofTools.content(value, category)
    }
    if (typeof value !== 'string' || value.length > MEMO_LIMIT) return this.#content(value)
    if (this.#whole !== undefined) return this.#whole.resultOf(value)
    const last = this.#last.get(category)
    if (last?.value === value) return last.captured
    const captured = this.#content(value)
    this.#last.set(category, { value, captured })
    return captured
  }

  /** Captures a short text on one line: a command, target, goal, summary, description. At most 500 characters. */
  readonly snippet = (value: unknown): SafeText | undefined => {
    if (this.mode === 'off') return undefined
    if (typeof value !== 'string') return this.#captured(value, SNIPPET_CAP)?.text
    const { text } = this.#line(this.#window(value, SNIPPET_CAP), SNIPPET_CAP)
    return text === '' ? undefined : safe(text)
  }

  /** Captures the text of an error, at most 500 characters on one line. It is content, so undefined if the mode is `off`. */
  readonly errorText = (value: unknown): SafeText | undefined => {
    const message = peek(value, 'message')
    const said = textOf(message) ?? (message === '' ? textOf(peek(value, 'name')) : undefined)
    return this.snippet(said ?? value)
  }

  /** Captures the conversation history as JSON within its own limit. Undefined unless `conversationHistory` is set. */
  readonly history = (messages: unknown): CapturedContent | undefined => {
    if (!this.conversationHistory) return undefined
    const history = this.#captured(messages, Math.min(HISTORY_MAX_CHARS, this.#settings.contentMaxChars))
    return history?.text === '[]' ? undefined : history
  }

  /** JSON of `value` in at most `maxBytes` bytes of UTF-8, always valid. For our own structures of already captured texts. */
  readonly json = (value: unknown, maxBytes: number = this.#settings.contentMaxChars): SafeText | undefined => {
    const json = withinBytes(maxBytes, chars => boundedJson(value, chars, keepAll, () => false, false, this.#encode))
    return json && safe(json.text)
  }

  #content(value: unknown): CapturedContent | undefined {
    const { previewMaxChars, contentMaxChars } = this.#settings
    return this.mode === 'full'
      ? withinBytes(contentMaxChars, cap => this.#captured(value, cap))
      : this.#captured(value, previewMaxChars)
  }

  #captured(value: unknown, cap: number): CapturedContent | undefined {
    if (cap <= 0) return undefined
    if (typeof value === 'string') return this.#capturedText(value, cap)
    if (typeof value === 'object' && value !== null) {
      const json = boundedJson(value, cap, this.#leaf, this.#isSecret, this.#settings.redactsShortKeys, this.#encode)
      return json && { text: safe(json.text), mimeType: JSON_TYPE, truncated: json.truncated }
    }
    if (typeof value !== 'boolean' && !isNumeric(value)) return undefined
    const plain = typeof value === 'boolean' ? String(value) : numberText(value)
    const { text, isCut } = clip({ text: plain, isCut: false }, cap)
    return { text: safe(text), mimeType: TEXT_TYPE, truncated: isCut }
  }

  #capturedText(value: string, cap: number): CapturedContent | undefined {
    const window = this.#window(value, cap)
    const json = this.#capturedJson(window, cap)
    if (json !== undefined) return json
    const { text, isCut } =
      this.mode === 'full' ? clip(redactWithin(window, cap, this.#leaf, window.isCut), cap) : this.#line(window, cap)
    return text.trim() === '' ? undefined : { text: safe(text), mimeType: TEXT_TYPE, truncated: isCut }
  }

  /** JSON text stays valid JSON when it is cut. Otherwise a viewer would show a broken half. */
  #capturedJson(window: Clipped, cap: number): CapturedContent | undefined {
    const first = window.text.trimStart().charAt(0)
    if (first !== '{' && first !== '[') return undefined
    const isMasked = window.isCut || this.#settings.redact === keepAll
    const json = rewriteJson(isMasked ? window.text : maskRecords(window.text), cap, {
      leaf: this.#leaf,
      isSecret: this.#isSecret,
      keepsSpace: this.mode === 'full',
    })
    return json && { text: safe(json.text), mimeType: JSON_TYPE, truncated: json.truncated || window.isCut }
  }

  /** Masks before joining lines, because line ends delimit YAML blocks and descriptions. */
  #line({ text, isCut }: Clipped, cap: number): Clipped {
    const { redact, isPure } = this.#settings
    const isLine = isEven(text)
    const plain = isLine ? text : withoutControls(text)
    const length = isLine ? cap + WINDOW_MARGIN : lengthForLine(plain, cap + WINDOW_MARGIN)
    // Removed control characters may have hidden a record.
    const isMasked = isCut && plain === text
    const redacted = redactWithin({ text: plain, isCut }, length - WINDOW_MARGIN, redact, isMasked)
    // A redactor of the user may return control characters.
    const line = isPure && !isLine ? collapseSpace(redacted.text) : oneLine(redacted.text)
    return clip({ text: line, isCut: redacted.isCut }, cap)
  }

  #window(value: string, cap: number): Clipped {
    const length = cap * SPACE_ALLOWANCE + WINDOW_MARGIN
    return this.#settings.redact === keepAll ? windowOf(value, length) : maskedWindowOf(value, length)
  }

  #remember(value: string, id: SafeText): void {
    if (this.#ids.size >= ID_CACHE_SIZE) this.#ids.clear()
    // Copies the key: a slice would keep the large text it comes from in memory.
    this.#ids.set(` ${value}`.slice(1), id)
  }
}
