import { copyOf } from './clip.ts'

/** Longer texts are computed anew: a few of them would fill a memo. */
const MAX_TEXT_CHARS = 32 * 1024
const MAX_ENTRIES = 4000
/** Limits the texts and results of a memo: 512 KiB, or 1 MiB beyond Latin-1. */
const MAX_CHARS = 512 * 1024

/** Memoizes a pure function: each model request repeats the conversation so far. Starts anew at a limit. */
export class TextMemo<Result extends string | { readonly text: string } | undefined> {
  readonly #compute: (text: string) => Result
  readonly #results = new Map<string, Result>()
  #chars = 0

  constructor(compute: (text: string) => Result) {
    this.#compute = compute
  }

  readonly resultOf = (text: string): Result => {
    if (text.length > MAX_TEXT_CHARS) return this.#compute(text)
    const known = this.#results.get(text)
    if (known !== undefined) return known
    // A slice would keep the large text it comes from in memory, and so would a result that is a slice of it.
    const key = copyOf(text)
    const result = this.#compute(key)
    if (result === undefined) return result
    const chars = key.length + (typeof result === 'string' ? result : result.text).length
    if (this.#results.size >= MAX_ENTRIES || this.#chars + chars > MAX_CHARS) {
      this.#results.clear()
      this.#chars = 0
    }
    this.#results.set(key, result)
    this.#chars += chars
    return result
  }
}
