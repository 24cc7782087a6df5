import { idOf, numberOf, peek } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import type { Facts } from './facts.ts'
import { type Compaction, idsOf, nameOf, type Run, type Session } from './state.ts'

/** `before_compaction`. It can come between two runs, and is then nobody's work. */
export function startCompaction(session: Session, { at, data }: Facts): HookRecord[] {
  if (session.compaction !== undefined) return []
  session.compactionCount += 1
  const requestId = `${nameOf(session) ?? ''}:compaction:${session.compactionCount}`
  session.compaction = { requestId, run: session.run }
  return [
    hookRecord('pre_auxiliary_call', at, {
      ...ofCompaction(session, session.compaction),
      message_count: numberOf(peek(data, 'compactingCount')) ?? numberOf(peek(data, 'messageCount')),
      approx_input_tokens: numberOf(peek(data, 'tokenCount')),
    }),
  ]
}

/** @param failure why it has no end of its own, where it has none */
export function endCompaction(session: Session, at: number, failure?: string): HookRecord[] {
  const { compaction } = session
  if (compaction === undefined) return []
  session.compaction = undefined
  return [
    hookRecord('post_auxiliary_call', at, {
      ...ofCompaction(session, compaction),
      error_type: failure,
    }),
  ]
}

function ofCompaction(session: Session, { requestId, run }: Compaction): { readonly [key: string]: unknown } {
  const ids = run === undefined ? { session_id: nameOf(session) } : idsOf(run)
  return { ...ids, api_request_id: requestId, aux_task: 'compression', model: run?.model, provider: run?.provider }
}

/** What an approval came to, in the contract's words. */
function choiceOf(data: unknown): string {
  const status = idOf(peek(data, 'status'))
  if (status !== 'approved') return status === 'denied' ? 'deny' : (status ?? 'unknown')
  return peek(data, 'scope') === 'session' ? 'session' : 'once'
}

/** Stream `approval`: somebody is asked whether a command may run, or nobody can be asked. */
export function readApproval(run: Run, { at, data }: Facts): HookRecord[] {
  const callId = idOf(peek(data, 'toolCallId')) ?? idOf(peek(data, 'approvalId'))
  if (callId === undefined) return []
  const payload = { ...idsOf(run), tool_call_id: callId, pattern_key: peek(data, 'kind'), surface: peek(data, 'host') }
  const isAsked = peek(data, 'phase') === 'requested'
  const records: HookRecord[] = []
  if (isAsked && !run.approvals.has(callId)) {
    run.approvals.add(callId)
    const asked = { command: peek(data, 'command'), description: peek(data, 'message') ?? peek(data, 'title') }
    records.push(hookRecord('pre_approval_request', at, { ...payload, ...asked }))
  }
  const isAnswered = !isAsked || peek(data, 'status') === 'unavailable'
  if (isAnswered && run.approvals.delete(callId)) {
    records.push(hookRecord('post_approval_response', at, { ...payload, choice: choiceOf(data) }))
  }
  return records
}
