import type { TraceFilter } from '../viewer/trace-filter.ts'
import { WrongUse } from './options.ts'
import { sinceAt } from './since-option.ts'

/** What was given on the command line. */
export interface TreeValues {
  readonly session: string | undefined
  readonly model: string | undefined
  readonly tool: string | undefined
  readonly errors: boolean
  readonly since: string | undefined
  readonly last: string | undefined
  readonly follow: boolean
  readonly json: boolean
}

export interface TreeOptions {
  /** FILE and TRACE_ID, in whatever order. */
  readonly names: readonly string[]
  readonly filter: TraceFilter
  /** Undefined where nobody said. */
  readonly last: number | undefined
  readonly follow: boolean
  readonly json: boolean
}

/** @throws {WrongUse} */
export function readTreeOptions(values: TreeValues, names: readonly string[], now: number): TreeOptions {
  const { session, model, tool, errors, since, last, follow, json } = values
  if (last !== undefined && !/^\d{1,9}$/.test(last)) {
    throw new WrongUse(`--last takes a whole number, got ${JSON.stringify(last)}`)
  }
  const filter: TraceFilter = {
    ...(session !== undefined && { sessionId: session }),
    ...(model !== undefined && { model }),
    ...(tool !== undefined && { tool }),
    ...(errors && { hasError: true }),
    ...(since !== undefined && { sinceAt: sinceAt(since, now) }),
  }
  return { names, filter, last: last === undefined ? undefined : Number(last), follow, json }
}
