import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import { json } from 'node:stream/consumers'
import type { HostEvent } from '../../src/agents/host-event.ts'
import type { ReceiverAdapter } from '../../src/agents/receiver-adapter.ts'
import { replayEvents } from '../agents/replay-fixture.ts'
import { capture, isRecording, tapFile } from './recording.ts'

/** Stands where the receiver would: keeps what follows from each hook, in order. */
export class HookRecorder {
  readonly events: HostEvent[] = []
  readonly #adapter: ReceiverAdapter
  readonly #server: Server
  #last: Promise<void> = Promise.resolve()

  static async start(adapter: ReceiverAdapter): Promise<HookRecorder> {
    const recorder = new HookRecorder(adapter)
    await new Promise<void>((resolve, reject) => {
      recorder.#server.once('error', reject).listen(0, '127.0.0.1', resolve)
    })
    return recorder
  }

  private constructor(adapter: ReceiverAdapter) {
    this.#adapter = adapter
    this.#server = createServer((request, response) => {
      const at = Date.now()
      void this.#take(request, at).finally(() => response.writeHead(204).end())
    })
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** A hook of this name has come. */
  has(event: string): boolean {
    return this.events.some(one => one.event === event)
  }

  /** All that was told. */
  async stop(): Promise<readonly HostEvent[]> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
    await this.#last
    return this.events
  }

  async #take(request: IncomingMessage, at: number): Promise<void> {
    const body = await json(request)
    const events = this.#adapter.events({ body, headers: {}, at })
    this.#last = this.#last.then(async () => {
      for (const event of events) this.events.push(event, ...((await this.#adapter.enrich?.(event)) ?? []))
    })
  }
}

export interface Drawn {
  readonly tree: string
  /** Tokens of all spans. */
  readonly traced: number
}

/** What comes of the events. */
export async function drawn(host: string, events: readonly HostEvent[]): Promise<Drawn> {
  const { tree, plugin } = await replayEvents(host, events)
  const tokens = plugin.spans().flatMap(({ attributes }) => {
    return [attributes['gen_ai.usage.input_tokens'], attributes['gen_ai.usage.output_tokens']].map(one =>
      Number(one ?? 0),
    )
  })
  return { tree, traced: tokens.reduce((sum, one) => sum + one, 0) }
}

export interface Captured {
  readonly home: string
  readonly host: string
  /** Name of the fixture. */
  readonly scenario: string
  readonly description: string
}

/** Makes a fixture of it, where that is wanted. */
export function keep({ home, host, scenario, description }: Captured, events: readonly HostEvent[]): void {
  if (!isRecording()) return
  writeFileSync(tapFile(home), `${events.map(event => JSON.stringify(event)).join('\n')}\n`)
  capture(home, host, scenario, description)
}

export function writeJson(path: string, value: object): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, JSON.stringify(value, null, 2))
}
