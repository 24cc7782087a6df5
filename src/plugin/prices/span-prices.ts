import { DEFAULT_NAMESPACE, namespaceOf, SpanAttributes } from '../../reading/span-attributes.ts'
import { costOf, isRequest, tokensOf } from '../../reading/span-facts.ts'
import type { SpanPricer } from '../../reading/stored-span.ts'
import type { Pricing } from '../../tracker/spans/span-definition.ts'
import type { PricesConfig } from '../config/prices.ts'
import { createPricing } from './prices.ts'

/**
 * Adds the cost to requests that were recorded without one, under the names that the plugin uses with `prices: true`. A span
 * has neither the service tier nor the part of cache writes that is kept for an hour, so it is priced without them. Readers
 * have no user to warn: a request without a price is shown without a cost.
 *
 * @param prices called at the first request without a cost; undefined: such requests have none
 */
export function createSpanPricer(prices: () => PricesConfig | undefined): SpanPricer {
  let pricing: Pricing | undefined
  const openPricing = (): Pricing => {
    const config = prices()
    return config === undefined ? () => undefined : createPricing(config, () => undefined)
  }
  return span => {
    const namespace = namespaceOf(span) ?? DEFAULT_NAMESPACE
    const attributes = new SpanAttributes(span, namespace)
    if (!isRequest(attributes.kind) || costOf(attributes) !== undefined) return span
    const tokens = tokensOf(attributes)
    const model = attributes.text('gen_ai.response.model', 'gen_ai.request.model', 'llm.model_name')
    if (tokens === undefined || model === '') return span
    const { input = 0, output = 0 } = tokens
    const count = (...names: string[]): number => Math.max(0, attributes.number(...names) ?? 0)
    const address = attributes.text('server.address')
    pricing ??= openPricing()
    const cost = pricing({
      provider: attributes.text('gen_ai.provider.name', 'gen_ai.system', 'llm.provider') || undefined,
      model,
      baseUrl: address === '' ? undefined : `http://${address.includes(':') ? `[${address}]` : address}`,
      serviceTier: undefined,
      at: span.startAt,
      usage: {
        promptTokens: input,
        outputTokens: output,
        cacheReadTokens: count('gen_ai.usage.cache_read.input_tokens', 'llm.token_count.prompt_details.cache_read'),
        cacheWriteTokens: count(
          'gen_ai.usage.cache_creation.input_tokens',
          'gen_ai.usage.cache_write.input_tokens',
          'llm.token_count.prompt_details.cache_write',
        ),
        cacheWriteLongTokens: 0,
        reasoningTokens: count('gen_ai.usage.reasoning.output_tokens', 'llm.token_count.completion_details.reasoning'),
        totalTokens: input + output,
      },
    })
    if (cost === undefined) return span
    const added = { 'llm.cost.total': cost.dollars, [`${namespace}.cost.source`]: cost.source }
    return { ...span, attributes: { ...span.attributes, ...added } }
  }
}
