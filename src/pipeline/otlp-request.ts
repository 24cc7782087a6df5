import type { Agent, ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { leaveProcessFree } from './agent.ts'
import type { Delivery, DeliveryFailure } from './delivery.ts'
import { http, https } from './sdk.ts'

/** An answer is a few bytes; of a longer one, only the status counts. */
const MAX_ANSWER_BYTES = 65_536

/** How long one request may take. */
export interface Limits {
  readonly timeoutMillis: number
  /** What the person configured, for the message: `timeoutMillis` is what earlier tries have left of it. */
  readonly allowedMillis: number
  readonly signal: AbortSignal
}

export interface OtlpRequest extends Limits {
  readonly url: string
  readonly headers: OutgoingHttpHeaders
  readonly agent: Agent
  /** In pieces. */
  readonly payload: readonly Uint8Array[]
}

/** What one request came to, and whether the next may go better. */
export interface Attempt {
  readonly delivery: Delivery
}

/** One request, for whoever makes it. */
export interface Exchange {
  /** The outcome is known: nothing changes it any more. */
  isOver(): boolean
  /** To be called before the request is sent. Throws when the exchange is over, and nobody wants the request any more. */
  watch(request: ClientRequest): void
  /** The outcome where no answer tells it. Without effect once the exchange is over. */
  end(delivery: Delivery): void
}

/** What comes of the request that `begin` makes, now or later. Never rejects; resolves at the latest after the timeout. */
export function exchange(limits: Limits, begin: (exchange: Exchange) => void): Promise<Attempt> {
  const startedAt = performance.now()
  return new Promise(resolve => {
    let request: ClientRequest | undefined
    let isOver = false
    const settle = (attempt: Attempt): void => {
      isOver = true
      clearTimeout(expiry)
      limits.signal.removeEventListener('abort', cut)
      resolve(attempt)
    }
    const end = (delivery: Delivery): void => {
      if (isOver) return
      settle({ delivery })
      request?.destroy()
    }
    const giveUp = (afterMillis: number): void => end(failed({ kind: 'timeout', afterMillis: Math.round(afterMillis) }))
    const cut = (): void => giveUp(performance.now() - startedAt)
    const expiry = setTimeout(() => giveUp(limits.allowedMillis), limits.timeoutMillis).unref()
    if (limits.signal.aborted) return cut()
    limits.signal.addEventListener('abort', cut)
    const watch = (made: ClientRequest): void => {
      if (isOver) throw new Error('given up before it was sent')
      request = made
      leaveProcessFree(request)
      request.on('error', error => end(failed({ kind: 'network', code: codeOf(error) })))
      request.on('response', response => readAnswer(response, settle))
    }
    begin({ isOver: () => isOver, watch, end })
  })
}

/** Sends once. Never rejects; resolves at the latest after the timeout. */
export function postOnce(post: OtlpRequest): Promise<Attempt> {
  return exchange(post, ({ watch, end }) => {
    try {
      const { request } = post.url.startsWith('https:') ? https() : http()
      const made = request(post.url, { method: 'POST', headers: post.headers, agent: post.agent })
      watch(made)
      for (const piece of post.payload) made.write(piece)
      made.end()
    } catch (error) {
      // A header with a line break in it, usually a key that was read from a file.
      end(failed({ kind: 'header', code: codeOf(error) }))
    }
  })
}

function readAnswer(response: IncomingMessage, settle: (attempt: Attempt) => void): void {
  const chunks: Buffer[] = []
  let size = 0
  // Read at once: whoever else looks at the response may be shown something else.
  const { statusCode: status = 0, headers } = response
  // The status decides, also when the connection breaks in the middle of the body.
  const done = (): void => settle(judge(status, headers, Buffer.concat(chunks)))
  response.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= MAX_ANSWER_BYTES) {
      chunks.push(chunk)
      return
    }
    done()
    response.destroy(new Error('the answer is too long'))
  })
  response.on('end', done)
  response.on('error', done)
  response.on('close', done)
}

function judge(status: number, headers: IncomingMessage['headers'], answer: Buffer): Attempt {
  if (status >= 200 && status < 300) {
    const isPage = headers['content-type']?.startsWith('text/html') === true
    return { delivery: isPage ? failed({ kind: 'page', status }) : { ok: true, answer } }
  }
  const retryAfterMillis = retryAfter(headers['retry-after'])
  const { location } = headers
  const failure: DeliveryFailure = { kind: 'status', status, ...(location === undefined ? {} : { location }) }
  return { delivery: { ok: false, failure, ...(retryAfterMillis === undefined ? {} : { retryAfterMillis }) } }
}

function retryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const seconds = Number(header)
  const millis = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000
  return Number.isFinite(millis) ? Math.max(0, millis) : undefined
}

export function failed(failure: DeliveryFailure): Delivery {
  return { ok: false, failure }
}

export function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'unknown'
}
