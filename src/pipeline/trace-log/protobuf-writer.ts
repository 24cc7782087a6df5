const FIRST_BYTES = 65_536
/** A line that is longer is rare, and its room is not kept. */
const KEPT_BYTES = 2_097_152
/** Of shorter texts the characters are written one by one: to call the engine costs as much. */
const SHORT_CHARS = 40
const MOST_BYTES_PER_CHAR = 3
/** A tag and a number are never longer. */
const MOST_BYTES = 16
const SEVEN_BITS = 0x80
const LENGTH_DELIMITED = 2
const FIXED64 = 1
const FIXED32 = 5

/** Writes the wire format of Protocol Buffers, field by field, into a buffer that is kept from one message to the next. */
export class ProtobufWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #at = 0

  /** What was written since the last call. */
  take(): Uint8Array {
    const taken = Buffer.allocUnsafeSlow(this.#at)
    this.#bytes.copy(taken, 0, 0, this.#at)
    if (this.#bytes.length > KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
    this.#at = 0
    return taken
  }

  /** What was begun and not finished is forgotten. */
  reset(): void {
    this.#at = 0
  }

  /** Begins a message in a field. Returns what `end` wants to know. */
  begin(field: number): number {
    this.#tag(field, LENGTH_DELIMITED)
    // Of its length, which is one byte more often than not.
    this.#at++
    return this.#at
  }

  end(start: number): void {
    this.#lengthBefore(start, this.#at - start, 1)
  }

  text(field: number, text: string): void {
    this.#tag(field, LENGTH_DELIMITED)
    this.#reserve(text.length * MOST_BYTES_PER_CHAR + MOST_BYTES)
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
    this.#reserve(bytes.length + MOST_BYTES)
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
    this.end(start)
  }

  /** A whole number of at most 64 bits. */
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

  /** Leaves room for a number behind it. */
  #tag(field: number, wireType: number): void {
    this.#reserve(MOST_BYTES)
    this.#varint(field * 8 + wireType)
  }

  #varint(value: number): void {
    let rest = value
    // Numbers beyond 32 bits have no bitwise operators; a division by a power of two is exact.
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

  /** False, and nothing written, when there is more in it. */
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

  /** What was written since `start` moves on where its length takes more bytes than were left for it. */
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
