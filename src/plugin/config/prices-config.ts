/** The configured prices of requests: the user's own, then the list of known models. */
export interface PricesConfig {
  /** Ordered as written. The first entry that matches a model counts. */
  readonly own: readonly OwnPrice[]
}

export interface OwnPrice {
  /** `model` or `provider/model`, with `*` for any characters. */
  readonly model: string
  /** Undefined: the rates of the list. */
  readonly rates: OwnRates | undefined
  /** Price multipliers by service tier, in lower case. */
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

/** The fields of an entry of `prices`. `docs/configuration.md` is generated from this. */
export const PRICE_FIELDS: Readonly<Record<keyof OwnRates | 'service_tiers', string>> = {
  input: 'US dollars for a million tokens of input; with `output` it stands in place of what the list says',
  output: 'The same, of output, reasoning included',
  cache_read: 'The same, of input that was read from a cache; default: `input`',
  cache_write: 'The same, of input that was written to a cache; default: `input`',
  cache_write_1h: 'The same, of what was written to be kept for an hour; default: `cache_write`',
  service_tiers: 'A mapping of tiers, such as `batch` or `priority`, to what they multiply a price by',
}

export const LISTED_PRICES: PricesConfig = Object.freeze({ own: Object.freeze([]) })
