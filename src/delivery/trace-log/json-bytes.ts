/** Everything except quote, backslash, control characters, surrogates, and Unicode line breaks. */
const MUST_ESCAPE = /[^ !#-[\]-\u0084\u0086-\u2027\u202a-\ud7ff\ue000-\uffff]/
const LINE_BREAKS_BESIDES = ['\u0085', '\u2028', '\u2029']
const OPENING = /^[[{]/
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const DELETE = 0x7f
const BRACKET = 0x5b
/** Up to this length, a loop is faster than a native call. */
const SHORT_CHARS = 64
/** Longer texts are content. Content repeats within moments or never. */
const MAX_PLAIN_CHARS = 128
const MAX_RECENT = 8
/** Maximum number of bytes of a character: room is reserved before the encoded length is known. */
const MAX_BYTES_PER_CHAR = 3
const MIN_BYTES = 65_536
/** A buffer enlarged by one huge span is not kept. */
const MAX_KEPT_BYTES = 2_097_152

/** Builds JSON as the bytes of the file. A string would have to be concatenated, flattened and encoded. */
export class JsonBytes {
  length = 0
  #bytes: Buffer = Buffer.allocUnsafeSlow(0)
  /** Spans carry the same content under the names of several conventions, and the end of a turn repeats it. */
  readonly #recent = Array.from({ length: MAX_RECENT }, () => ({ text: '', from: 0, to: 0 }))
  #oldest = 0

  get written(): Buffer {
    return this.#bytes.subarray(0, this.length)
  }

  start(): void {
    this.cutTo(0)
    if (this.#bytes.length > MAX_KEPT_BYTES) this.replaceBuffer()
  }

  /** Replaces the buffer while another thread still reads it. */
  replaceBuffer(): void {
    this.#bytes = Buffer.allocUnsafeSlow(0)
  }

  cutTo(length: number): void {
    this.length = length
    this.clearRecent()
  }

  /** Content must not stay in memory until other content replaces it. */
  clearRecent(): void {
    for (const recent of this.#recent) recent.text = ''
  }

  ascii(text: string): void {
    if (this.#bytes.length - this.length < text.length) this.#grow(text.length)
    const bytes = this.#bytes
    let at = this.length
    if (text.length > SHORT_CHARS) at += bytes.write(text, at)
    else for (let place = 0; place < text.length; place++) bytes[at++] = text.charCodeAt(place)
    this.length = at
  }

  comma(): void {
    if (this.#bytes[this.length - 1] === BRACKET) return
    if (this.#bytes.length === this.length) this.#grow(1)
    this.#bytes[this.length++] = COMMA
  }

  json(text: string): void {
    const room = text.length * MAX_BYTES_PER_CHAR
    if (this.#bytes.length - this.length < room) this.#grow(room)
    this.length += this.#bytes.write(text, this.length)
  }

  from(place: number): Buffer {
    return Buffer.from(this.#bytes.subarray(place, this.length))
  }

  bytes(piece: Uint8Array): void {
    if (this.#bytes.length - this.length < piece.length) this.#grow(piece.length)
    this.#bytes.set(piece, this.length)
    this.length += piece.length
  }

  /** Writes `head`, then the text as a JSON string. Escapes line breaks, and unpaired surrogates, so that it is valid UTF-8. */
  string(head: Uint8Array, text: string): void {
    const chars = text.length
    const room = head.length + Math.min(chars, MAX_PLAIN_CHARS) * 2 + 2
    if (this.#bytes.length - this.length < room) this.#grow(room)
    const bytes = this.#bytes
    bytes.set(head, this.length)
    this.length += head.length
    if (chars > MAX_PLAIN_CHARS) {
      this.#longString(text)
      return
    }
    let at = this.length
    bytes[at++] = QUOTE
    for (let place = 0; place < chars; place++) {
      const char = text.charCodeAt(place)
      if (char < SPACE || char >= DELETE) {
        this.json(stringJson(text))
        return
      }
      if (char === QUOTE || char === BACKSLASH) bytes[at++] = BACKSLASH
      bytes[at++] = char
    }
    bytes[at++] = QUOTE
    this.length = at
  }

  #longString(text: string): void {
    for (const recent of this.#recent) {
      if (recent.text !== text) continue
      const { from, to } = recent
      if (this.#bytes.length - this.length < to - from) this.#grow(to - from)
      this.#bytes.copyWithin(this.length, from, to)
      this.length += to - from
      return
    }
    const from = this.length
    // JSON in JSON has a quote to escape soon after its start.
    if (OPENING.test(text) || MUST_ESCAPE.test(text)) this.json(stringJson(text))
    else {
      this.ascii('"')
      this.json(text)
      this.ascii('"')
    }
    Object.assign(this.#recent[this.#oldest] as object, { text, from, to: this.length })
    this.#oldest = (this.#oldest + 1) % MAX_RECENT
  }

  #grow(bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.length + bytes, MIN_BYTES))
    this.#bytes.copy(larger, 0, 0, this.length)
    this.#bytes = larger
  }
}

export function stringJson(text: string): string {
  let json = JSON.stringify(text)
  for (const character of LINE_BREAKS_BESIDES) {
    if (!json.includes(character)) continue
    json = json.replaceAll(character, `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
  }
  return json
}
