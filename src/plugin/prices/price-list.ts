import type { MatchLogic, ModelInfo, ModelPrice, PriceCalculation } from '@pydantic/genai-prices'
import { load } from '../../delivery/load-package.ts'
import type { TokenRate, UnitPrices } from './unit-prices.ts'

/** Loads half a megabyte, which takes some 50 ms. Called only if prices are configured, between two turns of the event loop. */
export function loadPriceList(): typeof import('@pydantic/genai-prices') {
  return load('@pydantic/genai-prices')
}

/** The version and release date of the list, recorded so that figures can be compared. */
export const PRICE_LIST = 'genai-prices 0.1.8 (2026-09-23)'

const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['x_ai', 'x-ai'],
  ['azure.ai.openai', 'azure'],
  ['azure.ai.inference', 'azure'],
  ['gcp.gen_ai', 'google'],
])

export interface ListedPrices {
  readonly prices: UnitPrices
  readonly model: string
}

/**
 * The listed prices of a provider's model at a time in epoch milliseconds. Undefined unless the list has exactly this model.
 * The list matches prefixes of names, but a fine-tuned or newer model has another price.
 */
export function listedPrices(provider: string, model: string, at: number): ListedPrices | undefined {
  const found = asked(PROVIDERS.get(provider) ?? provider, model, at)
  if (found === undefined || !isSameModel(model, found.model)) return undefined
  const prices = unitPrices(found.model_price)
  return prices && { prices, model: found.model.id }
}

function asked(providerId: string, model: string, at: number): PriceCalculation | undefined {
  try {
    return loadPriceList().calcPrice({ input_tokens: 1 }, model, { providerId, timestamp: new Date(at) }) ?? undefined
  } catch {
    // An invalid time, or a package that cannot be loaded: no price is known.
    return undefined
  }
}

/** Returns undefined without a price for input: models billed by images, minutes or searches are not supported. */
function unitPrices(listed: ModelPrice): UnitPrices | undefined {
  const rate = (name: string): TokenRate | undefined => {
    const price = listed[name]
    if (price === undefined || typeof price === 'number') return price
    return { base: price.base, steps: price.tiers.map(tier => ({ above: tier.start, rate: tier.price })) }
  }
  const input = rate('input_mtok')
  if (input === undefined) return undefined
  const requests = listed['requests_kcount']
  return {
    input,
    output: rate('output_mtok') ?? 0,
    cacheRead: rate('cache_read_mtok'),
    cacheWrite: rate('cache_write_mtok'),
    cacheWriteLong: rate('cache_write_1h_mtok'),
    reasoning: rate('output_reasoning_mtok'),
    request: typeof requests === 'number' ? requests / 1000 : undefined,
  }
}

const REGION = /^(?:us|us-gov|eu|apac|au|ca|jp|sa|global)\./
/** Suffixes that do not make it another model: Bedrock's version, Claude's long context, a date, `latest`. */
const VERSIONS = [/-v\d{1,2}(?::\d{1,2})?$/, /\[1m\]$/, /[-@]\d{4}-?\d{2}-?\d{2}$/, /-latest$/]

function bare(name: string): string {
  const lower = name.toLowerCase().replace(REGION, '')
  // `ft:BASE:organisation:name:id`: each base has one price.
  const base = lower.startsWith('ft:') ? lower.split(':', 2).join(':') : lower
  return VERSIONS.reduce((rest, version) => rest.replace(version, ''), base)
}

function namesIn(rule: MatchLogic): string[] {
  if ('or' in rule) return rule.or.flatMap(namesIn)
  if ('and' in rule) return rule.and.flatMap(namesIn)
  if ('equals' in rule) return [rule.equals]
  if ('starts_with' in rule) return [rule.starts_with]
  return 'contains' in rule ? [rule.contains] : []
}

function isSameModel(name: string, { id, match }: ModelInfo): boolean {
  const wanted = bare(name)
  return [id, ...namesIn(match)].some(known => bare(known) === wanted)
}
