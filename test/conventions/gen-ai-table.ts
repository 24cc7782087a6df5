/** What the package of names does not say of the GenAI conventions, v1.41: types, values, kinds, units. Transcribed. */

/**
 * As OTLP has them. `double` takes an integral number, too: JavaScript cannot tell it from an `int`. Structured values
 * are written as text: of `json` it is always one, of `any` a text may also stand for itself.
 */
export type ValueType = 'string' | 'int' | 'double' | 'boolean' | 'string[]' | 'json' | 'any'

export interface AttributeRow {
  readonly type: ValueType
  /** Well-known values. Others are allowed only where `isOpen`. */
  readonly values?: readonly string[]
  readonly isOpen?: true
}

const text: AttributeRow = { type: 'string' }
const int: AttributeRow = { type: 'int' }
const double: AttributeRow = { type: 'double' }
const list: AttributeRow = { type: 'string[]' }
const json: AttributeRow = { type: 'json' }
const open = (...values: string[]): AttributeRow => ({ type: 'string', values, isOpen: true })

/** Every attribute of the registry that is not deprecated, without its prefix `gen_ai.`. */
export const GEN_AI_ATTRIBUTES: Readonly<Record<string, AttributeRow>> = {
  'agent.description': text,
  'agent.id': text,
  'agent.name': text,
  'agent.version': text,
  'conversation.id': text,
  'data_source.id': text,
  'embeddings.dimension.count': int,
  'evaluation.explanation': text,
  'evaluation.name': text,
  'evaluation.score.label': text,
  'evaluation.score.value': double,
  'input.messages': json,
  'operation.name': open(
    'chat',
    'create_agent',
    'embeddings',
    'execute_tool',
    'generate_content',
    'invoke_agent',
    'invoke_workflow',
    'retrieval',
    'text_completion',
  ),
  'output.messages': json,
  'output.type': open('image', 'json', 'speech', 'text'),
  'prompt.name': text,
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
  'request.seed': int,
  'request.stop_sequences': list,
  'request.stream': { type: 'boolean' },
  'request.temperature': double,
  'request.top_k': double,
  'request.top_p': double,
  'response.finish_reasons': list,
  'response.id': text,
  'response.model': text,
  'response.time_to_first_chunk': double,
  'retrieval.documents': json,
  'retrieval.query.text': text,
  system_instructions: json,
  'token.type': open('input', 'output'),
  'tool.call.arguments': { type: 'any' },
  'tool.call.id': text,
  'tool.call.result': { type: 'any' },
  'tool.definitions': json,
  'tool.description': text,
  'tool.name': text,
  // An example list rather than an enumeration: the convention names these three and no others.
  'tool.type': { type: 'string', values: ['function', 'extension', 'datastore'] },
  'usage.cache_creation.input_tokens': int,
  'usage.cache_read.input_tokens': int,
  'usage.input_tokens': int,
  'usage.output_tokens': int,
  'usage.reasoning.output_tokens': int,
  'workflow.name': text,
}

export type SpanKind = 'INTERNAL' | 'CLIENT'

export interface OperationRow {
  readonly kinds: readonly SpanKind[]
  /** The attribute whose value follows the operation in a span's name; without it the operation stands alone. */
  readonly named: string
}

/** What a span of an operation is, of those that we write. */
export const GEN_AI_OPERATIONS: Readonly<Record<string, OperationRow>> = {
  chat: { kinds: ['CLIENT'], named: 'gen_ai.request.model' },
  execute_tool: { kinds: ['INTERNAL'], named: 'gen_ai.tool.name' },
  // Agents of ours run in the process of their host.
  invoke_agent: { kinds: ['INTERNAL'], named: 'gen_ai.agent.name' },
}

export interface MetricRow {
  readonly unit: string
  readonly buckets: readonly number[]
  readonly attributes: readonly string[]
}

const ABOUT_REQUEST = [
  'gen_ai.operation.name',
  'gen_ai.provider.name',
  'gen_ai.request.model',
  'gen_ai.response.model',
  'server.address',
  'server.port',
]
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864]

/** The client's metrics of v1.41. All are histograms. */
export const GEN_AI_METRICS: Readonly<Record<string, MetricRow>> = {
  'gen_ai.client.token.usage': {
    unit: '{token}',
    buckets: TOKENS,
    attributes: [...ABOUT_REQUEST, 'gen_ai.token.type'],
  },
  'gen_ai.client.operation.duration': { unit: 's', buckets: SECONDS, attributes: [...ABOUT_REQUEST, 'error.type'] },
  'gen_ai.client.operation.time_to_first_chunk': { unit: 's', buckets: SECONDS, attributes: ABOUT_REQUEST },
  'gen_ai.client.operation.time_per_output_chunk': { unit: 's', buckets: SECONDS, attributes: ABOUT_REQUEST },
}

/** Later than v1.41, and in no package yet. */
export const LATER_METRICS: Readonly<Record<string, MetricRow>> = {
  'gen_ai.execute_tool.duration': {
    unit: 's',
    buckets: SECONDS,
    attributes: ['gen_ai.tool.name', 'gen_ai.tool.type', 'gen_ai.agent.name', 'error.type'],
  },
  'gen_ai.invoke_agent.duration': {
    unit: 's',
    buckets: [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6],
    attributes: ['gen_ai.agent.name', 'error.type'],
  },
}
