/**
 * The names of the GenAI conventions since they have a repository of their own, transcribed: names, types, well-known values.
 * From github.com/open-telemetry/semantic-conventions-genai, Copyright The OpenTelemetry Authors, Apache License 2.0.
 */
import type { AttributeRow } from './gen-ai-table.ts'

/** Its first release, which lists what changed since v1.41. */
export const GEN_AI_NEXT_VERSION = 'v0.1.0'

/** Attributes of v1.41 that it no longer has, and the name that took their place, if any. */
export const GEN_AI_RENAMED: Readonly<Record<string, string | undefined>> = {
  'usage.cache_creation.input_tokens': 'usage.cache_write.input_tokens',
  'workflow.name': 'agent.name',
  'token.type': undefined,
}

/** Of every row below. */
export const GEN_AI_NEXT_STABILITY = 'development'

const text: AttributeRow = { type: 'string' }
const int: AttributeRow = { type: 'int' }
const double: AttributeRow = { type: 'double' }
const list: AttributeRow = { type: 'string[]' }
const json: AttributeRow = { type: 'json' }
const open = (...values: string[]): AttributeRow => ({ type: 'string', values, isOpen: true })

/** `model/gen-ai/registry.yaml`: every attribute, without its prefix `gen_ai.`. */
export const GEN_AI_NEXT_ATTRIBUTES: Readonly<Record<string, AttributeRow>> = {
  'agent.description': text,
  'agent.id': text,
  'agent.name': text,
  'agent.version': text,
  'conversation.compacted': { type: 'boolean' },
  'conversation.id': text,
  'data_source.id': text,
  'embeddings.dimension.count': int,
  'evaluation.explanation': text,
  'evaluation.name': text,
  'evaluation.score.label': text,
  'evaluation.score.value': double,
  'input.messages': json,
  'memory.query.text': text,
  'memory.record.count': int,
  'memory.record.id': text,
  'memory.records': json,
  'memory.store.id': text,
  'operation.name': open(
    'chat',
    'create_agent',
    'create_memory',
    'create_memory_store',
    'delete_memory',
    'delete_memory_store',
    'embeddings',
    'execute_tool',
    'fetch_response',
    'generate_content',
    'invoke_agent',
    'invoke_workflow',
    'plan',
    'retrieval',
    'search_memory',
    'text_completion',
    'update_memory',
    'upsert_memory',
  ),
  'output.messages': json,
  'output.type': open('image', 'json', 'speech', 'text'),
  'prompt.name': text,
  // A template: the name of the variable follows.
  'prompt.variable': text,
  'prompt.version': text,
  'provider.name': open(
    'anthropic',
    'aws.bedrock',
    'azure.ai.inference',
    'azure.ai.openai',
    'cohere',
    'deepseek',
    'gcp.gemini',
    'gcp.gen_ai',
    'gcp.vertex_ai',
    'groq',
    'ibm.watsonx.ai',
    'mistral_ai',
    'moonshot_ai',
    'openai',
    'perplexity',
    'x_ai',
  ),
  'request.choice.count': int,
  'request.encoding_formats': list,
  'request.frequency_penalty': double,
  'request.max_tokens': int,
  'request.model': text,
  'request.presence_penalty': double,
  'request.previous_response.id': text,
  'request.reasoning.level': text,
  'request.seed': int,
  'request.stop_sequences': list,
  'request.stream': { type: 'boolean' },
  'request.stream_cursor': text,
  'request.temperature': double,
  'request.top_k': int,
  'request.top_p': double,
  'response.finish_reasons': list,
  'response.id': text,
  'response.model': text,
  'response.status': open('cancelled', 'completed', 'failed', 'in_progress', 'incomplete', 'queued'),
  'response.time_to_first_chunk': double,
  'retrieval.documents': json,
  'retrieval.query.text': text,
  'retrieval.top_k': int,
  system_instructions: json,
  'token.modality': open('audio', 'image', 'text', 'unknown'),
  'tool.call.arguments': { type: 'any' },
  'tool.call.id': text,
  'tool.call.result': { type: 'any' },
  'tool.definitions': json,
  'tool.description': text,
  'tool.name': text,
  'tool.type': { type: 'string', values: ['function', 'extension', 'datastore'] },
  'usage.audio.cache_read.input_tokens': int,
  'usage.audio.input_tokens': int,
  'usage.audio.output_tokens': int,
  'usage.cache_read.input_tokens': int,
  'usage.cache_write.input_tokens': int,
  'usage.image.cache_read.input_tokens': int,
  'usage.image.input_tokens': int,
  'usage.image.output_tokens': int,
  'usage.input_tokens': int,
  'usage.output_tokens': int,
  'usage.reasoning.output_tokens': int,
  'usage.text.cache_read.input_tokens': int,
  'usage.text.input_tokens': int,
  'usage.text.output_tokens': int,
}

