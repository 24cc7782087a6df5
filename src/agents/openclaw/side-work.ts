import { idOf, numberOf, peek } from '../../contract/foreign.ts'
import { Approval } from '../base/approval.ts'
import { RecordScope, type Records } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import type { Facts } from './facts.ts'
import type { OpenClawSession, Run } from './state.ts'

/** Handles `before_compaction`. Between two runs it belongs to no run. */
export function startCompaction(records: Records, session: OpenClawSession, { at, data }: Facts): void {
  if (session.compaction !== undefined) return
  session.compactionCount += 1
  const { run, name } = session
  const id = `${name ?? ''}:compaction:${session.compactionCount}`
  const request = new ModelRequest(run ?? new RecordScope(records, name), at, { id, task: 'compression' })
  session.compaction = { request, run }
  request.emitStart({
    model: run?.model,
    provider: run?.provider,
    message_count: numberOf(peek(data, 'compactingCount')) ?? numberOf(peek(data, 'messageCount')),
    approx_input_tokens: numberOf(peek(data, 'tokenCount')),
  })
}

export function endCompaction(session: OpenClawSession, at: number, failure?: string): void {
  const { compaction } = session
  session.compaction = undefined
  const { model, provider } = compaction?.run ?? {}
  compaction?.request.emitFailure(at, { model, provider, error_type: failure })
}

function choiceOf(data: unknown): string {
  const status = idOf(peek(data, 'status'))
  if (status !== 'approved') return status === 'denied' ? 'deny' : (status ?? 'unknown')
  return peek(data, 'scope') === 'session' ? 'session' : 'once'
}

/** Handles the stream `approval`: a request to the user, or a notice that the user cannot be asked. */
export function readApproval(run: Run, { at, data }: Facts): void {
  const callId = idOf(peek(data, 'toolCallId')) ?? idOf(peek(data, 'approvalId'))
  if (callId === undefined) return
  const isAsked = peek(data, 'phase') === 'requested'
  if (isAsked && !run.approvals.has(callId)) {
    const approval = new Approval(run, callId, peek(data, 'kind'), at)
    run.approvals.set(callId, approval)
    const description = peek(data, 'message') ?? peek(data, 'title')
    approval.emitRequest({ command: peek(data, 'command'), description, surface: peek(data, 'host') })
  }
  if (isAsked && peek(data, 'status') !== 'unavailable') return
  run.approvals.get(callId)?.emitResponse(at, choiceOf(data))
  run.approvals.delete(callId)
}
