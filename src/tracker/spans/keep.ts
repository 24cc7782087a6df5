import type { KeepRules } from './span-definition.ts'
import { allTokens, type TurnTotals } from './turn-totals.ts'

/** The sampling reason on the root of a turn. `none`: its trace is not kept. */
export type SamplingReason = 'error' | 'denied' | 'slow' | 'cost' | 'tokens' | 'tool' | 'rate' | 'none'

export interface SampledTurn {
  readonly traceId: string
  readonly hasFailed: boolean
  readonly totals: TurnTotals
  readonly durationMillis: number
}

const RANDOM_HEX_DIGITS = 14
const RANDOM_VALUES = 2 ** (4 * RANDOM_HEX_DIGITS)

export function samplingReason(rules: KeepRules, turn: SampledTurn): SamplingReason {
  const { traceId, hasFailed, totals, durationMillis } = turn
  const { signs, cost } = totals
  if (rules.errors && (hasFailed || signs.errors > 0)) return 'error'
  if (rules.denied && signs.denied > 0) return 'denied'
  const waitedMillis = rules.waitsCount ? 0 : signs.waits.reduce((sum, [from, to]) => sum + to - from, 0)
  if (isOver(durationMillis - waitedMillis, rules.slowerThanMillis)) return 'slow'
  if (isOver(cost.dollars, rules.costOver)) return 'cost'
  const tokens = allTokens(totals)
  if (isOver(tokens.input + tokens.output, rules.tokensOver)) return 'tokens'
  if (signs.tool) return 'tool'
  // Only the last 56 bits of the trace id count, so that all processes with one rate choose the same traces.
  const isInShare = rules.threshold !== undefined && traceId.slice(-RANDOM_HEX_DIGITS) >= rules.threshold
  return isInShare ? 'rate' : 'none'
}

/**
 * The threshold of a sampling rate from 0 to 1: the minimum of the trace id's random part, as in OpenTelemetry's
 * consistent probability sampling. 14 hexadecimal digits; undefined for a rate of 0.
 */
export function thresholdOf(rate: number): string | undefined {
  // Not from `1 - rate`: close to 1, floats are too coarse.
  const chosen = BigInt(Math.round(rate * RANDOM_VALUES))
  if (chosen === 0n) return undefined
  return (BigInt(RANDOM_VALUES) - chosen).toString(16).padStart(RANDOM_HEX_DIGITS, '0')
}

function isOver(value: number, limit: number | undefined): boolean {
  return limit !== undefined && value > limit
}
