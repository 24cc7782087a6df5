import type { BlockList } from 'node:net'
import type { MatchLogic, ModelInfo, ModelPrice, PriceCalculation, TieredPrices } from '@pydantic/genai-prices'
import { load } from '../../delivery/load-package.ts'
import type { Cost, PricedRequest, Pricing, TokenUsage } from '../../tracker/spans/span-definition.ts'
import type { OwnPrice, OwnRates, PricesConfig } from '../config/prices.ts'

/** US dollars per million tokens. The last step with `above` below the request's input tokens applies to the whole request. */
type TokenRate = number | TieredPrices

/** The token prices of a model. Kinds without a rate use the rate of input or output. */
interface UnitPrices {
  readonly input: TokenRate
  readonly output: TokenRate
  readonly cacheRead?: TokenRate | undefined
  readonly cacheWrite?: TokenRate | undefined
  readonly cacheWriteLong?: TokenRate | undefined
  readonly reasoning?: TokenRate | undefined
  /** US dollars per request, independent of its tokens. */
  readonly request?: number | undefined
}

const MILLION = 1e6

/**
 * The cost in US dollars. Undefined if the counts are inconsistent, for example more cached than input tokens. A step applies
 * to the whole request, as with all providers that have steps.
 */
export function dollarsFor(usage: TokenUsage, prices: UnitPrices): number | undefined {
  const { promptTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWriteLongTokens, reasoningTokens } = usage
  const fresh = promptTokens - cacheReadTokens - cacheWriteTokens
  const shortWrites = cacheWriteTokens - cacheWriteLongTokens
  const said = outputTokens - reasoningTokens
  if (fresh < 0 || shortWrites < 0 || said < 0) return undefined
  const at = (tokens: number, rate: TokenRate): number => {
    if (tokens === 0) return 0
    if (typeof rate === 'number') return tokens * rate
    return tokens * (rate.tiers.findLast(({ start }) => promptTokens > start)?.price ?? rate.base)
  }
  const { input, output, cacheWrite = input } = prices
  const sum =
    at(fresh, input) +
    at(cacheReadTokens, prices.cacheRead ?? input) +
    at(shortWrites, cacheWrite) +
    at(cacheWriteLongTokens, prices.cacheWriteLong ?? cacheWrite) +
    at(said, output) +
    at(reasoningTokens, prices.reasoning ?? output)
  return sum / MILLION + (prices.request ?? 0)
}

/** Loads half a megabyte, which takes some 50 ms. Called only if prices are configured, between two turns of the event loop. */
export function loadPriceList(): typeof import('@pydantic/genai-prices') {
  return load('@pydantic/genai-prices')
}

/** The version and release date of the list, recorded so that figures can be compared. */
export const PRICE_LIST = 'genai-prices 0.1.8 (2026-09-23)'

const PROVIDERS: ReadonlyMap<string, string> = new Map(
  Object.entries({ x_ai: 'x-ai', 'azure.ai.openai': 'azure', 'azure.ai.inference': 'azure', 'gcp.gen_ai': 'google' }),
)

/**
 * The listed prices of a provider's model at a time in epoch milliseconds. Undefined unless the list has exactly this model.
 * The list matches prefixes of names, but a fine-tuned or newer model has another price.
 */
export function listedPrices(
  provider: string,
  model: string,
  at: number,
): { readonly prices: UnitPrices; readonly model: string } | undefined {
  const found = calculated(PROVIDERS.get(provider) ?? provider, model, at)
  if (found === undefined || !isSameModel(model, found.model)) return undefined
  const prices = unitPrices(found.model_price)
  return prices && { prices, model: found.model.id }
}

function calculated(providerId: string, model: string, at: number): PriceCalculation | undefined {
  try {
    return loadPriceList().calcPrice({ input_tokens: 1 }, model, { providerId, timestamp: new Date(at) }) ?? undefined
  } catch {
    // An invalid time, or a package that cannot be loaded: no price is known.
    return undefined
  }
}

