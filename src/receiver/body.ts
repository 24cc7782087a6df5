import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { type Refusal, Refused } from './counts.ts'
import type { Limits, Room } from './limits.ts'

export interface Body {
  readonly bytes: Buffer
  /** Must be returned to the room when the bytes are no longer needed. */
  readonly held: number
}

/**
 * Decompresses a gzipped body. The limits apply before and after.
 *
 * @throws Refused
 */
export function readBody(request: IncomingMessage, limits: Limits, room: Room): Promise<Body> {
  const length = Number(request.headers['content-length'] ?? 0)
  if (length > limits.bodyBytes) return Promise.reject(new Refused('size'))
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding === 'identity') return collect(request, request, limits, room)
  if (encoding !== 'gzip') return Promise.reject(new Refused('encoding'))
  return collect(request, request.pipe(createGunzip()), limits, room)
}

function collect(request: IncomingMessage, source: Readable, limits: Limits, room: Room): Promise<Body> {
  return new Promise((resolve, reject) => {
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
      room.give(held)
      reject(new Refused(why))
    }
    const take = (piece: Buffer): void => {
      if (held + piece.length > limits.bodyBytes) fail('size')
      else if (!room.take(piece.length)) fail('busy')
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
    source.once('end', end)
    source.once('error', () => fail(source === request ? 'cutOff' : 'gzip'))
    request.once('close', () => {
      if (!request.complete) fail('cutOff')
      // The sender has gone after sending everything: `end` is not emitted any more.
      else if (source === request) end()
    })
  })
}
