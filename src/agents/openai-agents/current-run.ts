import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookIds } from '../../guards/index.ts'
import { here } from './live-events.ts'

const DEPTH_LIMIT = 100

/** The run that code of the SDK is called in, by the ids of its trace, which are those of ours. */
export interface CurrentRun {
  readonly ids: HookIds
  /** The agent at work. Undefined: the run is not traced. */
  readonly agentName: string | undefined
}

export function currentRun(): CurrentRun {
  const { trace, span: innermost, outer } = here()
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

/** Says in the span of the SDK itself that what it is about was not done. */
export function markAsFailed(message: string): void {
  const { span } = here()
  const setError = peek(span, 'setError')
  if (typeof setError === 'function') setError.call(span, { message })
}

/** What the SDK's span says that the code in it failed with. A new object for each failure. */
export function failureHere(): unknown {
  return peek(here().span, 'error')
}
