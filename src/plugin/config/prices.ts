import { emptyMap, isBlank, isPlainMap, type Plain, type PlainMap } from './plain.ts'
import { accept, type ReadResult, refuse, type Site, within } from './reading.ts'
import { readBool, readNumber, warnUnknown } from './values.ts'

export interface PricesConfig {
  readonly own: readonly OwnPrice[]
}

export interface OwnPrice {
  readonly model: string
  readonly rates: OwnRates | undefined
  readonly service_tiers: Readonly<Record<string, number>>
}

/** US dollars for a million tokens. */
export interface OwnRates {
  readonly input: number
  readonly output: number
  readonly cache_read: number | undefined
  readonly cache_write: number | undefined
  readonly cache_write_1h: number | undefined
}

/** The form in which users write it. 0 is a model that costs nothing. */
export type UserPrice =
  | 0
  | ({ readonly [Field in keyof OwnRates]?: number | undefined } & {
      readonly service_tiers?: Readonly<Record<string, number>> | undefined
    })

export type UserPrices = Readonly<Record<string, UserPrice>>

/** The fields of an entry and their descriptions, which the build's scripts read. @public */
export const PRICE_FIELDS: Readonly<Record<keyof OwnRates | 'service_tiers', string>> = {
  input: 'US dollars a million input tokens; with `output`, it replaces the prices of the list',
  output: 'US dollars a million output tokens, reasoning included',
  cache_read: 'US dollars a million input tokens read from a cache; default: `input`',
  cache_write: 'US dollars a million input tokens written to a cache; default: `input`',
  cache_write_1h: 'The same for a cache with a lifetime of an hour; default: `cache_write`',
  service_tiers: 'Mapping of tiers, such as `batch` or `priority`, to price multipliers',
}

const LISTED_PRICES: PricesConfig = Object.freeze({ own: Object.freeze([]) })
const FREE: OwnRates = { input: 0, output: 0, cache_read: undefined, cache_write: undefined, cache_write_1h: undefined }

export function readPrices(value: Plain, site: Site): ReadResult<PricesConfig | undefined> {
  if (isPlainMap(value)) return { value: { own: readOwn(value, site) } }
  const isOn = readBool(value)
  if ('reason' in isOn) return refuse(value, 'true, false or a mapping of models to prices')
  return { value: isOn.value ? LISTED_PRICES : undefined }
}

function readOwn(map: PlainMap, site: Site): readonly OwnPrice[] {
  return Object.entries(map).flatMap(([model, value]) => {
    const place = within(site, model)
    return isBlank(value) ? [] : (accept(readPrice(model.trim(), value, place), place) ?? [])
  })
}

function readPrice(model: string, value: Plain, site: Site): ReadResult<OwnPrice> {
  if (!isPlainMap(value)) {
    const nothing = readNumber(value, { min: 0, max: 0 })
    if ('reason' in nothing) return refuse(value, '0 or a mapping of rates')
    return { value: { model, rates: FREE, service_tiers: {} } }
  }
  warnUnknown(value, Object.keys(PRICE_FIELDS), site)
  const given = Object.keys(FREE).map(name => [name, figure(value[name], within(site, name))] as const)
  const rates = Object.fromEntries(given) as Partial<OwnRates>
  const service_tiers = readTiers(value['service_tiers'], within(site, 'service_tiers'))
  const isPriced = rates.input !== undefined && rates.output !== undefined
  if (!isPriced && given.some(([, rate]) => rate !== undefined))
    return { reason: 'a price needs both input and output' }
  return { value: { model, rates: isPriced ? (rates as OwnRates) : undefined, service_tiers } }
}

function readTiers(value: Plain, site: Site): OwnPrice['service_tiers'] {
  const tiers = emptyMap<number>()
  if (isBlank(value)) return tiers
  const map = accept(isPlainMap(value) ? { value } : refuse(value, 'a mapping of tiers to numbers'), site)
  for (const [tier, factor] of Object.entries(map ?? {})) {
    const multiplier = figure(factor, within(site, tier))
    if (multiplier !== undefined) tiers[tier.trim().toLowerCase()] = multiplier
  }
  return tiers
}

function figure(value: Plain, site: Site): number | undefined {
  return isBlank(value) ? undefined : accept(readNumber(value, { min: 0 }), site)
}
