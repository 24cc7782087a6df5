import { numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { StatusClass } from '../../contract/index.ts'

export const OTHER_ERROR = '_OTHER'

export function errorFacts(error: unknown): { type: string | undefined; message: unknown } {
  if (typeof error === 'string') return { type: undefined, message: error }
  return {
    type: textOf(peek(error, 'type')) ?? textOf(peek(error, 'name')),
    message: peek(error, 'message'),
  }
}

/** Metric label of a failed request: the class of its status, such as `4xx`; `network` without one. */
export function statusClass(status: unknown): StatusClass {
  const code = numberOf(status)
  if (code === undefined || code <= 0) return 'network'
  const hundreds = Math.trunc(code / 100)
  return hundreds >= 1 && hundreds <= 5 ? (`${hundreds}xx` as StatusClass) : 'other'
}
