import type { Clipped } from './clip.ts'

const BACKSLASH = 92
const CUT = '..."'
/** `"..."`: the shortest string that says that it was cut. */
const SHORTEST_CUT = 5

/** Where the head of an encoded string may end at the latest, `length` at most: not inside an escape or a pair. */
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
 * Writes JSON of at most `maxChars` characters that is complete at every moment: what closes an open container is set
 * aside when it opens. The writer does not check the order of calls. `lead` is what has to stand before a token
 * (comma, key, colon); it is written with the token or not at all.
 */
export class JsonWriter {
  text = ''
  isTruncated = false
  /** Something did not fit: nothing more should be written. */
  isFull = false
  #room: number

  constructor(maxChars: number) {
    this.#room = maxChars
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
    const encoded = JSON.stringify(text)
    const room = this.#room - lead.length
    if (!isCut && encoded.length <= room) return this.#write(lead, encoded, 0)
    if (!this.#fits(lead.length + SHORTEST_CUT)) return false
    if (encoded.length + CUT.length - 1 <= room) return this.#write(lead, encoded.slice(0, -1) + CUT, 0)
    const cut = encoded.slice(0, safeEnd(encoded, room - CUT.length)) + CUT
    this.isTruncated = true
    this.isFull = true
    return this.#write(lead, cut, 0)
  }

  /** Takes back what was written since: `writer.restore(writer.mark())` changes nothing. */
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
