import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { ClaudeCodeAdapter } from '../../../src/agents/claude-code/receiver-adapter.ts'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import type { ReceiverAdapter } from '../../../src/agents/receiver-adapter.ts'

/** Stands where the receiver would: answers at once, and keeps what follows from each hook, in order. */
export class Recorder {
  readonly events: HostEvent[] = []
  readonly #adapter: ReceiverAdapter
  readonly #server: Server
  #last: Promise<void> = Promise.resolve()

  /**
   * @param folder the configuration of the Claude Code that is recorded
   * @param loses hooks that are neither kept nor answered, so that they time out
   */
  static async start(folder: string, loses: readonly string[] = []): Promise<Recorder> {
    const recorder = new Recorder(folder, loses)
    await new Promise<void>((resolve, reject) => {
      recorder.#server.once('error', reject).listen(0, '127.0.0.1', resolve)
    })
    return recorder
  }

  private constructor(folder: string, loses: readonly string[]) {
    this.#adapter = new ClaudeCodeAdapter({ place: { folders: [folder], uid: process.getuid?.() }, wait: sleep })
    this.#server = createServer((request, response) => {
      const at = Date.now()
      void this.#take(request, at, loses).then(isTaken => isTaken && response.writeHead(204).end())
    })
  }

  get lostHooks(): number {
    return this.#adapter.lostHooks ?? 0
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** All that was told. */
  async stop(): Promise<readonly HostEvent[]> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
    await this.#last
    return this.events
  }

  async #take(request: IncomingMessage, at: number, loses: readonly string[]): Promise<boolean> {
    const body = (await json(request)) as { readonly hook_event_name: string }
    if (loses.includes(body.hook_event_name)) return false
    const events = this.#adapter.events({ body, headers: {}, at })
    this.#last = this.#last.then(async () => {
      for (const event of events) this.events.push(event, ...((await this.#adapter.enrich?.(event)) ?? []))
    })
    return true
  }
}
