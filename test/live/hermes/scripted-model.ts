import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ModelReply, type ModelRequest, type ModelServer, startModelServer } from '../../support/model-server.mjs'

export type Answer = (request: ModelRequest) => ModelReply | Promise<ModelReply>

/** Tokens, as the model server has told them. */
export interface Tokens {
  readonly input: number
  readonly cacheRead: number
  readonly output: number
  readonly reasoning: number
}

/** A model whose answers cost more the longer a conversation is, and which knows what it has served. */
export class ScriptedModel {
  #server: ModelServer | undefined
  #answer: Answer = () => ({})
  #served: Tokens[] = []

  static async start(): Promise<ScriptedModel> {
    const model = new ScriptedModel()
    model.#server = await startModelServer(request => model.#reply(request))
    return model
  }

  get url(): string {
    return this.#server?.url ?? ''
  }

  /** From now on it answers so, and counts anew. */
  play(answer: Answer): void {
    this.#answer = answer
    this.#served = []
  }

  /**
   * The sum of the answers that Hermes reports: not those that failed or were cut off, and not those of side calls, of which
   * this version says nothing.
   */
  get served(): Tokens {
    return sum(this.#served)
  }

  async close(): Promise<void> {
    await this.#server?.close()
  }

  async #reply(request: ModelRequest): Promise<ModelReply> {
    const reply = await this.#answer(request)
    const length = request.items.length
    const usage = { prompt: 1000 + 10 * length, cached: 100 + length, completion: 20 + length, reasoning: 3 }
    if (reply.status === undefined && reply.isCutOff !== true && !isSideCall(request)) {
      this.#served.push({
        input: usage.prompt,
        cacheRead: usage.cached,
        output: usage.completion,
        reasoning: usage.reasoning,
      })
    }
    return { usage, ...reply }
  }
}

/** They offer no tools. */
export function isSideCall({ tools }: ModelRequest): boolean {
  return tools.length === 0
}

export function sum(all: readonly Tokens[]): Tokens {
  const of = (name: keyof Tokens): number => all.reduce((total, tokens) => total + tokens[name], 0)
  return { input: of('input'), cacheRead: of('cacheRead'), output: of('output'), reasoning: of('reasoning') }
}

/** A proxy that refuses everything, and keeps what it was asked for. */
export class RefusingProxy {
  readonly asked: string[] = []
  readonly #server: Server

  static async start(): Promise<RefusingProxy> {
    const proxy = new RefusingProxy()
    await new Promise<void>(resolve => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  private constructor() {
    this.#server = createServer((request, response) => {
      this.asked.push(request.url ?? '')
      response.writeHead(502).end()
    })
    this.#server.on('connect', (request, socket) => {
      this.asked.push(request.url ?? '')
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
    })
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }
}
