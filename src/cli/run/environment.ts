import type { CommandIo } from '../command.ts'

/**
 * The environment of a program below a span. A `tracestate` is only passed on within its own trace.
 *
 * @param traceparent undefined if no context is propagated; the caller's is kept then
 */
export function environmentBelow(traceparent: string | undefined, env: CommandIo['env']): CommandIo['env'] {
  if (traceparent === undefined) return env
  const { TRACESTATE, ...rest } = env
  const isSameTrace = traceIdIn(traceparent) === traceIdIn(env['TRACEPARENT'])
  return { ...rest, TRACEPARENT: traceparent, ...(isSameTrace && TRACESTATE !== undefined && { TRACESTATE }) }
}

/** No validation: ours is valid, and another one cannot match it by chance. */
function traceIdIn(traceparent: string | undefined): string | undefined {
  return traceparent?.trim().split('-')[1]
}
