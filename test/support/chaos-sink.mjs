import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createPlainServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { judge, player } from './chaos-behaviour.mjs'
import { spansOfRequest } from './otlp-spans.mjs'

export { chaosSchedule } from './chaos-behaviour.mjs'

const TRACES = '/v1/traces'
const WAIT_MILLIS = 45_000
const LISTEN_TRIES = 200
/** Below those that the system gives to connections: while a sink is down nobody else must be given its port. */
const [FIRST_PORT, PAIRS] = [15_000, 7_500]

/**
 * A port, and what holds it as long as the sink lives, also while it is down: the port behind it. Without that another sink
 * takes it meanwhile, in this process or in another one, and is sent what is not for it.
 */
async function claimPort(tries = LISTEN_TRIES) {
  const port = FIRST_PORT + 2 * Math.floor(Math.random() * PAIRS)
  const claim = createPlainServer().unref()
  try {
    await once(claim.listen(port + 1, '127.0.0.1'), 'listening')
    return { port, claim }
  } catch (error) {
    if (error.code !== 'EADDRINUSE' || tries === 0) throw error
    return claimPort(tries - 1)
  }
}

export class ChaosSink {
  requests = []
  accepted = []
  deliveries = new Map()
  #server = createServer({ keepAliveTimeout: 60_000 })
  #sockets = new Set()
  #behaviour = { kind: 'ok' }
  #next = player(this.#behaviour)
  #watchers = new Set()
  #keepsSpans
  #port
  #claim
  #timer

  constructor(keeps, { port, claim }) {
    this.#port = port
    this.#claim = claim
    this.#keepsSpans = keeps === 'spans'
    this.#server.on('connection', socket => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    this.#server.on('request', (request, response) => void this.#take(request, response))
  }

  static async start(behaviour = { kind: 'ok' }, { keeps = 'spans' } = {}) {
    const sink = new ChaosSink(keeps, await claimPort())
    if (behaviour.kind !== 'down') await sink.comeBack()
    sink.behaviour = behaviour
    return sink
  }

  get url() {
    return `http://127.0.0.1:${this.#port}`
  }

  get behaviour() {
    return this.#behaviour
  }

  set behaviour(behaviour) {
    this.#behaviour = behaviour
    this.#next = player(behaviour)
    if (behaviour.kind === 'down') this.goDown()
    else if (!this.#server.listening) void this.comeBack()
  }

  get counts() {
    const bytes = this.requests.reduce((sum, request) => sum + request.bytes, 0)
    return { requests: this.requests.length, spans: this.deliveries.size, bytes }
  }

  goDown() {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  comeBack() {
    if (this.#behaviour.kind === 'down') {
      this.#behaviour = { kind: 'ok' }
      this.#next = player(this.#behaviour)
    }
    return this.#listen(LISTEN_TRIES)
  }

  async #listen(tries) {
    if (this.#server.listening) return
    try {
      await once(this.#server.listen(this.#port, '127.0.0.1'), 'listening')
    } catch (error) {
      if (error.code !== 'EADDRINUSE' || tries === 0) throw error
      await pause(20)
      await this.#listen(tries - 1)
    }
  }

  play(steps) {
    clearTimeout(this.#timer)
    const [step, ...rest] = steps
    if (step === undefined) return
    this.behaviour = step.behaviour
    this.#timer = setTimeout(() => this.play(rest), step.forMillis)
  }

  until(is, what = 'something', millis = WAIT_MILLIS) {
    return new Promise((resolve, reject) => {
      const over = () => {
        this.#watchers.delete(look)
        clearTimeout(expiry)
        clearInterval(interval)
      }
      const look = () => {
        if (!is()) return
        over()
        resolve()
      }
      const expiry = setTimeout(() => {
        over()
        reject(new Error(`waited ${millis} ms for ${what}; ${this.#summary()}`))
      }, millis)
      // What is waited for may also be that time passes, or another sink's business.
      const interval = setInterval(look, 50)
      this.#watchers.add(look)
      look()
    })
  }

  async stop() {
    clearTimeout(this.#timer)
    this.#claim.close()
    if (!this.#server.listening) return
    const closed = new Promise(resolve => this.#server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #summary() {
    const answers = this.requests.slice(-5).map(({ answer, spans }) => `${answer} (${spans} spans)`)
    const { requests, spans } = this.counts
    return `${requests} requests came, ${spans} spans were accepted; the last answers: ${answers.join(', ') || 'none'}`
  }

  async #take(request, response) {
    const behaviour = this.#next()
    const { url: path = '', method = '', headers } = request
    const ordinal = this.requests.length
    const record = { ordinal, at: Date.now(), path, method, headers, bytes: 0, spans: 0, spanIds: [], answer: 'unread' }
    this.requests.push(record)
    if (behaviour.kind === 'reset' && behaviour.when === 'before') {
      record.answer = 'reset'
      request.socket.destroy()
    } else {
      const spans = await this.#read(request, record)
      if (spans) this.#answer(judge(behaviour, { ...record, spans, isJson: isJson(headers) }), record, spans, response)
    }
    for (const look of [...this.#watchers]) look()
  }

  /** Undefined where the client went away in the middle. */
  async #read(request, record) {
    const chunks = []
    try {
      for await (const chunk of request) chunks.push(chunk)
    } catch {
      record.answer = 'aborted'
      return undefined
    }
    const sent = Buffer.concat(chunks)
    record.bytes = sent.length
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
    const spans = record.path.endsWith(TRACES) ? spansOfRequest(body, isJson(request.headers)) : []
    record.spans = spans.length
    record.spanIds = spans.map(({ spanId }) => spanId)
    return spans
  }

  #answer(verdict, record, spans, response) {
    for (const span of spans.slice(0, verdict.takes)) this.#accept(span, record)
    record.answer = verdict.end ?? verdict.status
    if (verdict.retryAt !== undefined) record.retryAt = verdict.retryAt
    if (verdict.end === 'hanging') return
    if (verdict.end === 'reset') {
      response.socket?.destroy()
      return
    }
    const type = isJson(record.headers) ? 'application/json' : 'application/x-protobuf'
    const send = () => {
      // Whoever is gone has not heard it, and will say the same again.
      if (response.destroyed) record.answer = 'unheard'
      else record.answeredAt = Date.now()
      response.writeHead(verdict.status, { 'content-type': type, ...verdict.headers }).end(verdict.body)
    }
    if (verdict.delayMillis === undefined) send()
    else setTimeout(send, verdict.delayMillis).unref()
  }

  #accept(span, record) {
    this.deliveries.set(span.spanId, (this.deliveries.get(span.spanId) ?? 0) + 1)
    if (this.#keepsSpans) this.accepted.push({ ...span, request: record.ordinal, acceptedAt: Date.now() })
  }
}

function isJson(headers) {
  return headers['content-type'] === 'application/json'
}
