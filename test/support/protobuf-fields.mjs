const VARINT = 0
const FIXED_64 = 1
const BYTES = 2
const FIXED_32 = 5

/** Above this many bytes a varint does not fit into a number without loss. */
const EXACT_VARINT_BYTES = 7

/**
 * Calls `take(field, value)` for each field of a message, in order. A varint is a number where it is exact and else a
 * signed 64-bit integer as a number, fixed64 and fixed32 are the bytes they take, and the rest is bytes.
 */
export function eachField(message, take) {
  const cursor = { message, at: 0 }
  while (cursor.at < message.length) {
    const tag = varint(cursor)
    const field = Math.floor(tag / 8)
    const wire = tag % 8
    if (wire === VARINT) take(field, varint(cursor))
    else if (wire === FIXED_64) take(field, bytes(cursor, 8))
    else if (wire === FIXED_32) take(field, bytes(cursor, 4))
    else if (wire === BYTES) take(field, bytes(cursor, varint(cursor)))
    else throw new Error(`not protobuf: wire type ${wire} at byte ${cursor.at}`)
  }
}

function bytes(cursor, length) {
  const from = cursor.at
  cursor.at += length
  if (cursor.at > cursor.message.length) throw new Error(`not protobuf: cut at byte ${from}`)
  return cursor.message.subarray(from, cursor.at)
}

function varint(cursor) {
  const from = cursor.at
  while (cursor.message.readUInt8(cursor.at) >= 0x80) cursor.at++
  cursor.at++
  const length = cursor.at - from
  return length <= EXACT_VARINT_BYTES ? small(cursor.message, from, length) : signed64(cursor.message, from, length)
}

function small(message, from, length) {
  let value = 0
  for (let index = length - 1; index >= 0; index--) value = value * 128 + (message[from + index] & 0x7f)
  return value
}

function signed64(message, from, length) {
  let value = 0n
  for (let index = length - 1; index >= 0; index--) value = value * 128n + BigInt(message[from + index] & 0x7f)
  return Number(BigInt.asIntN(64, value))
}

/** Writes a message from `[field, value]` rows: numbers as varints, texts as bytes. */
export function writeMessage(rows) {
  const parts = rows.flatMap(([field, value]) => {
    if (typeof value === 'number') return [field * 8 + VARINT, ...varintBytes(value)]
    const content = Buffer.from(value)
    return [field * 8 + BYTES, ...varintBytes(content.length), ...content]
  })
  return Buffer.from(parts)
}

function varintBytes(value) {
  const found = []
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...found, rest]
    found.push((rest % 128) | 0x80)
  }
}