/** Returns undefined without a price for input: models billed by images, minutes or searches are not supported. */
function unitPrices(listed: ModelPrice): UnitPrices | undefined {
  const { input_mtok: input, output_mtok: output = 0, requests_kcount: requests } = listed
  if (input === undefined) return undefined
  return {
    input,
    output,
    cacheRead: listed['cache_read_mtok'],
    cacheWrite: listed['cache_write_mtok'],
    cacheWriteLong: listed['cache_write_1h_mtok'],
    reasoning: listed['output_reasoning_mtok'],
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

interface Bill extends Omit<Cost, 'dollars'> {
  readonly prices: string | undefined
  readonly unitPrices: UnitPrices
  readonly multiplier: number
}

/** Some providers are cheaper at night, from a quarter or half past the hour. */
const SLOT_MILLIS = 900_000
const MODELS_LIMIT = 256
/** Limits the warnings about models without a price: a router may use hundreds of models. */
const LINES_LIMIT = 20

const USUAL_TIERS: ReadonlySet<string> = new Set(['', 'default', 'standard', 'standard_only', 'auto', 'on_demand'])

/** Computes costs from the user's own prices and the list. Prices are cached, because a lookup takes 0.1 ms. */
export function createPricing(config: PricesConfig, warn: (line: string) => void): Pricing {
  const found = new Map<string, { readonly slot: number; readonly bill: Bill | undefined }>()
  const said = new Set<string>()

  const say = (line: string): void => {
    if (said.size >= LINES_LIMIT || said.has(line)) return
    said.add(line)
    warn(`prices: ${line}${said.size === LINES_LIMIT ? '. Of further ones nothing is said' : ''}`)
  }

  return request => {
    const slot = Math.floor(request.at / SLOT_MILLIS)
    const key = `${request.provider}\0${request.model}\0${request.serviceTier}\0${request.baseUrl}`
    let known = found.get(key)
    if (known?.slot !== slot) {
      known = { slot, bill: resolved(config, request, say) }
      if (found.size >= MODELS_LIMIT) found.clear()
      found.set(key, known)
    }
    const { bill } = known
    const dollars = bill && dollarsFor(request.usage, bill.unitPrices)
    if (bill === undefined || dollars === undefined) return undefined
    return { dollars: dollars * bill.multiplier, source: bill.source, pricedAs: bill.pricedAs, prices: bill.prices }
  }
}

function resolved(config: PricesConfig, request: PricedRequest, say: (line: string) => void): Bill | undefined {
  const { provider, model, serviceTier = '' } = request
  const own = config.own.find(price => isMeant(price.model, request))
  const unit = own?.rates === undefined ? ofList(request) : ofOwn(own.rates)
  if (unit === undefined) {
    const whose = provider === undefined ? 'of no named provider' : `of ${provider}`
    say(`none is known for ${model} ${whose}, so its requests have no cost; "prices" in the configuration can name one`)
    return undefined
  }
  const tier = serviceTier.toLowerCase()
  const multiplier = own?.service_tiers[tier] ?? (USUAL_TIERS.has(tier) ? 1 : undefined)
  if (multiplier !== undefined) return { ...unit, multiplier }
  say(
    `${model} was billed at the service tier "${serviceTier}", whose multiplier is not known; "service_tiers" can say it`,
  )
  return undefined
}

function ofOwn({ input, output, cache_read, cache_write, cache_write_1h }: OwnRates): Omit<Bill, 'multiplier'> {
  const unitPrices = { input, output, cacheRead: cache_read, cacheWrite: cache_write, cacheWriteLong: cache_write_1h }
  return { unitPrices, source: 'configured', pricedAs: undefined, prices: undefined }
}

function ofList({ provider, model, baseUrl, at }: PricedRequest): Omit<Bill, 'multiplier'> | undefined {
  if (provider === undefined || (baseUrl !== undefined && isPrivateAddress(baseUrl))) return undefined
  const listed = listedPrices(provider, model, at)
  if (listed === undefined) return undefined
  const pricedAs = listed.model === model ? undefined : listed.model
  return { unitPrices: listed.prices, source: 'list', pricedAs, prices: PRICE_LIST }
}

function isMeant(pattern: OwnPrice['model'], { provider, model }: PricedRequest): boolean {
  const parts = pattern.toLowerCase().split('*')
  return matches(parts, model.toLowerCase()) || matches(parts, `${provider}/${model}`.toLowerCase())
}

function matches(parts: readonly string[], text: string): boolean {
  const [first = '', ...rest] = parts
  const last = rest.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first)) return false
  let from = first.length
  for (const part of rest) {
    const at = text.indexOf(part, from)
    if (at === -1) return false
    from = at + part.length
  }
  return text.length - last.length >= from && text.endsWith(last)
}

let privateNetworks: BlockList | undefined

const PRIVATE_NETWORKS =
  '127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 169.254.0.0/16 100.64.0.0/10 ::1/128 fc00::/7 fe80::/10'

function createPrivateNetworks({ BlockList }: typeof import('node:net')): BlockList {
  const networks = new BlockList()
  for (const network of PRIVATE_NETWORKS.split(' ')) {
    const [address = '', bits] = network.split('/')
    networks.addSubnet(address, Number(bits), address.includes(':') ? 'ipv6' : 'ipv4')
  }
  return networks
}

const LOCAL_NAME = /^[^.]+$|\.(?:local|localhost|internal|lan|home\.arpa)$/

/** True if the URL is on this machine or network. The server is then the user's own, whatever its models are called. */
function isPrivateAddress(baseUrl: string): boolean {
  if (!URL.canParse(baseUrl)) return false
  const host = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '').toLowerCase()
  // Loaded on first use: `node:net` takes milliseconds.
  const net = load<typeof import('node:net')>('node:net')
  const family = net.isIP(host)
  if (family === 0) return LOCAL_NAME.test(host)
  privateNetworks ??= createPrivateNetworks(net)
  return privateNetworks.check(host, family === 6 ? 'ipv6' : 'ipv4')
}
