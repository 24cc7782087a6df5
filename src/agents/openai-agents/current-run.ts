import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookIds } from '../../guards/index.ts'
import { sdkContext } from './live-events.ts'

const DEPTH_LIMIT = 100

/** The run of the current async context, by the ids of the SDK's trace, which are ours too. */
export interface CurrentRun {
  readonly ids: HookIds
  /** The current agent. Undefined if the run is not traced. */
  readonly agentName: string | undefined
}

export function currentRun(): CurrentRun {
  const { trace, span: innermost, outer } = sdkContext()
  let agent: unknown
  let task: unknown
  let span = innermost ?? outer
  for (let depth = 0; span !== undefined && span !== null && task === undefined && depth < DEPTH_LIMIT; depth++) {
    const type = peek(peek(span, 'spanData'), 'type')
    if (type === 'agent') agent ??= span
    if (type === 'task') task = span
    span = peek(span, 'previousSpan') ?? (depth === 0 && innermost !== undefined ? outer : undefined)
  }
  const turnId = idOf(peek(task ?? agent, 'spanId'))
  const sessionId = idOf(peek(trace, 'groupId')) ?? idOf(peek(trace, 'traceId'))
  return { ids: { sessionId, turnId: turnId ?? sessionId }, agentName: textOf(peek(peek(agent, 'spanData'), 'name')) }
}

/** Marks the SDK's current span as failed. */
export function markAsFailed(message: string): void {
  const { span } = sdkContext()
  const setError = peek(span, 'setError')
  if (typeof setError === 'function') setError.call(span, { message })
}

/** The error of the SDK's current span: a new object for each failure. */
export function currentError(): unknown {
  return peek(sdkContext().span, 'error')
}
