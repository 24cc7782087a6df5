import { RefusedRequest } from './refusal.ts'

type ScalarType = 'text' | 'hex' | 'integer' | 'fixed64' | 'double' | 'flag'
/** Field names and encodings by field number. Unknown fields are skipped. */
export interface MessageFields {
  readonly [number: number]: readonly [name: string, field: ScalarType | MessageFields, isList?: true]
}

/** Wire types: the low bits of a tag, which give the length of a value. */
const [VARINT, EIGHT, COUNTED, FOUR] = [0, 1, 2, 5]
const WIRES: Readonly<Record<ScalarType, number | undefined>> = {
  text: COUNTED,
  hex: COUNTED,
  integer: VARINT,
  flag: VARINT,
  fixed64: EIGHT,
  double: EIGHT,
}
const VARINT_BYTES = 10
const LOW_BYTES = 4
const LOW = 2 ** (7 * LOW_BYTES)
const SIGN = 2 ** 63 / LOW

/**
 * Parses an untrusted message. Truncated data, too many values or an unexpected encoding is refused. The depth is bounded by
 * the description, which is finite.
 *
 * @throws Refused
 */
export function readProtobuf(bytes: Buffer, message: MessageFields, mostValues: number): Record<string, unknown> {
  return new Reader(bytes, mostValues).message(bytes.length, message)
}

class Reader {
  readonly #bytes: Buffer
  #left: number
  #at = 0

  constructor(bytes: Buffer, mostValues: number) {
    this.#bytes = bytes
    this.#left = mostValues
  }

  message(end: number, message: MessageFields): Record<string, unknown> {
    const read: Record<string, unknown> = {}
    while (this.#at < end) {
      const tag = this.#varint(end)
      const known = message[Math.floor(tag / 8)]
      if (--this.#left < 0) throw new RefusedRequest('size')
      if (known === undefined) {
        this.#skip(tag % 8, end)
        continue
      }
      const [name, field, isList] = known
      if (tag % 8 !== (typeof field === 'string' ? WIRES[field] : COUNTED)) throw new RefusedRequest('protobuf')
      const value = this.#value(field, end)
      if (isList === undefined) read[name] = value
      else if (read[name] === undefined) read[name] = [value]
      else (read[name] as unknown[]).push(value)
    }
    return read
  }

  #value(field: ScalarType | MessageFields, end: number): unknown {
    switch (field) {
      case 'integer':
        return this.#varint(end, true)
      case 'flag':
        return this.#varint(end) !== 0
      case 'fixed64':
        // A string, as in the JSON encoding of protobuf: a number would not be exact.
        return String(this.#bytes.readBigUInt64LE(this.#pass(8, end)))
      case 'double':
        return this.#bytes.readDoubleLE(this.#pass(8, end))
      case 'text':
        return this.#counted(end).toString('utf8')
      case 'hex':
        return this.#counted(end).toString('hex')
      default:
        return this.message(this.#endOf(this.#varint(end), end), field)
    }
  }

  #skip(wire: number, end: number): void {
    if (wire === VARINT) this.#varint(end)
    else if (wire === EIGHT) this.#pass(8, end)
    else if (wire === FOUR) this.#pass(4, end)
    else if (wire === COUNTED) this.#pass(this.#varint(end), end)
    else throw new RefusedRequest('protobuf')
  }

  /** Reads 64 bits in two parts. Exact up to ±2⁵³. */
  #varint(end: number, isSigned = false): number {
    let [low, high] = [0, 0]
    for (let byte = 0; byte < VARINT_BYTES; byte++) {
      const bits = this.#bytes[this.#pass(1, end)] as number
      if (byte < LOW_BYTES) low += (bits & 0x7f) * 2 ** (7 * byte)
      else high += (bits & 0x7f) * 2 ** (7 * (byte - LOW_BYTES))
      if (bits < 0x80 && high < 2 * SIGN) return (isSigned && high >= SIGN ? high - 2 * SIGN : high) * LOW + low
    }
    throw new RefusedRequest('protobuf')
  }

  #counted(end: number): Buffer {
    const length = this.#varint(end)
    const from = this.#pass(length, end)
    return this.#bytes.subarray(from, from + length)
  }

  #pass(length: number, end: number): number {
    const from = this.#at
    this.#at = this.#endOf(length, end)
    return from
  }

  #endOf(length: number, end: number): number {
    if (this.#at + length > end) throw new RefusedRequest('protobuf')
    return this.#at + length
  }
}
