import type { CommandIo } from '../command.ts'

/**
 * The environment of a program that stands below a span. A `tracestate` belongs to its trace: it stays in it.
 *
 * @param traceparent undefined where no context is handed on: then it is that of the caller
 */
export function environmentBelow(traceparent: string | undefined, env: CommandIo['env']): CommandIo['env'] {
  if (traceparent === undefined) return env
  const { TRACESTATE, ...rest } = env
  const isSameTrace = traceIdIn(traceparent) === traceIdIn(env['TRACEPARENT'])
  return { ...rest, TRACEPARENT: traceparent, ...(isSameTrace && TRACESTATE !== undefined && { TRACESTATE }) }
}

/** Ours is valid, and no other one could say the same by chance. */
function traceIdIn(traceparent: string | undefined): string | undefined {
  return traceparent?.trim().split('-')[1]
}
