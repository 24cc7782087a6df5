import { numberOf, positive } from '../contract/foreign.ts'
import type { ApiEnd } from '../contract/index.ts'
import type { Draw, Fired } from './span-definition.ts'
import { usageOf } from './usage.ts'

/** How much of a model's context a request fills. */
export interface ContextFill {
  /** Tokens that there is room for, as the host says. */
  readonly length: number
  /** Share that the request's input takes, from 0; above 1 where the host's figure is too small. */
  readonly used: number | undefined
}

/** Below this a share is noise. */
const DECIMALS = 1e4

export function contextFill(fired: Fired<ApiEnd>, draw: Draw): ContextFill | undefined {
  const length = positive(fired.payload.context_length)
  if (length === undefined || length < 1) return undefined
  const input = numberOf(usageOf(fired, draw)?.promptTokens)
  const used = input === undefined ? undefined : Math.round((input / length) * DECIMALS) / DECIMALS
  return { length: Math.trunc(length), used }
}
