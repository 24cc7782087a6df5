import { load } from './build.mjs'
import { quantile } from './figures.mjs'

const { createPricing, loadPriceList } = await load('plugin/prices/prices.js')
const ROUNDS = 21
const CALLS = 20_000
const USAGE = {
  promptTokens: 12_000,
  outputTokens: 800,
  cacheReadTokens: 9000,
  cacheWriteTokens: 500,
  cacheWriteLongTokens: 0,
  reasoningTokens: 200,
  totalTokens: 12_800,
}
const MODELS = [
  ['anthropic', 'claude-sonnet-4-5-20250929'],
  ['openai', 'gpt-5'],
  ['gcp.gemini', 'gemini-2.5-pro'],
]

function request(n) {
  const [provider, model] = MODELS[n % MODELS.length]
  return { provider, model, baseUrl: undefined, serviceTier: undefined, at: 1_795_256_100_000, usage: USAGE }
}

const microsSince = started => Number(process.hrtime.bigint() - started) / 1000

/** Milliseconds that the list takes to load, and microseconds of a request's price: a model's first one, and each further one. */
export function requestCost() {
  const loading = process.hrtime.bigint()
  loadPriceList()
  const loadMillis = microsSince(loading) / 1000
  const firsts = Array.from({ length: ROUNDS }, (_, n) => {
    const price = createPricing({ own: [] }, () => undefined)
    const asked = request(n)
    const started = process.hrtime.bigint()
    price(asked)
    return microsSince(started)
  })
  const price = createPricing({ own: [] }, () => undefined)
  const requests = MODELS.map((_, n) => request(n))
  const further = Array.from({ length: ROUNDS }, () => {
    const started = process.hrtime.bigint()
    for (let n = 0; n < CALLS; n++) price(requests[n % requests.length])
    return microsSince(started) / CALLS
  })
  return { loadMillis, firstMicros: quantile(firsts, 0.5), furtherMicros: quantile(further, 0.5) }
}
