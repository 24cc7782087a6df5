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
  input: 'US dollars a million input tokens; with `output`, it replaces the prices of the list',
  output: 'US dollars a million output tokens, reasoning included',
  cache_read: 'US dollars a million input tokens read from a cache; default: `input`',
  cache_write: 'US dollars a million input tokens written to a cache; default: `input`',
  cache_write_1h: 'The same for a cache with a lifetime of an hour; default: `cache_write`',
  service_tiers: 'Mapping of tiers, such as `batch` or `priority`, to price multipliers',
}

export const LISTED_PRICES: PricesConfig = Object.freeze({ own: Object.freeze([]) })
