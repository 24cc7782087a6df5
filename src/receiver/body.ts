import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { parseEventJson } from '../agents/event-json.ts'
import type { MemoryBudget, ReceiverLimits } from './limits.ts'
import { type Refusal, RefusedRequest } from './refusal.ts'

export interface RequestBody {
  readonly bytes: Buffer
  readonly held: number
}

/** Decompresses a gzipped body. The limits apply before and after. @throws Refused */
export function readBody(request: IncomingMessage, limits: ReceiverLimits, room: MemoryBudget): Promise<RequestBody> {
  const length = Number(request.headers['content-length'] ?? 0)
  if (length > limits.bodyBytes) return Promise.reject(new RefusedRequest('size'))
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding === 'identity') return collectBody(request, request, limits, room)
  if (encoding !== 'gzip') return Promise.reject(new RefusedRequest('encoding'))
  return collectBody(request, request.pipe(createGunzip()), limits, room)
}

function collectBody(request: IncomingMessage, source: Readable, limits: ReceiverLimits, room: MemoryBudget) {
  return new Promise<RequestBody>((resolve, reject) => {
    const pieces: Buffer[] = []
    let held = 0
    let isOver = false
    const fail = (why: Refusal): void => {
      if (isOver) return
      isOver = true
      source.off('data', take)
      if (source !== request) {
        request.unpipe()
        source.destroy()
      }
      room.free(held)
      reject(new RefusedRequest(why))
    }
    const take = (piece: Buffer): void => {
      if (held + piece.length > limits.bodyBytes) fail('size')
      else if (!room.reserve(piece.length)) fail('busy')
      else {
        held += piece.length
        pieces.push(piece)
      }
    }
    const end = (): void => {
      if (isOver) return
      isOver = true
      const [first = Buffer.alloc(0), ...rest] = pieces
      resolve({ bytes: rest.length === 0 ? first : Buffer.concat(pieces), held })
    }
    source.on('data', take)
    // `on`, because both come once, and `once` costs twice as much. An error of the request closes it.
    source.on('end', end)
    if (source !== request) source.once('error', () => fail('gzip'))
    request.on('close', () => {
      if (!request.complete) fail('cutOff')
      // The sender has gone after sending everything: `end` is not emitted any more.
      else if (source === request) end()
    })
  })
}

const [NEWLINE, QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = [...'\n"\\,[{'].map(each => each.charCodeAt(0))
const HARMLESS_BYTES = 1_000_000

/** One value, or one per line. @throws Refused if it is not JSON, or has more than `mostValues` values */
export function parseBody(bytes: Buffer, type: string | undefined, mostValues: number): readonly unknown[] {
  if (bytes.length > HARMLESS_BYTES && valuesIn(bytes, mostValues) > mostValues) throw new RefusedRequest('size')
  try {
    return /ndjson|jsonl|json-seq/.test(type ?? '') ? [...lines(bytes)] : whole(bytes)
  } catch {
    throw new RefusedRequest('json')
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

/** Before parsing: a body of brackets takes thirty times its size in memory. A text up to `HARMLESS_BYTES` is harmless. */
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
