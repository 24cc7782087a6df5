import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type ListenerLimits, openListener } from '../../receiver/loopback/listener.ts'
import type { TraceSource } from '../trace-index/trace-index.ts'
import type { LiveLine } from './api.ts'
import { admit, RequestError } from './gate.ts'
import { type Download, type Route, routeOf } from './routes.ts'

export interface ServerOptions {
  readonly source: TraceSource | Promise<TraceSource>
  readonly page: PageFiles
  readonly token: string
  readonly port: number
  readonly version: string
  readonly limits?: Partial<ViewLimits>
  now(): number
}

export type ViewLimits = ListenerLimits & Readonly<{ questions: number; streams: number; answerMillis: number }>

const LIMITS: ViewLimits = {
  connections: 128,
  headersMillis: 10_000,
  requestMillis: 20_000,
  keepAliveMillis: 60_000,
  checkMillis: 5_000,
  patienceMillis: 2_000,
  questions: 32,
  streams: 32,
  answerMillis: 30_000,
}

/**
 * The browser may load only files of this server: no inline script or style, no other origin, no framing, and no text turned into
 * markup (Trusted Types without any policy).
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

export type ViewServer = Readonly<{ port: number; close: () => Promise<void> }>

/** Starts the HTTP server of the viewer. It is read-only: no request can change anything. */
export async function startServer({ page, token, version, now, ...options }: ServerOptions): Promise<ViewServer> {
  const limits = { ...LIMITS, ...options.limits }
  const streams = new Set<ServerResponse>()
  let openQuestions = 0
  const door = await openListener({ port: options.port }, listener, limits, { countRefusal: () => undefined })
  const close = async (): Promise<void> => {
    for (const response of streams) response.destroy()
    await door.close()
    await door.ended
  }
  return { port: door.port ?? 0, close }

  function listener(port: () => number | undefined): RequestListener {
    return (request, response) => {
      for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value)
      // Errors of closed connections are ignored: the code that waits for their end has handlers of its own.
      for (const stream of [request, response]) stream.on('error', () => undefined)
      request.resume()
      answerRequest(request, response, port() ?? 0).catch((error: unknown) => refuse(request, response, error))
    }
  }

  async function answerRequest(request: IncomingMessage, response: ServerResponse, port: number): Promise<void> {
    const { path, query } = admit(request, port, token)
    const file = page.get(path)
    if (file !== undefined) return end(response, file.type, file.bytes)
    const found = routeOf(path)
    if (found === undefined) throw new RequestError(404, 'there is nothing here')
    const { answer } = found.route
    const index = page.get(INDEX)
    if (answer === 'page') return end(response, index?.type ?? 'text/html', index?.bytes ?? '')
    const source = await options.source
    if (answer === 'live') return streamChanges(request, response, source)
    const data = await answerInTime(answer, { params: found.params, query, source, version, now })
    if ('pieces' in data) return sendFile(response, data as Download)
    end(response, 'application/json; charset=utf-8', JSON.stringify(data))
  }

  function streamChanges(request: IncomingMessage, response: ServerResponse, source: TraceSource): void {
    // The page may have left while the log was opened: nothing reports that again.
    if (response.destroyed || request.socket.readableEnded) return void response.destroy()
    if (streams.size >= limits.streams) throw new RequestError(503, 'too many pages are open; close some')
    streams.add(response)
    response.once('close', () => streams.delete(response))
    // Half-open connections are kept for clients awaiting a response. On a live stream, one means that the page is gone.
    request.socket.once('end', () => response.destroy())
    response.setHeader('content-type', 'application/x-ndjson; charset=utf-8')
    writeLive(response, source, now)
  }

  function answerInTime(answer: Exclude<Route['answer'], string>, asked: Parameters<typeof answer>[0]) {
    if (openQuestions >= limits.questions) throw new RequestError(503, 'too many questions at once; ask again')
    openQuestions += 1
    // A timed-out request still counts until its work has ended.
    const answered = Promise.resolve(asked)
      .then(answer)
      .finally(() => {
        openQuestions -= 1
      })
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<never>((_, reject) => {
      const problem = new RequestError(503, 'this takes too long; ask for less')
      timer = setTimeout(reject, limits.answerMillis, problem)
    })
    return Promise.race([answered, timeout]).finally(() => clearTimeout(timer))
  }
}

function end(response: ServerResponse, type: string, body: string | Buffer): void {
  response.setHeader('content-type', type)
  response.end(body)
}

async function sendFile(response: ServerResponse, { name, pieces }: Download): Promise<void> {
  response.setHeader('content-type', 'application/octet-stream')
  response.setHeader('content-disposition', `attachment; filename="${name}"`)
  // A client that disconnects is not an error.
  await pipeline(Readable.from(pieces), response).catch(() => undefined)
}

/** Responds in one line. Internal errors are included: the reader has the token, or the error is not about data. */
function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy()
  const isRefused = error instanceof RequestError
  response.statusCode = isRefused ? error.status : 500
  const problem = isRefused ? error.message : `this could not be read: ${(error as Error).message}`
  if (request.url?.startsWith('/api/')) end(response, 'application/json; charset=utf-8', JSON.stringify({ problem }))
  else end(response, 'text/plain; charset=utf-8', `hookspan view: ${problem}\n`)
}

/** Interval of heartbeats. They also carry changes without a line in the log, such as the end of a process. */
const BEAT_MILLIS = 5_000

/**
 * Streams changes to a page, one per line, until it disconnects or the source ends. A slow page gets fewer lines and uses no more
 * memory.
 */
function writeLive(response: ServerResponse, source: TraceSource, now: () => number): void {
  const sent = new Map<string, string>()
  let [isFull, hasMissed] = [false, false]
  const write = (changed?: readonly string[]): void => {
    if (isFull) {
      hasMissed ||= changed !== undefined
      return
    }
    const line: LiveLine = { now: now(), ...(changed && { changed }), ...newsOf(source, sent) }
    isFull = !response.write(`${JSON.stringify(line)}\n`)
  }
  write()
  response.on('drain', () => {
    isFull = false
    if (hasMissed) write([])
    hasMissed = false
  })
  const beat = setInterval(write, BEAT_MILLIS).unref()
  const unfollow = source.follow(change => {
    if (change === undefined) response.end()
    else write(change.isMore ? [] : change.traceIds)
  })
  response.once('close', () => {
    clearInterval(beat)
    unfollow()
  })
}

/** The parts of the state that differ from those sent last. */
function newsOf(source: TraceSource, sent: Map<string, string>): Pick<LiveLine, 'open' | 'source'> {
  const state = { open: source.open(), source: source.status() }
  const news = Object.entries(state).filter(([name, value]) => sent.get(name) !== JSON.stringify(value))
  for (const [name, value] of news) sent.set(name, JSON.stringify(value))
  return Object.fromEntries(news)
}

/** Files by request path. A request path never becomes a file name. */
export type PageFiles = ReadonlyMap<string, Readonly<{ type: string; bytes: Buffer }>>

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const INDEX = '/index.html'

/**
 * Reads the built page into memory: it is small, and the package may be replaced while the server runs.
 *
 * @throws Error in one line when it is not there
 */
export function readPageFiles(folder: string): PageFiles {
  const files = new Map<string, { type: string; bytes: Buffer }>()
  for (const name of readdirSync(folder)) {
    const type = TYPES[extname(name)]
    if (type !== undefined) files.set(`/${name}`, { type, bytes: readFileSync(join(folder, name)) })
  }
  if (!files.has(INDEX)) throw new Error(`this copy of hookspan is not complete: there is no page in ${folder}`)
  return files
}
