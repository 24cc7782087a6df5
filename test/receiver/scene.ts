import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HostEvent } from '../../src/agents/host-event.ts'
import type { ReceiverEndpoint } from '../../src/agents/receiver-endpoints.ts'
import type { ReceiverLimits } from '../../src/receiver/limits.ts'
import type { Clock, ReceiverServer } from '../../src/receiver/receiver.ts'
import { type ReceiverFiles, receiverFiles } from '../../src/receiver/receiver-files.ts'
import type { ReceivedEvent, Recorder, RecorderStats } from '../../src/receiver/recorder.ts'
import { type Started, type StartReceiverOptions, startReceiver } from '../../src/receiver/start.ts'
import { afterwards } from '../support/afterwards.ts'

/** Remembers what it was told. */
export class MemoryRecorder implements Recorder {
  readonly told: ReceivedEvent[] = []
  readonly closings: ('handover' | 'end')[] = []
  openTurns = 0
  waiting = 0
  /** Resolves when what it was told is in its journal. */
  written: Promise<void> = Promise.resolve()
  /** Held up for so long. */
  closing: Promise<void> = Promise.resolve()

  recordEvent(told: ReceivedEvent): void {
    if (this.closings.length > 0) throw new Error('it was closed before')
    this.told.push(told)
  }

  whenJournalled(): Promise<void> {
    return this.written
  }

  stats(): RecorderStats {
    return { waiting: this.waiting, repeated: 0, journalBytes: 0, agents: {} }
  }

  traceparent(): undefined {
    return undefined
  }

  flush(): Promise<void> {
    return Promise.resolve()
  }

  async close(how: 'handover' | 'end'): Promise<void> {
    await this.closing
    this.closings.push(how)
  }

  /** The names of the events. */
  get names(): string[] {
    return this.told.map(({ event }) => event.event)
  }
}

/** What it is sent is the event: `{"event": "prompted"}`. */
export const ECHO: ReceiverEndpoint = {
  host: 'echo',
  adapter: { events: ({ body, at }) => [{ at, ...(body as { event: string }) } as HostEvent] },
}

export class FakeClock implements Clock {
  #now = 1_795_256_100_000
  #tasks: { at: number; millis: number; task: () => void }[] = []

  now = (): number => this.#now

  every(millis: number, task: () => void): () => void {
    const entry = { at: this.#now + millis, millis, task }
    this.#tasks.push(entry)
    return () => {
      this.#tasks = this.#tasks.filter(each => each !== entry)
    }
  }

  pass(millis: number): void {
    const end = this.#now + millis
    for (;;) {
      const next = this.#tasks.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.#now = next.at
      next.at += next.millis
      next.task()
    }
    this.#now = end
  }
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface Asked {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string | Uint8Array | undefined
  /** By default through the port, with the token in a header. */
  readonly token?: string | null
  readonly isBySocket?: boolean
}

/** A user's home directory, and the receivers that run there. */
export class Scene {
  readonly home: string = mkdtempSync(join(tmpdir(), 'hs-'))
  readonly env: Record<string, string> = { XDG_STATE_HOME: join(this.home, 's'), XDG_RUNTIME_DIR: join(this.home, 'r') }
  readonly lines: string[] = []
  recorder: MemoryRecorder = new MemoryRecorder()

  constructor() {
    afterwards(() => rmSync(this.home, { recursive: true, force: true }))
  }

  get place(): ReceiverFiles {
    return receiverFiles(this.env, this.home)
  }

  get token(): string {
    return readFileSync(join(this.place.directory, 'token'), 'utf8').trim()
  }

  /** The files of the spool. */
  get spooled(): string[] {
    return readdirSync(this.place.spool).sort()
  }

  begin(options: Partial<StartReceiverOptions> = {}): Promise<Started> {
    return startReceiver({
      env: this.env,
      home: this.home,
      version: '1.0.0',
      endpoints: { '/echo': ECHO },
      openRecorder: () => Promise.resolve(this.recorder),
      say: line => this.lines.push(line),
      ...options,
    })
  }

  /** One that listens, with small limits where a test names them. */
  async start({
    limits,
    ...options
  }: Partial<StartReceiverOptions> & { limits?: Partial<ReceiverLimits> } = {}): Promise<ReceiverServer> {
    const started = await this.begin({ ...options, ...(limits && { limits }) })
    if (!('receiver' in started)) throw new Error('one runs already')
    afterwards(() => started.receiver.stop())
    return started.receiver
  }

  /** Sends a request to a receiver. Rejects when the connection breaks before there is an answer. */
  ask(receiver: Pick<ReceiverServer, 'address'>, path: string, asked: Asked = {}): Promise<Answer> {
    const { method = 'POST', headers = {}, body, token = this.token, isBySocket = false } = asked
    const { socket, port } = receiver.address
    const where = isBySocket ? { socketPath: socket as string } : { host: '127.0.0.1', port: port as number }
    const withToken = token === null ? headers : { 'x-hookspan-token': token, ...headers }
    return new Promise((resolve, reject) => {
      const asking = request({ ...where, method, path, headers: withToken, agent: false }, response => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece
        })
        response.on('error', reject)
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
      })
      asking.on('error', reject)
      asking.end(body)
    })
  }

  /** Sends one event; the status. */
  async send(receiver: Pick<ReceiverServer, 'address'>, event: string, asked: Asked = {}): Promise<number> {
    return (await this.ask(receiver, '/echo', { body: JSON.stringify({ event }), ...asked })).status
  }
}

/** A connection to the port, in whatever state the test puts it. */
export async function plug({ address }: Pick<ReceiverServer, 'address'>): Promise<Socket> {
  const socket = connect(address.port as number, '127.0.0.1')
  afterwards(() => socket.destroy())
  socket.on('error', () => undefined)
  await new Promise(resolve => socket.once('connect', resolve))
  return socket
}

/** What is read from a connection until the other side ends it. */
export function untilClosed(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  return new Promise(resolve => socket.once('close', () => resolve(text)))
}
