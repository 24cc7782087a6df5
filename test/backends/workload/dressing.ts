import { numberFor, pickFor } from './chance.ts'

/** Models as hosts name them; servers know the prices of most. */
export const MODELS = [
  { model: 'gpt-4o-mini', provider: 'openai', base_url: 'https://api.openai.com/v1', spelling: 'openai' },
  { model: 'gpt-4o', provider: 'openai', base_url: 'https://api.openai.com/v1', spelling: 'openai' },
  { model: 'claude-sonnet-4-5', provider: 'anthropic', base_url: 'https://api.anthropic.com', spelling: 'anthropic' },
  { model: 'claude-haiku-4-5', provider: 'anthropic', base_url: 'https://api.anthropic.com', spelling: 'anthropic' },
  { model: 'qwen3-coder-30b', provider: 'custom', base_url: 'http://127.0.0.1:8099/v1', spelling: 'contract' },
] as const

export type Model = (typeof MODELS)[number]

/** For side calls. */
export const SMALL_MODEL: Model = MODELS[0]

/** One conversation, one model; its children have their own. */
export function modelOf(conversation: string): Model {
  return pickFor(`model ${conversation}`, MODELS)
}

const MESSAGES = [
  'Remove the build directory and show me the README.',
  'Räume bitte das Verzeichnis auf — „build“ und größere Logs zuerst.',
  '请总结变更日志,然后运行测试。',
  'テストが失敗する理由を調べて 🔍',
  'Почему сборка падает на CI?',
  'Quote this: "a\\b", <tag> & {json: [1, 2]}\nand a second line',
  '👩‍👩‍👧‍👦 what do these four people have in common?',
]

const ANSWERS = [
  'Done. The build directory is gone and the README says that it is a small project.',
  'Fertig: 3 Dateien gelöscht, 12 MB frei — „build“ ist weg.',
  '变更日志有三个版本;测试全部通过 ✅',
  'タイムゾーンの違いが原因でした。',
  'Сборка падает, потому что нет Node 20.',
  'I could not find out; here is what I tried so far.',
]

export function messageFor(words: string): string {
  return pickFor(`message ${words}`, MESSAGES)
}

export function answerFor(words: string): string {
  return pickFor(`answer ${words}`, ANSWERS)
}

const COMMANDS = [
  'ls -la',
  'rm -rf ./build',
  'git push origin main',
  'npm test',
  'curl http://127.0.0.1:1/health',
  'ls Ünïcode',
]

export function commandFor(words: string): string {
  return pickFor(`command ${words}`, COMMANDS)
}

const FAILURES: readonly Failure[] = [
  {
    status_code: 429,
    reason: 'rate_limit',
    error: { type: 'RateLimitError', message: 'Error code: 429 - retry in 2 s' },
  },
  {
    status_code: 500,
    reason: 'server_error',
    error: { type: 'InternalServerError', message: 'Error code: 500 - übel' },
  },
  {
    status_code: 529,
    reason: 'overloaded',
    error: { type: 'OverloadedError', message: 'Error code: 529 - overloaded' },
  },
]

interface Failure {
  readonly status_code: number
  readonly reason: string
  readonly error: { readonly type: string; readonly message: string }
}

export function failureFor(words: string): Failure {
  return pickFor(`failure ${words}`, FAILURES)
}

/** Commands are asked about under a few names: a metric has them as labels. */
const PATTERNS = ['rm_rf', 'git_push', 'network']

export function patternFor(words: string): string {
  return pickFor(`pattern ${words}`, PATTERNS)
}

interface CanonicalUsage {
  readonly prompt_tokens: number
  readonly output_tokens: number
  readonly cache_read_tokens: number
  readonly cache_write_tokens: number
  readonly reasoning_tokens: number
}

/** The same tokens as the model provider spells them: OpenAI counts the cache inside the input, Anthropic outside. */
export function spelled(usage: CanonicalUsage, { spelling }: Model): object {
  const { prompt_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens } = usage
  if (spelling === 'openai') {
    return {
      prompt_tokens,
      completion_tokens: output_tokens,
      total_tokens: prompt_tokens + output_tokens,
      prompt_tokens_details: { cached_tokens: cache_read_tokens },
      completion_tokens_details: { reasoning_tokens },
      cache_write_tokens,
    }
  }
  // A script is free to say that more was cached than sent.
  const outside = prompt_tokens - cache_read_tokens - cache_write_tokens
  if (spelling === 'contract' || outside < 0) return { ...usage, total_tokens: prompt_tokens + output_tokens }
  return {
    input_tokens: outside,
    cache_read_input_tokens: cache_read_tokens,
    cache_creation_input_tokens: cache_write_tokens,
    output_tokens,
    reasoning_tokens,
  }
}

export function sideUsage(words: string): object {
  const prompt_tokens = numberFor(`in ${words}`, 40, 400)
  const completion_tokens = numberFor(`out ${words}`, 1, 60)
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
}