export interface SpanRow {
  /** Attributes that the span has and had not in v1.41, without their prefix. */
  readonly gained: readonly string[]
  /** Those that it had and has no more. */
  readonly lost: readonly string[]
}

/** `model/gen-ai/spans.yaml`, of the operations that we write; of agents those within a process. */
export const GEN_AI_NEXT_SPANS: Readonly<Record<string, SpanRow>> = {
  chat: {
    gained: [
      'conversation.compacted',
      'prompt.name',
      'prompt.variable',
      'prompt.version',
      'request.previous_response.id',
      'request.reasoning.level',
      'usage.audio.cache_read.input_tokens',
      'usage.audio.input_tokens',
      'usage.audio.output_tokens',
      'usage.cache_write.input_tokens',
      'usage.image.cache_read.input_tokens',
      'usage.image.input_tokens',
      'usage.image.output_tokens',
      'usage.text.cache_read.input_tokens',
      'usage.text.input_tokens',
      'usage.text.output_tokens',
    ],
    lost: ['usage.cache_creation.input_tokens'],
  },
  execute_tool: { gained: ['agent.name'], lost: [] },
  invoke_agent: {
    gained: [],
    lost: [
      'agent.id',
      'agent.version',
      'provider.name',
      'usage.cache_creation.input_tokens',
      'usage.cache_read.input_tokens',
    ],
  },
}

const ABOUT_REQUEST = ['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model', 'gen_ai.response.model']
const ABOUT_USAGE = [...ABOUT_REQUEST, 'gen_ai.token.modality']
const ABOUT_AGENT = ['gen_ai.agent.name', 'error.type']

interface NextMetricRow {
  readonly kind: 'counter' | 'histogram'
  readonly unit: string
  readonly attributes: readonly string[]
}

const histogram = (unit: string, attributes: readonly string[]): NextMetricRow => ({
  kind: 'histogram',
  unit,
  attributes,
})
const counter: NextMetricRow = { kind: 'counter', unit: '{token}', attributes: ABOUT_USAGE }

/** Metrics of inference and of agents that v1.41 does not have, of those that can be known from hooks. */
export const GEN_AI_NEXT_METRICS: Readonly<Record<string, NextMetricRow>> = {
  'gen_ai.client.inference.duration': histogram('s', [...ABOUT_REQUEST, 'error.type']),
  'gen_ai.client.inference.time_to_first_chunk': histogram('s', ABOUT_REQUEST),
  'gen_ai.client.inference.usage.input_tokens': counter,
  'gen_ai.client.inference.usage.output_tokens': counter,
  'gen_ai.client.inference.usage.cache_read.input_tokens': counter,
  'gen_ai.client.inference.usage.cache_write.input_tokens': counter,
  'gen_ai.client.inference.usage.reasoning.output_tokens': counter,
  'gen_ai.client.inference.operation.input_tokens': histogram('{token}', ABOUT_REQUEST),
  'gen_ai.client.inference.operation.output_tokens': histogram('{token}', ABOUT_REQUEST),
  'gen_ai.invoke_agent.inference_calls': histogram('{call}', ABOUT_AGENT),
  'gen_ai.invoke_agent.tool_calls': histogram('{call}', ABOUT_AGENT),
}
