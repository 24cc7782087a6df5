import type { PricesConfig } from '../plugin/config/prices.ts'
import { resolveConfig } from '../plugin/config/resolve.ts'
import { createSpanPricer } from '../plugin/prices/span-prices.ts'
import type { SpanPricer } from '../reading/stored-span.ts'
import type { CommandIo } from './command.ts'

type ConfigPlace = Pick<CommandIo, 'env' | 'home'>

/** Prices of requests without a recorded cost: the user's, else the bundled list. `prices: false` disables them. */
export function readPrices({ env, home }: ConfigPlace): PricesConfig | undefined {
  const { config, sources } = resolveConfig({ env, home })
  return sources.get('prices')?.from === 'default' ? { own: [] } : config.prices
}

/** Prices requests as the viewer does. Reads the configuration and the list only for a request without a cost. */
export function spanPricer(place: ConfigPlace): SpanPricer {
  return createSpanPricer(() => readPrices(place))
}
