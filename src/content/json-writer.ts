import type { Clipped } from './clip.ts'

export interface BoundedJson {
  readonly text: string
  readonly truncated: boolean
}

const BACKSLASH = 92
const CUT = '..."'
/** `"..."`: the shortest string that shows a cut. */
const MIN_CUT = 5

/** The last position, at most `length`, at which an encoded string may be cut: not inside an escape or a pair. */
function safeEnd(encoded: string, length: number): number {
  for (let at = length - 1; at >= Math.max(1, length - 5); at--) {
    if (encoded.charCodeAt(at) !== BACKSLASH) continue
    let before = 0
    while (encoded.charCodeAt(at - before - 1) === BACKSLASH) before++
    const beginsEscape = before % 2 === 0
    const escapeEnd = at + (encoded[at + 1] === 'u' ? 6 : 2)
    return beginsEscape && escapeEnd > length ? at : length
  }
  const last = encoded.charCodeAt(length - 1)
  return last >= 0xd800 && last <= 0xdbff ? length - 1 : length
}

/**
 * Writes JSON of at most `maxChars` characters that can always be completed: closing brackets are reserved when a container
 * opens. The order of calls is not checked. `lead` precedes a token (comma, key, colon), and is written with it or not at all.
 */
export class JsonWriter {
  text = ''
  isTruncated = false
  /** True if a token did not fit. No more should be written. */
  isFull = false
  #room: number
  readonly #encode: (text: string) => string

  constructor(maxChars: number, encode: (text: string) => string = JSON.stringify) {
    this.#room = maxChars
    this.#encode = encode
  }

  get room(): number {
    return this.#room
  }

  scalar(lead: string, token: string): boolean {
    return this.#fits(lead.length + token.length) && this.#write(lead, token, 0)
  }

  open(lead: string, bracket: string): boolean {
    return this.#fits(lead.length + 2) && this.#write(lead, bracket, 1)
  }

  close(bracket: string): void {
    this.text += bracket
  }

  string(lead: string, { text, isCut }: Clipped): boolean {
    if (isCut) this.isTruncated = true
    const encoded = this.#encode(text)
    const room = this.#room - lead.length
    if (!isCut && encoded.length <= room) return this.#write(lead, encoded, 0)
    if (!this.#fits(lead.length + MIN_CUT)) return false
    if (encoded.length + CUT.length - 1 <= room) return this.#write(lead, encoded.slice(0, -1) + CUT, 0)
    const cut = encoded.slice(0, safeEnd(encoded, room - CUT.length)) + CUT
    this.isTruncated = true
    this.isFull = true
    return this.#write(lead, cut, 0)
  }

  mark(): { text: string; room: number } {
    return { text: this.text, room: this.#room }
  }

  restore(mark: { text: string; room: number }): void {
    this.text = mark.text
    this.#room = mark.room
  }

  stop(): void {
    this.isTruncated = true
    this.isFull = true
  }

  #fits(length: number): boolean {
    if (length <= this.#room) return true
    this.stop()
    return false
  }

  #write(lead: string, token: string, reserved: number): boolean {
    this.text += lead + token
    this.#room -= lead.length + token.length + reserved
    return true
  }
}
