import { joined, openaiError, pieces, textsOf } from './parts.mjs'

/** OpenAI chat completions: what was asked. */
export function chatItems({ messages = [] }) {
  return messages.flatMap((said, message) => {
    const { role, content } = said
    if (role === 'tool') return [{ kind: 'result', id: said.tool_call_id, text: joined(content), message }]
    if (role === 'assistant') return [{ kind: 'answer', text: joined(content), message }]
    const kind = role === 'user' ? 'user' : 'system'
    return textsOf(content).map(text => ({ kind, text, message }))
  })
}

export function whole(reply, about) {
  const calls = reply.toolCalls.map(toolCall)
  const message = {
    role: 'assistant',
    content: reply.text ?? null,
    refusal: reply.refusal ?? null,
    ...(reply.thinking === undefined ? {} : { reasoning_content: reply.thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  const choices = [{ index: 0, message, finish_reason: finishReason(reply), logprobs: null }]
  return { ...base(about, 'chat.completion'), choices, usage: usage(reply) }
}

/** As server-sent events [name, data]. The usage comes also where it was not asked for, as many servers do it. */
export function events(reply, about) {
  const head = base(about, 'chat.completion.chunk')
  const chunk = (delta, finish_reason = null) => [undefined, { ...head, choices: [{ index: 0, delta, finish_reason }] }]
  return [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(reply.thinking ?? '').map(reasoning_content => chunk({ reasoning_content })),
    ...pieces(reply.text ?? '').map(content => chunk({ content })),
    ...pieces(reply.refusal ?? '').map(refusal => chunk({ refusal })),
    ...reply.toolCalls.flatMap((call, index) => callDeltas(call, index).map(delta => chunk({ tool_calls: [delta] }))),
    chunk({}, finishReason(reply)),
    [undefined, { ...head, choices: [], usage: usage(reply) }],
    [undefined, '[DONE]'],
  ]
}

export function errorBody(status, message) {
  return openaiError(status, message)
}

function base({ ordinal, model }, object) {
  return { id: `chatcmpl-${ordinal}`, object, created: 1_700_000_000, model }
}

function finishReason({ toolCalls, isCutOff }) {
  if (isCutOff) return 'length'
  return toolCalls.length === 0 ? 'stop' : 'tool_calls'
}

function toolCall({ id, name, json }) {
  return { id, type: 'function', function: { name, arguments: json } }
}

/** The name first, the arguments in pieces. */
function callDeltas(call, index) {
  const first = { index, ...toolCall({ ...call, json: '' }) }
  return [first, ...pieces(call.json).map(piece => ({ index, function: { arguments: piece } }))]
}

function usage({ usage: { prompt, cached, completion, reasoning } }) {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}
