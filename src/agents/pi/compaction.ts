import { booleanOf, peek, textOf } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import type { RecordScope } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import { modelOf } from './context.ts'
import { failureOf, piUsage } from './messages.ts'

/**
 * A compaction of the conversation, by a separate model request. Pi reports its beginning and result, and neither the input nor
 * the model.
 */
export class PiCompaction {
  readonly #request: ModelRequest

  constructor(scope: RecordScope, startedAt: number) {
    const id = `${scope.sessionId}:compaction:${startedAt}`
    this.#request = new ModelRequest(scope, startedAt, { id, task: 'compression' })
  }

  /** Emits the start of the request. Headers prove that Pi makes one, and no extension does the compaction instead. */
  emitRequestStart({ context }: TimedEvent): void {
    this.#request.emitStart(modelOf(context), 'inferred')
  }

  /** Handles `session_compact`. Hosts before 0.80 have no header event, so only this event shows that a request was made. */
  endCompaction(moment: TimedEvent): void {
    const { at, context, data } = moment
    const entry = peek(data, 'compactionEntry')
    if (booleanOf(peek(data, 'fromExtension')) !== true) this.emitRequestStart(moment)
    if (!this.#request.isStartEmitted) return
    const usage = peek(entry, 'usage')
    const content = textOf(peek(entry, 'summary'))
    const response = content === undefined ? undefined : { message: { role: 'assistant', content } }
    const facts = { ...modelOf(context), usage: piUsage(usage), cost: peek(usage, 'cost'), response }
    this.#request.emitAnswer(at, facts, 'inferred')
  }

  failCompaction({ at, context, data }: TimedEvent): void {
    if (!this.#request.isStartEmitted) return
    const message = textOf(peek(data, 'errorMessage'))
    const isAborted = booleanOf(peek(data, 'aborted')) === true
    const type = isAborted ? 'aborted' : (failureOf(message).statusCode?.toString() ?? 'compaction_failed')
    this.#request.emitFailure(at, { ...modelOf(context), error_type: type, error: { type, message } }, 'inferred')
  }
}
