/** Bytes that a character may take: text is reserved room for before its length in bytes is known. */
const MOST_BYTES_PER_CHAR = 3
const KEPT_CHARS = 524_288

/**
 * Text as bytes to be written, in a buffer that is kept from one write to the next: allocating one for each costs a third
 * of what making a line costs.
 */
export class LineEncoder {
  #kept: Buffer = Buffer.allocUnsafeSlow(0)

  /** Valid until the next call. */
  encode(text: string): Uint8Array {
    if (text.length > KEPT_CHARS) return Buffer.from(text)
    const most = text.length * MOST_BYTES_PER_CHAR
    // A thread that still reads the old one keeps it alive.
    if (this.#kept.length < most) this.#kept = Buffer.allocUnsafeSlow(most)
    return this.#kept.subarray(0, this.#kept.write(text))
  }

  /** What was encoded last is still being read, and is not to be written over. */
  letGo(): void {
    this.#kept = Buffer.allocUnsafeSlow(0)
  }
}
