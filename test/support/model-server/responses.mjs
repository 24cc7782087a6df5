import { joined, openaiError, pieces, textsOf } from './parts.mjs'

/** OpenAI responses: what was asked. */
export function responsesItems({ instructions, input = [] }) {
  const system = instructions ? [{ kind: 'system', text: instructions, message: -1 }] : []
  if (typeof input === 'string') return [...system, { kind: 'user', text: input, message: 0 }]
  return [...system, ...input.flatMap(itemsOf)]
}

function itemsOf(said, message) {
  const { type = 'message', role, content } = said
  if (type.endsWith('_call_output'))
    return [{ kind: 'result', id: said.call_id, text: outputText(said.output), message }]
  // A reasoning item belongs to the answer that follows it.
  if (type === 'reasoning') return []
  if (type !== 'message' || role === 'assistant') return [{ kind: 'answer', text: joined(content), message }]
  return textsOf(content).map(text => ({ kind: role === 'user' ? 'user' : 'system', text, message }))
}

function outputText(output) {
  return textsOf(Array.isArray(output) ? output : [output]).join('\n') || joined(output)
}

export function whole(reply, about) {
  return response(reply, about, ended(reply), outputItems(reply, about))
}

/** As server-sent events [name, data]. */
export function events(reply, about) {
  const items = outputItems(reply, about)
  const started = response(reply, about, 'in_progress', [])
  const data = [
    { type: 'response.created', response: started },
    { type: 'response.in_progress', response: started },
    ...items.flatMap(itemEvents),
    { type: `response.${ended(reply)}`, response: response(reply, about, ended(reply), items) },
  ]
  return data.map((event, sequence_number) => [event.type, { ...event, sequence_number }])
}

export function errorBody(status, message) {
  return openaiError(status, message)
}

function ended({ isCutOff }) {
  return isCutOff ? 'incomplete' : 'completed'
}

function response(reply, { ordinal, model }, status, output) {
  return {
    id: `resp_${ordinal}`,
    object: 'response',
    created_at: 1_700_000_000,
    status,
    error: null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: null,
    model,
    output,
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    metadata: {},
    usage: status === 'in_progress' ? null : usage(reply),
  }
}

function outputItems({ thinking, text, refusal, toolCalls }, { ordinal }) {
  const items = []
  if (thinking !== undefined) {
    items.push({ type: 'reasoning', id: `rs_${ordinal}`, summary: [{ type: 'summary_text', text: thinking }] })
  }
  const said = refusal === undefined ? text : refusal
  if (said !== undefined) {
    const part =
      refusal === undefined ? { type: 'output_text', text: said, annotations: [] } : { type: 'refusal', refusal: said }
    items.push({ type: 'message', id: `msg_${ordinal}`, role: 'assistant', status: 'completed', content: [part] })
  }
  for (const { id, name, namespace, json } of toolCalls) {
    const call = { type: 'function_call', id: `fc_${id}`, call_id: id, name, arguments: json, status: 'completed' }
    items.push(namespace === undefined ? call : { ...call, namespace })
  }
  return items
}

function itemEvents(item, output_index) {
  const at = { item_id: item.id, output_index }
  const within = { message: messageEvents, function_call: callEvents, reasoning: reasoningEvents }[item.type](item, at)
  return [
    { type: 'response.output_item.added', output_index, item: emptied(item) },
    ...within,
    { type: 'response.output_item.done', output_index, item },
  ]
}

function emptied(item) {
  if (item.type === 'message') return { ...item, status: 'in_progress', content: [] }
  if (item.type === 'function_call') return { ...item, status: 'in_progress', arguments: '' }
  return { ...item, summary: [] }
}

function messageEvents({ content: [part] }, item) {
  const at = { ...item, content_index: 0 }
  const [name, key] = part.type === 'refusal' ? ['refusal', 'refusal'] : ['output_text', 'text']
  return [
    { type: 'response.content_part.added', ...at, part: { ...part, [key]: '' } },
    ...pieces(part[key]).map(delta => ({ type: `response.${name}.delta`, ...at, delta })),
    { type: `response.${name}.done`, ...at, [key]: part[key] },
    { type: 'response.content_part.done', ...at, part },
  ]
}

function callEvents(item, at) {
  const name = 'response.function_call_arguments'
  return [
    ...pieces(item.arguments).map(delta => ({ type: `${name}.delta`, ...at, delta })),
    { type: `${name}.done`, ...at, arguments: item.arguments, name: item.name },
  ]
}

function reasoningEvents({ summary: [part] }, item) {
  const at = { ...item, summary_index: 0 }
  return [
    { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
    ...pieces(part.text).map(delta => ({ type: 'response.reasoning_summary_text.delta', ...at, delta })),
    { type: 'response.reasoning_summary_text.done', ...at, text: part.text },
    { type: 'response.reasoning_summary_part.done', ...at, part },
  ]
}

function usage({ usage: { prompt, cached, completion, reasoning } }) {
  return {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: completion,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: prompt + completion,
  }
}
