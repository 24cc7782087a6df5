import { parseEventJson } from '../agents/event-json.ts'
import { Refused } from './counts.ts'

const [NEWLINE, QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = [...'\n"\\,[{'].map(each => each.charCodeAt(0))
/** A shorter text cannot hold enough values to matter. */
const HARMLESS_BYTES = 1_000_000

/**
 * Parses the values of a request: one value, or one per line.
 *
 * @throws Refused if it is not JSON, or has more than `mostValues` values
 */
export function parseBody(bytes: Buffer, type: string | undefined, mostValues: number): readonly unknown[] {
  if (bytes.length > HARMLESS_BYTES && valuesIn(bytes, mostValues) > mostValues) throw new Refused('size')
  try {
    return /ndjson|jsonl|json-seq/.test(type ?? '') ? [...lines(bytes)] : whole(bytes)
  } catch {
    throw new Refused('json')
  }
}

/** Falls back to lines: senders of JSON lines do not always declare it. */
function whole(bytes: Buffer): unknown[] {
  const end = bytes.indexOf(NEWLINE as number)
  try {
    return [parseEventJson(textOf(bytes))]
  } catch (error) {
    if (end === -1 || end === bytes.length - 1) throw error
    return [...lines(bytes)]
  }
}

/** `readline` is not used: it also breaks lines at U+2028, which JSON strings may contain. */
function* lines(bytes: Buffer): Generator<unknown> {
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE as number, from)
    const text = textOf(bytes.subarray(from, end === -1 ? bytes.length : end))
    from = end === -1 ? bytes.length : end + 1
    if (text.trim() !== '') yield parseEventJson(text)
  }
}

function textOf(bytes: Buffer): string {
  return bytes.toString('utf8').replace(/^\ufeff/, '')
}

/** Counts values before parsing: a body of only brackets takes thirty times its size in memory. Stops beyond `most`. */
function valuesIn(bytes: Buffer, most: number): number {
  let count = 0
  let isText = false
  for (let index = 0; index < bytes.length && count <= most; index++) {
    const byte = bytes[index]
    if (isText && byte === BACKSLASH) index++
    else if (byte === QUOTE) isText = !isText
    else if (!isText && (byte === COMMA || byte === BRACKET || byte === BRACE)) count++
  }
  return count
}
