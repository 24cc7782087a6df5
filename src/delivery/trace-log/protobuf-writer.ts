const FIRST_BYTES = 65_536
/** Longer messages are rare. A buffer larger than this is not kept. */
const KEPT_BYTES = 2_097_152
/** Shorter texts are written character by character: a native call costs as much. */
const SHORT_CHARS = 40
const MAX_BYTES_PER_CHAR = 3
/** Upper limit of a tag and a number. */
const MAX_BYTES = 16
const SEVEN_BITS = 0x80
const LENGTH_DELIMITED = 2
const FIXED64 = 1
const FIXED32 = 5

/** Writes the wire format of Protocol Buffers, field by field, into a buffer that is reused for each message. */
export class ProtobufWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #at = 0

  /** The bytes since the last call. */
  finish(): Uint8Array {
    const taken = Buffer.allocUnsafeSlow(this.#at)
    this.#bytes.copy(taken, 0, 0, this.#at)
    if (this.#bytes.length > KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
    this.#at = 0
    return taken
  }

  /** Discards an unfinished message. */
  reset(): void {
    this.#at = 0
  }

  /** Begins a message in a field. Returns the argument for `end`. */
  begin(field: number): number {
    this.#tag(field, LENGTH_DELIMITED)
    // One byte for its length, which usually suffices.
    this.#at++
    return this.#at
  }

  end(start: number): void {
    this.#lengthBefore(start, this.#at - start, 1)
  }

  text(field: number, text: string): void {
    this.#tag(field, LENGTH_DELIMITED)
    this.#reserve(text.length * MAX_BYTES_PER_CHAR + MAX_BYTES)
    if (text.length > SHORT_CHARS || !this.#ascii(text)) this.#utf8(text)
  }

  hex(field: number, digits: string): void {
    const start = this.begin(field)
    this.#reserve(digits.length)
    this.#at += this.#bytes.write(digits, this.#at, 'hex')
    this.end(start)
  }

  bytes(field: number, bytes: Uint8Array): void {
    const start = this.begin(field)
    this.#reserve(bytes.length + MAX_BYTES)
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
    this.end(start)
  }

  /** Writes an integer of at most 64 bits. */
  integer(field: number, value: number): void {
    this.#tag(field, 0)
    if (value >= 0) this.#varint(value)
    else this.#bigVarint(BigInt.asUintN(64, BigInt(value)))
  }

  double(field: number, value: number): void {
    this.#tag(field, FIXED64)
    this.#at = this.#bytes.writeDoubleLE(value, this.#at)
  }

  fixed64(field: number, high: number, low: number): void {
    this.#tag(field, FIXED64)
    this.#at = this.#bytes.writeUInt32LE(low, this.#at)
    this.#at = this.#bytes.writeUInt32LE(high, this.#at)
  }

  fixed32(field: number, value: number): void {
    this.#tag(field, FIXED32)
    this.#at = this.#bytes.writeUInt32LE(value, this.#at)
  }

  /** Reserves room for a number after the tag. */
  #tag(field: number, wireType: number): void {
    this.#reserve(MAX_BYTES)
    this.#varint(field * 8 + wireType)
  }

  #varint(value: number): void {
    let rest = value
    // Bitwise operators are limited to 32 bits. Division by a power of two is exact.
    for (; rest >= SEVEN_BITS; rest = Math.floor(rest / SEVEN_BITS)) {
      this.#bytes[this.#at++] = (rest % SEVEN_BITS) + SEVEN_BITS
    }
    this.#bytes[this.#at++] = rest
  }

  #bigVarint(value: bigint): void {
    let rest = value
    for (; rest >= 128n; rest >>= 7n) this.#bytes[this.#at++] = Number(rest & 127n) | SEVEN_BITS
    this.#bytes[this.#at++] = Number(rest)
  }

  /** Returns false, and writes nothing, if the text is not ASCII. */
  #ascii(text: string): boolean {
    const start = this.#at + 1
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index)
      if (code >= SEVEN_BITS) return false
      this.#bytes[start + index] = code
    }
    this.#bytes[this.#at] = text.length
    this.#at = start + text.length
    return true
  }

  #utf8(text: string): void {
    const reserved = varintBytes(text.length)
    const start = this.#at + reserved
    const length = this.#bytes.write(text, start)
    this.#at = start + length
    this.#lengthBefore(start, length, reserved)
  }

  /** Writes the length before the data. Moves the data if the length needs more bytes than were reserved. */
  #lengthBefore(start: number, length: number, reserved: number): void {
    const more = varintBytes(length) - reserved
    if (more > 0) {
      this.#reserve(more)
      this.#bytes.copyWithin(start + more, start, this.#at)
    }
    this.#at = start - reserved
    this.#varint(length)
    this.#at += length
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#at + bytes))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }
}

function varintBytes(value: number): number {
  let bytes = 1
  for (let rest = value; rest >= SEVEN_BITS; rest = Math.floor(rest / SEVEN_BITS)) bytes++
  return bytes
}
