import type { Agent, ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { leaveProcessFree } from './agent.ts'
import type { Delivery, DeliveryFailure } from './delivery.ts'
import { http, https } from './sdk.ts'

/** An answer is a few bytes; of a longer one, only the status counts. */
const MAX_ANSWER_BYTES = 65_536

export interface OtlpRequest {
  readonly url: string
  readonly headers: OutgoingHttpHeaders
  readonly agent: Agent
  readonly payload: Uint8Array
  readonly timeoutMillis: number
  /** What the person configured, for the message: `timeoutMillis` is what earlier tries have left of it. */
  readonly allowedMillis: number
  readonly signal: AbortSignal
}

/** What one request came to, and whether the next may go better. */
export interface Attempt {
  readonly delivery: Delivery
  /** From the `Retry-After` of the answer. */
  readonly retryAfterMillis?: number
}

/** Sends once. Never rejects; resolves at the latest after the timeout. */
export function postOnce(post: OtlpRequest): Promise<Attempt> {
  const startedAt = performance.now()
  return new Promise(resolve => {
    let request: ClientRequest | undefined
    const settle = (attempt: Attempt): void => {
      clearTimeout(expiry)
      post.signal.removeEventListener('abort', cut)
      resolve(attempt)
    }
    const giveUp = (afterMillis: number): void => {
      settle(failed({ kind: 'timeout', afterMillis: Math.round(afterMillis) }))
      request?.destroy()
    }
    const cut = (): void => giveUp(performance.now() - startedAt)
    const expiry = setTimeout(() => giveUp(post.allowedMillis), post.timeoutMillis).unref()
    if (post.signal.aborted) return cut()
    post.signal.addEventListener('abort', cut)
    try {
      request = open(post)
    } catch (error) {
      // A header with a line break in it, usually a key that was read from a file.
      return settle(failed({ kind: 'header', code: codeOf(error) }))
    }
    request.on('error', error => settle(failed({ kind: 'network', code: codeOf(error) })))
    request.on('response', response => readAnswer(response, settle))
    request.end(post.payload)
  })
}

function open(post: OtlpRequest): ClientRequest {
  const { request } = post.url.startsWith('https:') ? https() : http()
  const opened = request(post.url, { method: 'POST', headers: post.headers, agent: post.agent })
  leaveProcessFree(opened)
  return opened
}

function readAnswer(response: IncomingMessage, settle: (attempt: Attempt) => void): void {
  const chunks: Buffer[] = []
  let size = 0
  response.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= MAX_ANSWER_BYTES) chunks.push(chunk)
    else response.destroy()
  })
  // The status decides, also when the connection breaks in the middle of the body.
  const done = (): void => settle(judge(response, Buffer.concat(chunks)))
  response.on('end', done)
  response.on('error', done)
  response.on('close', done)
}

function judge(response: IncomingMessage, answer: Buffer): Attempt {
  const status = response.statusCode ?? 0
  if (status >= 200 && status < 300) {
    const isPage = response.headers['content-type']?.startsWith('text/html') === true
    return isPage ? failed({ kind: 'page', status }) : { delivery: { ok: true, answer } }
  }
  const retryAfterMillis = retryAfter(response.headers['retry-after'])
  const { location } = response.headers
  return {
    ...failed({ kind: 'status', status, ...(location === undefined ? {} : { location }) }),
    ...(retryAfterMillis === undefined ? {} : { retryAfterMillis }),
  }
}

function retryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const seconds = Number(header)
  const millis = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000
  return Number.isFinite(millis) ? Math.max(0, millis) : undefined
}

function failed(failure: DeliveryFailure): Attempt {
  return { delivery: { ok: false, failure } }
}

function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'unknown'
}
