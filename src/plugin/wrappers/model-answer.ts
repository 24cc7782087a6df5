import { elementsOf, isArray, ownValue, textOf } from '../../contract/foreign.ts'
import type { ApiEnd } from '../../contract/index.ts'

/**
 * Paths in the answers of model APIs: OpenAI (chat, responses), Anthropic, Gemini, the AI SDK, LangChain, Ollama, and their
 * streamed chunks and events. A dot descends. The first path with a value wins.
 */
const PLACES = {
  usage: ['totalUsage', 'usage', 'usageMetadata', 'usage_metadata', 'message.usage', 'response.usage'],
  finish_reason: [
    'choices.0.finish_reason',
    'choices.0.finishReason',
    'finish_reason',
    'finishReason',
    'stop_reason',
    'delta.stop_reason',
    'candidates.0.finishReason',
    'response_metadata.finish_reason',
    'incomplete_details.reason',
    'done_reason',
  ],
  response_model: ['model', 'modelVersion', 'message.model', 'response.model', 'response.modelId'],
  response_id: ['id', 'responseId', 'message.id', 'response.id'],
} as const

type Place = keyof typeof PLACES

const PATHS = Object.entries(PLACES).map(
  ([field, places]) => [field as Place, places.map(place => place.split('.'))] as const,
)

/** Limits the parts and calls that are read: an answer has few, and a list may be infinite. */
const PARTS_LIMIT = 100

type Facts = { readonly [Field in Place]?: ApiEnd[Field] }

function factsOf(answer: unknown): Facts {
  const facts: { [field: string]: unknown } = {}
  for (const [field, paths] of PATHS) {
    for (const path of paths) {
      const value = ownAt(answer, path)
      if (field === 'usage' ? typeof value !== 'object' || value === null : textOf(value) === undefined) continue
      facts[field] = value
      break
    }
  }
  // Ollama has its token counts as top-level fields.
  const [input, output] = [ownValue(answer, 'prompt_eval_count'), ownValue(answer, 'eval_count')]
  if ((input ?? output) !== undefined) facts['usage'] ??= { input, output }
  return facts
}

export function addFacts(said: Facts, chunk: unknown): Facts {
  const facts = factsOf(chunk)
  if (said.usage === undefined || facts.usage === undefined) return { ...said, ...facts }
  return { ...said, ...facts, usage: { ...said.usage, ...facts.usage } }
}

export function answerOf(answer: unknown): ApiEnd {
  const { content, calls } = messageOf(answer)
  return {
    ...factsOf(answer),
    ...(calls.length > 0 && { assistant_tool_call_count: calls.length }),
    ...((content !== undefined || calls.length > 0) && {
      response: { assistant_message: { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) } },
    }),
  }
}

function messageOf(answer: unknown) {
  const text = textOf(answer)
  if (text !== undefined) return { content: text, calls: [] }
  const carrier = first(answer, ['choices.0.message', 'candidates.0.content', 'message']) ?? answer
  const parts = partsOf(carrier)
  const texts = parts.map(part => textOf(ownValue(part, 'text'))).filter(said => said !== undefined)
  const listed = ownValue(carrier, 'tool_calls') ?? ownValue(carrier, 'toolCalls')
  return {
    content:
      textOf(ownValue(carrier, 'content')) ??
      textOf(ownValue(carrier, 'text')) ??
      (texts.length === 0 ? undefined : texts.join('\n')),
    calls: [...elementsOf(listed, PARTS_LIMIT), ...parts].map(callOf).filter(call => call !== undefined),
  }
}

function first(value: unknown, places: readonly string[]): unknown {
  for (const place of places) {
    const found = ownAt(value, place.split('.'))
    if (typeof found === 'object' && found !== null) return found
  }
  return undefined
}

function partsOf(carrier: unknown): readonly unknown[] {
  const list = first(carrier, ['content', 'parts', 'output'])
  return elementsOf(list, PARTS_LIMIT).flatMap(item => {
    const inner = ownValue(item, 'content')
    return isArray(inner) ? elementsOf(inner, PARTS_LIMIT) : [item]
  })
}

function callOf(call: unknown): object | undefined {
  const described = first(call, ['function', 'functionCall']) ?? call
  const name = textOf(ownValue(described, 'name')) ?? textOf(ownValue(described, 'toolName'))
  if (name === undefined) return undefined
  const ids = ['call_id', 'id', 'toolCallId'].flatMap(key => [ownValue(call, key), ownValue(described, key)])
  const id = ids.find(value => textOf(value) !== undefined)
  const given = ['arguments', 'input', 'args'].map(key => ownValue(described, key)).find(value => value !== undefined)
  return { id, name, arguments: given }
}

function ownAt(value: unknown, path: readonly string[]): unknown {
  let at = value
  for (const key of path) at = ownValue(at, key)
  return at
}
