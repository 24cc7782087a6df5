import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

export interface GeminiReply {
  readonly text?: string
  readonly thinking?: string
  readonly calls?: readonly { readonly name: string; readonly args: object }[]
  /** An answer that is an error. */
  readonly status?: number
  /** It begins, and does not end. */
  readonly hangs?: boolean
}

export interface GeminiRequest {
  /** Of the last prompt. */
  readonly prompt: string
  /** Results of tools behind it. */
  readonly results: number
  readonly isChild: boolean
}

/** Of each answer: `promptTokenCount` and the others make 137. */
const TOKENS = {
  promptTokenCount: 120,
  candidatesTokenCount: 14,
  cachedContentTokenCount: 20,
  thoughtsTokenCount: 3,
  totalTokenCount: 137,
}

interface Part {
  readonly text?: string
  readonly functionResponse?: unknown
}

/** The Gemini API on loopback, as far as Gemini CLI asks it. */
export class GeminiModel {
  /** Tokens of whole answers to the agents. */
  served = 0
  /** Bodies of the requests of turns. */
  readonly bodies: Readonly<Record<string, unknown>>[] = []
  readonly #server = createServer((request, response) => void this.#answer(request, response))
  readonly #script: (request: GeminiRequest) => GeminiReply | Promise<GeminiReply>

  constructor(script: (request: GeminiRequest) => GeminiReply | Promise<GeminiReply>) {
    this.#script = script
  }

  async start(): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await json(request)) as Record<string, unknown>
    if (request.url?.includes('stream') !== true)
      return sendJson(response, 200, { ...wholeAnswer(ROUTE), totalTokens: 1 })
    this.bodies.push(body)
    const reply = await this.#script(read(body))
    if (reply.status !== undefined) {
      const error = { code: reply.status, message: 'As the script says.', status: 'INVALID_ARGUMENT' }
      return sendJson(response, reply.status, { error })
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const send = (chunk: object): void => void response.write(`data: ${JSON.stringify(chunk)}\r\n\r\n`)
    if (reply.thinking !== undefined) send(chunkOf([{ text: `**Hm** ${reply.thinking}`, thought: true }]))
    if (reply.text !== undefined) send(chunkOf([{ text: reply.text }]))
    if (reply.hangs === true) return
    const calls = (reply.calls ?? []).map(functionCall => ({ functionCall }))
    send({ ...chunkOf(calls.length > 0 ? calls : [{ text: '' }], 'STOP'), usageMetadata: TOKENS })
    this.served += TOKENS.totalTokenCount
    response.end()
  }
}

/** Which model it is to be is asked beside the turn. */
const ROUTE = JSON.stringify({ complexity_reasoning: 'simple', complexity_score: 1 })

function wholeAnswer(text: string): object {
  return { ...chunkOf([{ text }], 'STOP'), usageMetadata: { promptTokenCount: 1, totalTokenCount: 1 } }
}

function chunkOf(parts: readonly object[], finishReason?: string): object {
  return {
    responseId: 'r',
    modelVersion: 'gemini-fake',
    candidates: [{ content: { role: 'model', parts }, finishReason }],
  }
}

function read(body: Record<string, unknown>): GeminiRequest {
  const contents = (body['contents'] ?? []) as readonly { readonly role: string; readonly parts: readonly Part[] }[]
  const users = contents.filter(({ role }) => role === 'user').flatMap(({ parts }) => parts)
  const isPrompt = ({ text }: Part): boolean => text !== undefined && !text.startsWith('<')
  const last = users.findLastIndex(isPrompt)
  return {
    prompt: users[last]?.text?.trim() ?? '',
    results: users.slice(last + 1).filter(({ functionResponse }) => functionResponse !== undefined).length,
    isChild: JSON.stringify(body['systemInstruction'] ?? '').includes('CHILD'),
  }
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
