/** What the list is taken to say, against what the package itself reckons. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { calcPrice } from '@pydantic/genai-prices'
import { describe, expect, test } from 'vitest'
import { dollarsFor, listedPrices, PRICE_LIST } from '../../../src/plugin/prices/prices.ts'
import fc from '../../support/fast-check.ts'

const AT = Date.UTC(2026, 10, 1, 12)
/** By our names of providers: the list's, where it has another. */
const MODELS = [
  ['anthropic', 'claude-sonnet-4-5'],
  ['anthropic', 'claude-sonnet-4-5-20250929'],
  ['anthropic', 'claude-opus-4-1-20250805'],
  ['anthropic', 'claude-opus-4-5[1m]'],
  ['anthropic', 'claude-3-5-haiku-latest'],
  ['openai', 'gpt-5'],
  ['openai', 'gpt-5-2025-08-07'],
  ['openai', 'gpt-4o-2024-08-06'],
  ['openai', 'gpt-5.2-codex'],
  ['openai', 'ft:gpt-4o-mini-2024-07-18:acme::abc'],
  ['openai', 'text-embedding-3-small'],
  ['gcp.gemini', 'gemini-2.5-pro'],
  ['gcp.gen_ai', 'gemini-2.5-pro', 'google'],
  ['aws.bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'],
  ['azure.ai.openai', 'gpt-4o', 'azure'],
  ['x_ai', 'grok-4', 'x-ai'],
  ['x_ai', 'grok-4-latest', 'x-ai'],
  ['mistral_ai', 'mistral-large-latest'],
  ['deepseek', 'deepseek-chat'],
  ['groq', 'llama-3.3-70b-versatile'],
  ['openrouter', 'anthropic/claude-sonnet-4.5'],
  ['perplexity', 'sonar'],
] as const satisfies readonly (readonly string[])[]

const tokens = fc.integer({ min: 0, max: 400_000 })

describe.each(MODELS.map(([provider, model, listed = provider]) => ({ provider, model, listed })))(
  '$provider $model',
  ({ provider, model, listed }) => {
    test('has the costs of the package, for any usage', () => {
      const found = listedPrices(provider, model, AT)
      expect(found).toBeDefined()
      fc.assert(
        fc.property(tokens, tokens, tokens, tokens, tokens, (fresh, read, short, long, output) => {
          const input = fresh + read + short + long
          const usage = {
            promptTokens: input,
            outputTokens: output,
            cacheReadTokens: read,
            cacheWriteTokens: short + long,
            cacheWriteLongTokens: long,
            reasoningTokens: 0,
            totalTokens: input + output,
          }
          const counts = {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: read,
            cache_write_tokens: short + long,
            cache_write_1h_tokens: long,
          }
          const theirs = calcPrice(counts, model, { providerId: listed, timestamp: new Date(AT) })
          expect(dollarsFor(usage, found!.prices)).toBeCloseTo(theirs!.total_price, 9)
        }),
      )
    })
  },
)

test.each([
  ['anthropic', 'claude-sonnet-4-5-nonsense'],
  ['anthropic', 'claude-sonnet-4-55'],
  ['openai', 'gpt-5-my-finetune'],
  ['openai', 'gpt-55'],
  ['ollama', 'llama3'],
  ['ollama', 'gpt-5'],
  ['nobody', 'gpt-5'],
  ['openai', ''],
  ['', ''],
])('does not match %s %j, whatever its beginning', (provider, model) => {
  expect(listedPrices(provider, model, AT)).toBeUndefined()
})

test('has the prices of the time of the request', () => {
  const inputOf = (at: number): unknown => listedPrices('openai', 'o3', at)?.prices.input
  expect(inputOf(Date.UTC(2025, 4, 1))).toBe(10)
  expect(inputOf(AT)).toBe(2)
  expect(listedPrices('openai', 'o3', Number.NaN)).toBeUndefined()
})

test('has the installed version in its name', () => {
  const require = createRequire(import.meta.url)
  const manifest = readFileSync(require.resolve('@pydantic/genai-prices').replace(/dist\/.*/, 'package.json'), 'utf8')
  expect(PRICE_LIST).toContain(`genai-prices ${(JSON.parse(manifest) as { version: string }).version} (2026-`)
})
