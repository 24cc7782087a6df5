import { parseTraceparent } from '../../core/traceparent.ts'
import type { CommandIo } from '../command.ts'

/**
 * The environment of a program that stands below a span. A `tracestate` belongs to its trace: it stays in it.
 *
 * @param traceparent undefined where no context is handed on: then it is that of the caller
 */
export function environmentBelow(traceparent: string | undefined, env: CommandIo['env']): CommandIo['env'] {
  if (traceparent === undefined) return env
  const { TRACESTATE, ...rest } = env
  const isSameTrace = parseTraceparent(traceparent)?.traceId === parseTraceparent(env['TRACEPARENT'])?.traceId
  return { ...rest, TRACEPARENT: traceparent, ...(isSameTrace && TRACESTATE !== undefined && { TRACESTATE }) }
}
