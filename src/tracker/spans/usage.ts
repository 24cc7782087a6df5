import { keysOf, numberOf, peek, positive } from '../../contract/foreign.ts'
import type { ApiEnd } from '../../contract/index.ts'
import type { HookEvent, TokenUsage } from './span-definition.ts'

/** Known spellings; a dot descends. The first one in each list that holds a number wins. */
const SPELLINGS = {
  prompt: ['prompt_tokens', 'promptTokens', 'promptTokenCount'],
  input: ['input_tokens', 'inputTokens', 'input'],
  output: ['output_tokens', 'completion_tokens', 'outputTokens', 'completionTokens', 'candidatesTokenCount', 'output'],
  cacheReadOutside: [
    'cache_read_tokens',
    'cache_read_input_tokens',
    'cacheReadTokens',
    'cacheReadInputTokens',
    'cacheRead',
  ],
  cacheReadInside: [
    'prompt_tokens_details.cached_tokens',
    'input_tokens_details.cached_tokens',
    'promptTokensDetails.cachedTokens',
    'inputTokensDetails.cachedTokens',
    'input_token_details.cache_read',
    'cached_tokens',
    'cachedInputTokens',
    'cachedContentTokenCount',
  ],
  cacheWrite: [
    'cache_write_tokens',
    'cache_creation_input_tokens',
    'cache_creation_tokens',
    'cacheWriteTokens',
    'cacheCreationInputTokens',
    'cacheWrite',
    'input_token_details.cache_creation',
  ],
  cacheWriteLong: [
    'cache_write_1h_tokens',
    'cache_creation.ephemeral_1h_input_tokens',
    'input_token_details.ephemeral_1h_input_tokens',
  ],
  reasoning: [
    'reasoning_tokens',
    'completion_tokens_details.reasoning_tokens',
    'output_tokens_details.reasoning_tokens',
    'completionTokensDetails.reasoningTokens',
    'outputTokensDetails.reasoningTokens',
    'output_token_details.reasoning',
    'reasoningTokens',
  ],
  total: ['total_tokens', 'totalTokens', 'totalTokenCount', 'total'],
} as const

type Bucket = keyof typeof SPELLINGS

const BUCKETS = Object.keys(SPELLINGS) as readonly Bucket[]

/** `a.b` → ['a', 'b'], split once: this is on the path of every model request. */
const PATHS = Object.fromEntries(
  Object.entries(SPELLINGS).map(([bucket, names]) => [bucket, names.map(name => name.split('.'))]),
) as unknown as Readonly<Record<Bucket, readonly (readonly string[])[]>>

function count(usage: unknown, bucket: Bucket): number | undefined {
  for (const path of PATHS[bucket]) {
    let value: unknown = usage
    for (const key of path) value = peek(value, key)
    const tokens = numberOf(value)
    if (tokens !== undefined && tokens >= 0) return Math.trunc(tokens)
  }
  return undefined
}

/**
 * Some hosts count the cache outside the input (Anthropic, Hermes' `input_tokens`), some inside (OpenAI). A total in
 * the same payload decides; otherwise the spelling does, because each is used by only one group.
 */
function promptTokens(usage: unknown, output: number, cacheWrite: number): number | undefined {
  const prompt = count(usage, 'prompt')
  if (prompt !== undefined) return prompt
  const input = count(usage, 'input')
  if (input === undefined) return undefined
  const outside = (count(usage, 'cacheReadOutside') ?? 0) + cacheWrite
  const total = count(usage, 'total')
  return outside === 0 || total === input + output ? input : input + outside
}

function normaliseUsage(usage: unknown): TokenUsage | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined
  const output = count(usage, 'output') ?? 0
  const cacheWrite = count(usage, 'cacheWrite') ?? 0
  const total = count(usage, 'total') ?? 0
  const prompt = promptTokens(usage, output, cacheWrite) ?? Math.max(0, total - output)
  const cacheRead = count(usage, 'cacheReadOutside') ?? count(usage, 'cacheReadInside') ?? 0
  const reasoning = count(usage, 'reasoning') ?? 0
  if (prompt + output + cacheRead + cacheWrite + reasoning === 0) return undefined
  return {
    promptTokens: prompt,
    outputTokens: output,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    cacheWriteLongTokens: Math.min(cacheWrite, count(usage, 'cacheWriteLong') ?? 0),
    reasoningTokens: reasoning,
    totalTokens: prompt + output,
  }
}

const FIELDS_LIMIT = 50

/** Returns true if the reported usage contains no tokens. Absent, empty and `null` values report nothing and are fine. */
export function isUnreadableUsage(usage: unknown): boolean {
  if (usage === undefined || usage === null || usage === '') return false
  if (typeof usage !== 'object') return true
  const isEmpty = keysOf(usage, FIELDS_LIMIT).every(key => (peek(usage, key) ?? undefined) === undefined)
  return !isEmpty && BUCKETS.every(bucket => count(usage, bucket) === undefined)
}

export function usageOf({ facts, payload }: HookEvent<{ readonly usage?: unknown }>): TokenUsage | undefined {
  facts.usage ??= normaliseUsage(payload.usage) ?? null
  return facts.usage ?? undefined
}

export interface ContextFill {
  readonly length: number
  /** Share of the context that the request's input takes, from 0; above 1 if the host's size is too small. */
  readonly used: number | undefined
}

const DECIMALS = 1e4

export function contextFill(event: HookEvent<ApiEnd>): ContextFill | undefined {
  const length = positive(event.payload.context_length)
  if (length === undefined || length < 1) return undefined
  const input = numberOf(usageOf(event)?.promptTokens)
  const used = input === undefined ? undefined : Math.round((input / length) * DECIMALS) / DECIMALS
  return { length: Math.trunc(length), used }
}
