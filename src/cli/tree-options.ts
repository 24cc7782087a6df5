import { parseArgs } from 'node:util'
import type { TraceFilter } from '../viewer/trace-filter.ts'
import { WrongUse } from './command.ts'
import { sinceAt } from './since-option.ts'

export interface TreeOptions {
  /** FILE and TRACE_ID, in whatever order. */
  readonly names: readonly string[]
  readonly filter: TraceFilter
  /** Undefined where nobody said. */
  readonly last: number | undefined
  readonly follow: boolean
  readonly json: boolean
}

/** @throws {WrongUse}, or the error of `parseArgs` */
export function readTreeOptions(args: string[], now: number): TreeOptions {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      session: { type: 'string' },
      model: { type: 'string' },
      tool: { type: 'string' },
      errors: { type: 'boolean', default: false },
      since: { type: 'string' },
      last: { type: 'string', short: 'n' },
      follow: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
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
  return { names: positionals, filter, last: last === undefined ? undefined : Number(last), follow, json }
}
