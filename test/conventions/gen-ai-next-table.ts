/**
 * The names of the GenAI conventions since they have a repository of their own, transcribed: names, types, well-known values.
 * From github.com/open-telemetry/semantic-conventions-genai, Copyright The OpenTelemetry Authors, Apache License 2.0.
 */
import type { AttributeRow } from './gen-ai-table.ts'

/** A commit of its main branch: there is no release. */
export const GEN_AI_NEXT_COMMIT = { id: 'fe5608e249d64bc5961329a82f8915fe95ced51a', date: '2026-08-03' } as const

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
  'token.type': open('input', 'output'),
  'tool.call.arguments': { type: 'any' },
  'tool.call.id': text,
  'tool.call.result': { type: 'any' },
  'tool.definitions': json,
  'tool.description': text,
  'tool.name': text,
  'tool.type': { type: 'string', values: ['function', 'extension', 'datastore'] },
  'usage.cache_creation.input_tokens': int,
  'usage.cache_read.input_tokens': int,
  'usage.input_tokens': int,
  'usage.output_tokens': int,
  'usage.reasoning.output_tokens': int,
  'workflow.name': text,
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
    ],
    lost: [],
  },
  execute_tool: { gained: ['agent.name'], lost: [] },
  invoke_agent: { gained: [], lost: ['agent.id', 'agent.version', 'provider.name'] },
}
