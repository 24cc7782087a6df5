import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import * as chat from './model-server/chat.mjs'
import * as messages from './model-server/messages.mjs'
import { normalise, stateOf } from './model-server/request.mjs'
import * as responses from './model-server/responses.mjs'

const APIS = { chat, responses, messages }
const DEFAULT_TEXT = 'Hello from the model.'
const MODEL_LIST = {
  object: 'list',
  data: [
    { id: 'fake-1', object: 'model', type: 'model', display_name: 'Fake 1', created: 1_700_000_000, owned_by: 'test' },
  ],
  has_more: false,
  first_id: 'fake-1',
  last_id: 'fake-1',
}

export async function startModelServer(answer, { port = 0 } = {}) {
  const state = { answer, requests: [], others: [], attempts: new Map(), problem: undefined }
  const server = createServer((request, response) => {
    handle(state, request, response).catch(error => {
      state.problem ??= error
      response.destroy()
    })
  })
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  const taken = server.address().port
  return {
    port: taken,
    url: `http://127.0.0.1:${taken}`,
    requests: state.requests,
    others: state.others,
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
      if (state.problem !== undefined) throw state.problem
    },
  }
}

async function handle(state, request, response) {
  const path = new URL(request.url, 'http://localhost').pathname
  const body = await readBody(request)
  if (body === undefined) return
  const api = request.method === 'POST' ? apiOf(path) : undefined
  if (api === undefined) {
    state.others.push({ method: request.method, path })
    answerOther(path, request.method, response)
    return
  }
  const asked = { ...normalise(api, body), headers: request.headers, body }
  const conversation = stateOf(asked)
  asked.attempt = (state.attempts.get(conversation) ?? 0) + 1
  state.attempts.set(conversation, asked.attempt)
  const ordinal = state.requests.push(asked)
  const reply = (await ask(state, asked)) ?? {}
  if (reply.delayMillis !== undefined) await sleep(reply.delayMillis)
  if (reply.status !== undefined) sendError(APIS[api], reply, ordinal, response)
  else
    await sendReply(
      APIS[api],
      { api, ordinal, model: asked.model, stream: asked.stream },
      withDefaults(reply, ordinal),
      response,
    )
}

/** Undefined where the client went away in the middle. */
async function readBody(request) {
  const chunks = []
  try {
    for await (const chunk of request) chunks.push(chunk)
  } catch {
    return undefined
  }
  const text = Buffer.concat(chunks).toString('utf8')
  return text === '' ? {} : JSON.parse(text)
}

function apiOf(path) {
  if (path.endsWith('/chat/completions')) return 'chat'
  if (path.endsWith('/responses')) return 'responses'
  if (path.endsWith('/messages')) return 'messages'
  return undefined
}

function answerOther(path, method, response) {
  if (path.endsWith('/count_tokens')) sendJson(response, 200, { input_tokens: 42 })
  else if (path.endsWith('/models')) sendJson(response, 200, MODEL_LIST)
  else if (method === 'HEAD') response.writeHead(200).end()
  else
    sendJson(response, 404, {
      error: { message: `no ${path} here`, type: 'invalid_request_error', param: null, code: null },
    })
}

/** An answer script that throws must not pass for a model that fails: `close` throws it again. */
async function ask(state, asked) {
  try {
    return await state.answer(asked)
  } catch (error) {
    state.problem ??= error
    return { status: 400, error: `the answer script threw: ${error}` }
  }
}

function withDefaults(reply, ordinal) {
  const says = reply.text !== undefined || reply.toolCalls !== undefined || reply.refusal !== undefined
  const toolCalls = (reply.toolCalls ?? []).map((call, index) => ({
    name: call.name,
    namespace: call.namespace,
    // OpenClaw leaves out everything but letters and digits.
    id: call.id ?? `call${ordinal}x${index}`,
    // Arguments may be a text, for one that is no JSON.
    json: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {}),
  }))
  return {
    ...reply,
    ...(says ? {} : { text: DEFAULT_TEXT }),
    toolCalls,
    usage: { prompt: 120, cached: 20, cacheWrite: 0, completion: 17, reasoning: 3, ...reply.usage },
  }
}

function sendError(api, { status, error = 'scripted error' }, ordinal, response) {
  sendJson(response, status, api.errorBody(status, error, ordinal), { 'x-request-id': `req_${ordinal}` })
}

async function sendReply(api, about, reply, response) {
  const [type, parts] = about.stream
    ? ['text/event-stream', api.events(reply, about).map(frame)]
    : ['application/json', halves(JSON.stringify(api.whole(reply, about)))]
  response.writeHead(200, {
    'content-type': type,
    'request-id': `req_${about.ordinal}`,
    'x-request-id': `req_${about.ordinal}`,
  })
  response.flushHeaders()
  if (reply.firstChunkDelayMillis !== undefined) await sleep(reply.firstChunkDelayMillis)
  if (reply.truncate !== true) {
    response.end(parts.join(''))
    return
  }
  // What was written must have left before the connection is cut.
  await new Promise(resolve => response.write(parts.slice(0, Math.ceil(parts.length / 2)).join(''), resolve))
  response.socket?.destroySoon()
}

function frame([event, data]) {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`
}

function halves(text) {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}

function sendJson(response, status, body, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
