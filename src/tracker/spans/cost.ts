import { literal } from '../../content/safe-text.ts'
import { numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { ApiEnd, ApiStart } from '../../contract/index.ts'
import type { AttributeList } from './attribute-list.ts'
import { modelProvider, requestModel } from './request-parameters.ts'
import type { AttributeOptions, Cost, EndedSpan, HookEvent } from './span-definition.ts'
import { usageOf } from './usage.ts'

/** A cost in US dollars. Zero is dropped: hosts send it for a model of unknown price, and it would look like a fact. */
function dollarsIn(cost: unknown): number | undefined {
  const total = numberOf(cost) ?? numberOf(peek(cost, 'total'))
  return total !== undefined && total > 0 ? total : undefined
}

/** Rounding precision. Sums of floats have errors beyond the last meaningful digit. */
const SMALLEST = 1e12

export function roundedDollars(dollars: number): number {
  return Math.round(dollars * SMALLEST) / SMALLEST
}

type Begun = EndedSpan<Partial<ApiStart>>

function costOf(event: HookEvent<ApiEnd>, options: AttributeOptions, { start, startAt }: Begun): Cost | undefined {
  const { payload } = event
  const ofProvider = dollarsIn(peek(payload.usage, 'cost'))
  if (ofProvider !== undefined) return { dollars: ofProvider, source: 'provider' }
  const ofAgent = dollarsIn(payload.cost)
  if (ofAgent !== undefined) return { dollars: ofAgent, source: 'agent' }
  if (options.pricing === undefined) return undefined
  const usage = usageOf(event)
  // A router is billed for the model that answered.
  const model = options.capture.id(payload.response_model ?? start?.model ?? requestModel(payload))
  if (usage === undefined || model === undefined) return undefined
  return options.pricing({
    provider: options.capture.id(modelProvider(payload.provider ?? start?.provider)),
    model,
    baseUrl: textOf(payload.base_url ?? start?.base_url),
    serviceTier: textOf(payload.service_tier),
    at: startAt,
    usage,
  })
}

/** The cost of a request, computed once per record: its span, the metrics and the turn's totals use it. */
export function requestCost(event: HookEvent<ApiEnd>, options: AttributeOptions, begun: Begun): Cost | undefined {
  event.facts.cost ??= costOf(event, options, begun) ?? null
  return event.facts.cost ?? undefined
}

export function addCost(attributes: AttributeList, cost: Cost | undefined, { facts, capture }: AttributeOptions): void {
  if (cost === undefined) return
  attributes.set(facts.cost, roundedDollars(cost.dollars))
  attributes.set(facts.costSource, literal(cost.source))
  attributes.set(facts.costModel, capture.id(cost.pricedAs))
  attributes.set(facts.costPrices, capture.id(cost.prices))
}
