import type { BlockList } from 'node:net'
import { load } from '../../delivery/load-package.ts'
import type { Cost, PricedRequest, Pricing } from '../../tracker/spans/span-definition.ts'
import type { OwnPrice, OwnRates, PricesConfig } from '../config/prices.ts'
import { listedPrices, PRICE_LIST } from './price-list.ts'
import { dollarsFor, type UnitPrices } from './unit-prices.ts'

interface Bill extends Omit<Cost, 'dollars'> {
  readonly prices: string | undefined
  readonly unitPrices: UnitPrices
  readonly multiplier: number
}

interface Resolved {
  readonly slot: number
  readonly bill: Bill | undefined
}

/** Some providers are cheaper at night, from a quarter or half past the hour. */
const SLOT_MILLIS = 900_000
const MODELS_LIMIT = 256
/** Limits the warnings about models without a price: a router may use hundreds of models. */
const LINES_LIMIT = 20

const USUAL_TIERS: ReadonlySet<string> = new Set(['', 'default', 'standard', 'standard_only', 'auto', 'on_demand'])

/** Computes costs from the user's own prices and the list. Prices are cached, because a lookup takes 0.1 ms. */
export function createPricing(config: PricesConfig, warn: (line: string) => void): Pricing {
  const found = new Map<string, Resolved>()
  const said = new Set<string>()

  const say = (line: string): void => {
    if (said.size >= LINES_LIMIT || said.has(line)) return
    said.add(line)
    warn(`prices: ${line}${said.size === LINES_LIMIT ? '. Of further ones nothing is said' : ''}`)
  }

  const billOf = (request: PricedRequest): Bill | undefined => {
    const slot = Math.floor(request.at / SLOT_MILLIS)
    const key = `${request.provider}\0${request.model}\0${request.serviceTier}\0${request.baseUrl}`
    const known = found.get(key)
    if (known?.slot === slot) return known.bill
    const bill = resolved(config, request, say)
    if (found.size >= MODELS_LIMIT) found.clear()
    found.set(key, { slot, bill })
    return bill
  }

  return request => {
    const bill = billOf(request)
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

/** Loaded on first use: `node:net` takes milliseconds. */
function net(): typeof import('node:net') {
  return load('node:net')
}

let privateNetworks: BlockList | undefined

function createPrivateNetworks(): BlockList {
  const networks = new (net().BlockList)()
  for (const [network, bits] of [
    ['127.0.0.0', 8],
    ['10.0.0.0', 8],
    ['172.16.0.0', 12],
    ['192.168.0.0', 16],
    ['169.254.0.0', 16],
    ['100.64.0.0', 10],
  ] as const) {
    networks.addSubnet(network, bits, 'ipv4')
  }
  networks.addAddress('::1', 'ipv6')
  networks.addSubnet('fc00::', 7, 'ipv6')
  networks.addSubnet('fe80::', 10, 'ipv6')
  return networks
}

const LOCAL_NAME = /^[^.]+$|\.(?:local|localhost|internal|lan|home\.arpa)$/

/** True if the URL is on this machine or network. The server is then the user's own, whatever its models are called. */
function isPrivateAddress(baseUrl: string): boolean {
  if (!URL.canParse(baseUrl)) return false
  const host = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '').toLowerCase()
  const family = net().isIP(host)
  if (family === 0) return LOCAL_NAME.test(host)
  privateNetworks ??= createPrivateNetworks()
  return privateNetworks.check(host, family === 6 ? 'ipv6' : 'ipv4')
}
