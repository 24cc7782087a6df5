import { expect } from 'vitest'
import { afterwards } from '../afterwards.ts'
import { type ModelReply, type ModelRequest, type ModelServer, startModelServer } from '../model-server.mjs'

export type Json = Record<string, any>

export async function serve(answer: (request: ModelRequest) => ModelReply | undefined): Promise<ModelServer> {
  const server = await startModelServer(answer)
  afterwards(() => server.close())
  return server
}

export const PATHS: { readonly chat: string; readonly responses: string; readonly messages: string } = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages?beta=true',
}
export type Api = keyof typeof PATHS
export const APIS: readonly Api[] = Object.keys(PATHS) as Api[]

export function post(
  server: ModelServer,
  api: Api,
  body: Json,
  headers: Record<string, string> = {},
): Promise<Response> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  }
  return fetch(server.url + PATHS[api], init)
}

/** A request with one prompt, in each protocol. */
export function asking(api: Api, prompt: string): Json {
  const said = [{ role: 'user', content: prompt }]
  return api === 'responses' ? { model: 'm', input: said } : { model: 'm', messages: said }
}

export async function ask(server: ModelServer, api: Api, body: Json): Promise<Json> {
  return (await (await post(server, api, body)).json()) as Json
}

export interface Streamed {
  readonly names: (string | undefined)[]
  readonly data: Json[]
}

export async function stream(server: ModelServer, api: Api, body: Json): Promise<Streamed> {
  const response = await post(server, api, { ...body, stream: true })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  return readEvents(await response.text())
}

function readEvents(text: string): Streamed {
  const frames = text.split('\n\n').filter(frame => frame !== '')
  const lines = frames.map(frame =>
    Object.fromEntries(frame.split('\n').map(line => line.split(/: (.*)/s).slice(0, 2))),
  )
  const data = lines.filter(line => line.data !== '[DONE]').map(line => JSON.parse(line.data) as Json)
  return { names: lines.map(line => line.event), data }
}
