import { joined, pieces, textsOf } from './parts.mjs'

const ERROR_TYPES = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

/** Anthropic messages: what was asked. */
export function messagesItems({ system = '', messages = [] }) {
  const told = textsOf(system).map(text => ({ kind: 'system', text, message: -1 }))
  return [...told, ...messages.flatMap(itemsOf)]
}

function itemsOf({ role, content }, message) {
  if (role === 'assistant') return [{ kind: 'answer', text: joined(content), message }]
  const kind = role === 'user' ? 'user' : 'system'
  if (!Array.isArray(content)) return textsOf(content).map(text => ({ kind, text, message }))
  return content.flatMap(part => {
    if (part.type !== 'tool_result') return textsOf([part]).map(text => ({ kind, text, message }))
    return [{ kind: 'result', id: part.tool_use_id, text: joined(part.content), message }]
  })
}

export function whole(reply, about) {
  return {
    ...base(about),
    content: blocks(reply),
    stop_reason: stopReason(reply),
    usage: { ...inputUsage(reply), output_tokens: reply.usage.completion },
  }
}

/** As server-sent events [name, data]. */
export function events(reply, about) {
  const message = { ...base(about), content: [], stop_reason: null, usage: { ...inputUsage(reply), output_tokens: 1 } }
  const data = [
    { type: 'message_start', message },
    { type: 'ping' },
    ...blocks(reply).flatMap(blockEvents),
    {
      type: 'message_delta',
      delta: { stop_reason: stopReason(reply), stop_sequence: null },
      usage: { output_tokens: reply.usage.completion },
    },
    { type: 'message_stop' },
  ]
  return data.map(event => [event.type, event])
}

export function errorBody(status, message, ordinal) {
  const type = ERROR_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  return { type: 'error', error: { type, message }, request_id: `req_${ordinal}` }
}

function base({ ordinal, model }) {
  return { id: `msg_${ordinal}`, type: 'message', role: 'assistant', model, stop_sequence: null }
}

function stopReason({ refusal, toolCalls, isCutOff }) {
  if (isCutOff) return 'max_tokens'
  if (refusal !== undefined) return 'refusal'
  return toolCalls.length === 0 ? 'end_turn' : 'tool_use'
}

/** The input of a call is an object: arguments that are no JSON cannot be said in this protocol. */
function blocks({ thinking, text, refusal, toolCalls }) {
  const said = refusal ?? text
  return [
    ...(thinking === undefined ? [] : [{ type: 'thinking', thinking, signature: 'c2lnbmF0dXJl' }]),
    ...(said === undefined ? [] : [{ type: 'text', text: said }]),
    ...toolCalls.map(({ id, name, json }) => ({ type: 'tool_use', id, name, input: parsed(json) })),
  ]
}

function parsed(json) {
  try {
    return JSON.parse(json)
  } catch {
    return {}
  }
}

function blockEvents(block, index) {
  const { empty, deltas } = streamed(block)
  return [
    { type: 'content_block_start', index, content_block: empty },
    ...deltas.map(delta => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

function streamed(block) {
  if (block.type === 'text') {
    const deltas = pieces(block.text).map(text => ({ type: 'text_delta', text }))
    return { empty: { type: 'text', text: '' }, deltas }
  }
  if (block.type === 'thinking') {
    const deltas = pieces(block.thinking).map(thinking => ({ type: 'thinking_delta', thinking }))
    const signature = { type: 'signature_delta', signature: block.signature }
    return { empty: { type: 'thinking', thinking: '', signature: '' }, deltas: [...deltas, signature] }
  }
  const deltas = pieces(JSON.stringify(block.input)).map(partial_json => ({ type: 'input_json_delta', partial_json }))
  return { empty: { ...block, input: {} }, deltas }
}

/** Unlike OpenAI, the input leaves out what was read from the cache or written to it. */
function inputUsage({ usage: { prompt, cached, cacheWrite } }) {
  return {
    input_tokens: prompt - cached - cacheWrite,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: cacheWrite,
  }
}
