import type { PricesConfig } from '../plugin/config/prices.ts'
import { resolveConfig } from '../plugin/config/resolve.ts'
import type { CommandIo } from './command.ts'

const LISTED_PRICES: PricesConfig = { own: [] }

/** Prices for showing requests without a recorded cost: the user's, else the bundled list. `prices: false` disables them. */
export function viewPrices({ env, home }: CommandIo): { readonly prices?: PricesConfig } {
  const { config, sources } = resolveConfig({ env, home })
  const prices = sources.get('prices')?.from === 'default' ? LISTED_PRICES : config.prices
  return prices === undefined ? {} : { prices }
}
