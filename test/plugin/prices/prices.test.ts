import { expect, test } from 'vitest'
import type { OwnPrice } from '../../../src/plugin/config/prices.ts'
import { createPricing } from '../../../src/plugin/prices/prices.ts'
import type { PricedRequest } from '../../../src/tracker/spans/span-definition.ts'

const AT = Date.UTC(2026, 10, 1, 12)
const FREE = { input: 0, output: 0, cache_read: undefined, cache_write: undefined, cache_write_1h: undefined }
const USAGE = {
  promptTokens: 1_000_000,
  outputTokens: 100_000,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteLongTokens: 0,
  reasoningTokens: 0,
  totalTokens: 1_100_000,
}

function request(given: Partial<PricedRequest> = {}): PricedRequest {
  return {
    provider: 'openai',
    model: 'gpt-4o',
    baseUrl: undefined,
    serviceTier: undefined,
    at: AT,
    usage: USAGE,
    ...given,
  }
}

function own(model: string, rates?: Partial<typeof FREE>, service_tiers = {}): OwnPrice {
  return { model, rates: rates && { ...FREE, ...rates }, service_tiers }
}

function pricing(...prices: OwnPrice[]) {
  const lines: string[] = []
  const ask = createPricing({ own: prices }, line => void lines.push(line))
  return { lines, ask, dollars: (given: Partial<PricedRequest> = {}) => ask(request(given))?.dollars }
}

test('sets the model and the prices of the list beside the figure', () => {
  const { ask, lines } = pricing()
  const prices = expect.stringMatching(/^genai-prices \d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)$/)
  expect(ask(request())).toEqual({ dollars: 3.5, source: 'list', pricedAs: undefined, prices })
  expect(ask(request({ model: 'gpt-4o-2024-08-06' }))).toMatchObject({ pricedAs: 'gpt-4o' })
  expect(lines).toEqual([])
})

test.each([
  [{ model: 'gpt-4o-of-mine' }, 'gpt-4o-of-mine of openai'],
  [{ provider: undefined }, 'gpt-4o of no named provider'],
  [{ baseUrl: 'http://localhost:11434/v1' }, 'gpt-4o of openai'],
  [{ baseUrl: 'http://192.168.1.20:8000' }, 'gpt-4o of openai'],
  [{ baseUrl: 'http://[fd00::1]/v1' }, 'gpt-4o of openai'],
  [{ baseUrl: 'http://vllm/v1' }, 'gpt-4o of openai'],
])('sets no figure, with one line however often it is asked: %j', (given, who) => {
  const { dollars, lines } = pricing()
  for (let turn = 0; turn < 3; turn++) expect(dollars(given)).toBeUndefined()
  expect(lines).toEqual([
    `prices: none is known for ${who}, so its requests have no cost; "prices" in the configuration can name one`,
  ])
})

test("excludes servers of the provider and of others from the user's own", () => {
  const { dollars } = pricing()
  for (const baseUrl of ['https://api.openai.com/v1', 'https://8.8.8.8/v1', 'not an address']) {
    expect(dollars({ baseUrl })).toBe(3.5)
  }
})

test.each([
  ['gpt-4o', true],
  ['GPT-4O', true],
  ['openai/gpt-4o', true],
  ['openai/*', true],
  ['*', true],
  ['gpt-*', true],
  ['*4o', true],
  ['g*-*o', true],
  ['gpt', false],
  ['azure/gpt-4o', false],
  ['gpt-4o*o', false],
  ['*mini', false],
])('accepts an own price for %s', (pattern, isMeant) => {
  expect(pricing(own(pattern, { input: 1, output: 1 })).dollars()).toBe(isMeant ? 1.1 : 3.5)
})

test('uses the first match for a model; an own model may cost nothing', () => {
  const { ask, dollars, lines } = pricing(own('ollama/*', FREE), own('*', { input: 2, output: 20 }))
  expect(ask(request({ provider: 'ollama', model: 'qwen3', baseUrl: 'http://localhost:11434' }))).toEqual({
    dollars: 0,
    source: 'configured',
    pricedAs: undefined,
    prices: undefined,
  })
  expect(dollars()).toBe(4)
  expect(lines).toEqual([])
})

test('prices an explicit service tier, and sets no figure without its factor', () => {
  const { dollars, lines } = pricing(own('openai/*', undefined, { batch: 0.5 }))
  expect(['default', 'Standard', 'auto'].map(serviceTier => dollars({ serviceTier }))).toEqual([3.5, 3.5, 3.5])
  expect(dollars({ serviceTier: 'BATCH' })).toBe(1.75)
  expect(dollars({ serviceTier: 'priority' })).toBeUndefined()
  expect(lines).toEqual([
    'prices: gpt-4o was billed at the service tier "priority", whose multiplier is not known; "service_tiers" can say it',
  ])
})

test.each([
  ['more from the cache than was put in', { cacheReadTokens: 2_000_000 }],
  ['more kept for long than written', { cacheWriteTokens: 1, cacheWriteLongTokens: 2 }],
  ['more reasoning than output', { reasoningTokens: 200_000 }],
])('sets no figure for invalid counts: %s', (_what, odd) => {
  expect(pricing().dollars({ usage: { ...USAGE, ...odd } })).toBeUndefined()
})

test('reads a price that changes by the hour again', () => {
  const { ask } = pricing()
  const at = (hour: number) =>
    ask(request({ provider: 'deepseek', model: 'deepseek-chat', at: Date.UTC(2025, 3, 1, hour) }))
  expect(at(12)!.dollars).toBeGreaterThan(at(20)!.dollars)
  expect(at(12)).toEqual(at(13))
})

test('reports twenty lines for a router over hundreds of models', () => {
  const { dollars, lines } = pricing()
  for (let model = 0; model < 300; model++) expect(dollars({ model: `mine-${model}` })).toBeUndefined()
  expect(lines).toHaveLength(20)
  expect(lines.at(-1)).toMatch(/Of further ones nothing is said$/)
})
