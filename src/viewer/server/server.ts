import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type ListenerLimits, openListener } from '../../receiver/loopback/listener.ts'
import type { LiveLine } from './api.ts'
import { admit, RequestError } from './gate.ts'
import { Download, type Route, routeOf } from './routes.ts'
import type { TraceSource } from './source.ts'

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
export async function startServer(options: ServerOptions): Promise<ViewServer> {
  const limits = { ...LIMITS, ...options.limits }
  const answering = new RequestHandler(options, limits)
  const counts = { countRefusal: () => undefined }
  const door = await openListener({ port: options.port }, port => answering.listener(port), limits, counts)
  const close = async (): Promise<void> => {
    answering.endStreams()
    await door.close()
    await door.ended
  }
  return { port: door.port ?? 0, close }
}

class RequestHandler {
  readonly #options: ServerOptions
  readonly #limits: ViewLimits
  readonly #streams = new Set<ServerResponse>()
  #openQuestions = 0

  constructor(options: ServerOptions, limits: ViewLimits) {
    this.#options = options
    this.#limits = limits
  }

  listener(port: () => number | undefined): RequestListener {
    return (request, response) => {
      for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value)
      // Errors of closed connections are ignored: the code that waits for their end has handlers of its own.
      for (const stream of [request, response]) stream.on('error', () => undefined)
      request.resume()
      this.#answer(request, response, port() ?? 0).catch((error: unknown) => refuse(request, response, error))
    }
  }

  endStreams(): void {
    for (const response of this.#streams) response.destroy()
  }

  async #answer(request: IncomingMessage, response: ServerResponse, port: number): Promise<void> {
    const { method, url, headers, rawHeaders } = request
    const { path, query } = admit({ method, url, headers, rawHeaders, port }, this.#options.token)
    const file = this.#options.page.get(path)
    if (file !== undefined) return end(response, file.type, file.bytes)
    const found = routeOf(path)
    if (found === undefined) throw new RequestError(404, 'there is nothing here')
    const { answer } = found.route
    const index = this.#options.page.get(INDEX)
    if (answer === 'page') return end(response, index?.type ?? 'text/html', index?.bytes ?? '')
    const { version, now } = this.#options
    const source = await this.#options.source
    if (answer === 'live') return this.#live(request, response, source)
    const data = await this.#answerInTime(answer, { params: found.params, query, source, version, now })
    if (data instanceof Download) return sendFile(response, data)
    end(response, 'application/json; charset=utf-8', JSON.stringify(data))
  }

  async #live(request: IncomingMessage, response: ServerResponse, source: TraceSource): Promise<void> {
    if (this.#streams.size >= this.#limits.streams) throw new RequestError(503, 'too many pages are open; close some')
    this.#streams.add(response)
    response.once('close', () => this.#streams.delete(response))
    // Half-open connections are kept for clients awaiting a response. On a live stream, one means that the page is gone.
    request.socket.once('end', () => response.destroy())
    response.setHeader('content-type', 'application/x-ndjson; charset=utf-8')
    await writeLive(response, source, this.#options.now)
  }

  #answerInTime(answer: Exclude<Route['answer'], string>, asked: Parameters<typeof answer>[0]): Promise<object> {
    if (this.#openQuestions >= this.#limits.questions) {
      return Promise.reject(new RequestError(503, 'too many questions at once; ask again'))
    }
    this.#openQuestions += 1
    // A timed-out request still counts until its work has ended.
    const answered = Promise.resolve(asked)
      .then(answer)
      .finally(() => {
        this.#openQuestions -= 1
      })
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<never>((_, reject) => {
      const problem = new RequestError(503, 'this takes too long; ask for less')
      timer = setTimeout(reject, this.#limits.answerMillis, problem)
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
async function writeLive(response: ServerResponse, source: TraceSource, now: () => number): Promise<void> {
  const changes = source.changes()
  const last = new LiveState()
  const write = (line: LiveLine): boolean => response.write(`${JSON.stringify(line)}\n`)
  const writeNews = (): void => {
    try {
      write({ now: now(), ...last.news(source) })
    } catch {
      // The source is closed. The page gets the reason when it reconnects.
      response.destroy()
    }
  }
  const beat = setInterval(writeNews, BEAT_MILLIS).unref()
  response.once('close', () => {
    clearInterval(beat)
    void changes.return?.()
  })
  write({ now: now(), ...last.news(source) })
  for (let next = await changes.next(); next.done !== true; next = await changes.next()) {
    const { traceIds, isMore } = next.value
    const isFull = !write({ now: now(), changed: isMore ? [] : traceIds, ...last.news(source) })
    if (isFull && !response.destroyed) await drained(response)
  }
  response.end()
}

class LiveState {
  #open = ''
  #source = ''

  news(source: TraceSource): Pick<LiveLine, 'open' | 'source'> {
    const [open, status] = [source.open(), source.status()]
    const [openText, statusText] = [JSON.stringify(open), JSON.stringify(status)]
    const news = { ...(openText !== this.#open && { open }), ...(statusText !== this.#source && { source: status }) }
    this.#open = openText
    this.#source = statusText
    return news
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
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
