/** Words that `llm.provider` and `llm.system` have in common. */
type Maker = 'google' | 'mistralai' | 'moonshot' | 'xai'

interface ModelProvider {
  /** Other names that hosts use, in lower case. */
  readonly spellings?: readonly string[]
  /** The value of `llm.provider`, if OpenInference uses another word. */
  readonly inference?: Maker | 'aws' | 'azure'
  /** The value of `llm.system`. A provider that hosts the models of several makers has none. */
  readonly system?: Maker | 'anthropic' | 'cohere' | 'deepseek' | 'openai' | 'vertexai'
}

/** Model providers by the well-known value of `gen_ai.provider.name`. */
export const MODEL_PROVIDERS: ReadonlyMap<string, ModelProvider> = new Map<string, ModelProvider>([
  ['anthropic', { system: 'anthropic' }],
  ['aws.bedrock', { spellings: ['bedrock', 'amazon-bedrock', 'aws_bedrock'], inference: 'aws' }],
  ['azure.ai.inference', { spellings: ['az.ai.inference'], inference: 'azure' }],
  [
    'azure.ai.openai',
    { spellings: ['azure', 'azure-openai', 'azure_openai', 'az.ai.openai'], inference: 'azure', system: 'openai' },
  ],
  ['cohere', { system: 'cohere' }],
  ['deepseek', { system: 'deepseek' }],
  ['gcp.gemini', { spellings: ['gemini', 'google', 'google-gemini'], inference: 'google', system: 'google' }],
  ['gcp.gen_ai', { inference: 'google', system: 'google' }],
  ['gcp.vertex_ai', { spellings: ['vertex_ai', 'vertex', 'google-vertex'], inference: 'google', system: 'vertexai' }],
  ['groq', {}],
  ['ibm.watsonx.ai', { spellings: ['watsonx'] }],
  ['mistral_ai', { spellings: ['mistral', 'mistralai'], inference: 'mistralai', system: 'mistralai' }],
  ['moonshot_ai', { spellings: ['moonshot', 'moonshotai'], inference: 'moonshot', system: 'moonshot' }],
  ['openai', { spellings: ['openai-codex'], system: 'openai' }],
  ['perplexity', {}],
  ['x_ai', { spellings: ['xai', 'x-ai', 'grok'], inference: 'xai', system: 'xai' }],
])

/** Host spelling → value of `gen_ai.provider.name`. The convention allows custom names, so others are not guessed. */
export const WELL_KNOWN_PROVIDERS: ReadonlyMap<string, string> = new Map(
  [...MODEL_PROVIDERS].flatMap(([name, { spellings }]) =>
    [name, ...(spellings ?? [])].map(spelling => [spelling, name] as const),
  ),
)
