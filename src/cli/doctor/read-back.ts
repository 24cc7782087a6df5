import { open } from 'node:fs/promises'
import { get as getHttp, type IncomingMessage } from 'node:http'
import { get as getHttps } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import type { StringMap } from '../../delivery/backends/backend-config.ts'
import type { ReadBackRequest } from '../../delivery/pipeline/backend-plan.ts'
import { HeadersCommand } from '../../delivery/pipeline/headers-command.ts'
import { createAgent } from '../../delivery/pipeline/otlp-sender.ts'
import { untraced } from '../../delivery/pipeline/sdk.ts'
import type { TlsFiles } from '../../delivery/pipeline/tls-files.ts'

const POLL_MILLIS = 250
/** The trace has one span, so a longer response is something else. */
const MAX_ANSWER_BYTES = 1_048_576

export type ReadBackOutcome =
  | { readonly kind: 'found' }
  /** Not there, or not yet. `status` is that of the last response. */
  | { readonly kind: 'missing'; readonly status?: number }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'unreachable'; readonly code: string }
  | { readonly kind: 'page' }

interface ReadBackTarget {
  readonly request: ReadBackRequest
  readonly traceId: string
  readonly tls: TlsFiles
  /** The `headers_command` of the backend, if the request needs credentials. */
  readonly headersCommand: readonly string[] | undefined
}

/** Polls until the server returns the trace, polling is useless, or the time is over. Never rejects. */
export async function readBack(target: ReadBackTarget, waitMillis: number): Promise<ReadBackOutcome> {
  const agent = createAgent(target.request.url, target.tls)
  const deadlineAt = performance.now() + waitMillis
  try {
    const headers = { ...target.request.headers, ...(await commandHeaders(target.headersCommand, waitMillis)) }
    for (;;) {
      const left = deadlineAt - performance.now()
      const outcome = await ask(target, headers, agent, Math.max(left, POLL_MILLIS))
      if (outcome.kind !== 'missing' || performance.now() + POLL_MILLIS > deadlineAt) return outcome
      await pause(POLL_MILLIS)
    }
  } finally {
    agent.destroy()
  }
}

async function commandHeaders(command: readonly string[] | undefined, waitMillis: number): Promise<StringMap> {
  if (command === undefined) return {}
  // The program does not keep this process alive.
  const timer = setTimeout(() => undefined, waitMillis)
  const own = await new HeadersCommand(command).read(waitMillis, new AbortController().signal)
  clearTimeout(timer)
  return own.ok ? own.headers : {}
}

function ask(
  { request, traceId }: ReadBackTarget,
  headers: StringMap,
  agent: ReturnType<typeof createAgent>,
  timeoutMillis: number,
): Promise<ReadBackOutcome> {
  const get = request.url.startsWith('https:') ? getHttps : getHttp
  return new Promise(resolve => {
    const giveUp = setTimeout(() => settle({ kind: 'missing' }), timeoutMillis)
    const settle = (outcome: ReadBackOutcome): void => {
      clearTimeout(giveUp)
      made.destroy()
      resolve(outcome)
    }
    const made = untraced(() => get(request.url, { headers, agent }))
    made.on('error', (error: NodeJS.ErrnoException) => settle({ kind: 'unreachable', code: error.code ?? 'unknown' }))
    made.on('response', response => {
      void bodyOf(response).then(body => settle(judge(response, body, request, traceId)))
    })
  })
}

function judge(response: IncomingMessage, body: string, { found }: ReadBackRequest, traceId: string): ReadBackOutcome {
  const { statusCode: status = 0, headers } = response
  if (status === 401 || status === 403) return { kind: 'refused', status }
  if (status !== 200) return { kind: 'missing', status }
  // The server of a user interface answers every path with 200.
  if (headers['content-type']?.startsWith('text/html')) return { kind: 'page' }
  return found === 'status' || body.includes(traceId) ? { kind: 'found' } : { kind: 'missing', status }
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  let body = ''
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      body += chunk
      if (body.length > MAX_ANSWER_BYTES) break
    }
  } catch {
    // The status is enough.
  }
  return body
}

export async function readBackFile(path: string, traceId: string): Promise<ReadBackOutcome> {
  const handle = await open(path, 'r').catch(() => undefined)
  if (handle === undefined) return { kind: 'missing' }
  try {
    const { size } = await handle.stat()
    const end = Buffer.alloc(Math.min(size, MAX_ANSWER_BYTES))
    await handle.read(end, 0, end.length, size - end.length)
    return end.includes(traceId) ? { kind: 'found' } : { kind: 'missing' }
  } catch {
    return { kind: 'missing' }
  } finally {
    await handle.close()
  }
}
