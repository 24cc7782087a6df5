import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import { Approval } from '../base/approval.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { type ModelToolCall, modelToolCallOf, partsOf } from './messages.ts'
import type { AiSdkCall } from './turn.ts'

const PENDING_LIMIT = 1000
const MESSAGES_LIMIT = 100

export interface UserDecision {
  readonly id: string
  readonly isGranted: boolean
  readonly reason: string | undefined
  readonly call: ModelToolCall | undefined
}

/**
 * Tool calls that need the user's approval. The SDK ends the call that wanted them. The application continues with
 * another call, whose messages end with the decisions: maybe days later, in another process.
 */
export class CallApprovals {
  readonly #pending = new LimitedMap<string, Approval>(PENDING_LIMIT)

  addRequests(call: AiSdkCall, at: number, content: unknown): void {
    for (const part of partsOf(content, 'tool-approval-request')) {
      const asked = modelToolCallOf(peek(part, 'toolCall'))
      const id = idOf(peek(part, 'approvalId'))
      if (asked === undefined || id === undefined || peek(part, 'isAutomatic') === true) continue
      const approval = new Approval(call, asked.id, asked.name, at)
      call.pendingApprovals.push({ approval, command: asked.args })
      this.#pending.set(id, approval)
    }
  }

  sessionOf(decisions: readonly UserDecision[]): string | undefined {
    return decisions.map(({ id }) => this.#pending.get(id)?.turn.sessionId).find(session => session !== undefined)
  }

  emitDecisions(call: AiSdkCall, at: number, decisions: readonly UserDecision[]): void {
    for (const decision of decisions) this.#emitDecision(call, at, decision)
  }

  #emitDecision(call: AiSdkCall, at: number, { id, isGranted, reason, call: asked }: UserDecision): void {
    const known = this.#pending.get(id)
    this.#pending.delete(id)
    const choice = isGranted ? 'once' : 'deny'
    if (known !== undefined) known.emitResponse(at, choice)
    else if (asked !== undefined) {
      // Another process requested it: the request and the response are both emitted now.
      const approval = new Approval(call, asked.id, asked.name, at)
      approval.emitRequest({ command: asked.args, surface: SURFACE }, 'inferred')
      approval.emitResponse(at, choice, 'inferred')
    }
    if (!isGranted && asked !== undefined) call.emitSkippedTool(at, asked, { status: 'blocked', error_message: reason })
  }
}

export function emitPendingRequests({ pendingApprovals: waiting }: AiSdkCall): void {
  for (const { approval, command } of waiting) approval.emitRequest({ command, surface: SURFACE })
}

const SURFACE = 'messages'

/** Only the last message counts, as in the SDK. */
export function decisionsOf(messages: unknown): readonly UserDecision[] {
  const last = elementsOf(messages, 1, 'last')[0]
  if (peek(last, 'role') !== 'tool') return []
  return partsOf(peek(last, 'content'), 'tool-approval-response').flatMap(part => {
    const id = idOf(peek(part, 'approvalId'))
    if (id === undefined) return []
    const isGranted = peek(part, 'approved') === true
    return [{ id, isGranted, reason: textOf(peek(part, 'reason')), call: requestIn(messages, id) }]
  })
}

function requestIn(messages: unknown, approvalId: string): ModelToolCall | undefined {
  const parts = elementsOf(messages, MESSAGES_LIMIT, 'last').flatMap(message =>
    elementsOf(peek(message, 'content'), 100),
  )
  const request = parts.find(part => isOf(part, 'tool-approval-request', 'approvalId', approvalId))
  const toolCallId = peek(request, 'toolCallId')
  return modelToolCallOf(parts.find(part => isOf(part, 'tool-call', 'toolCallId', toolCallId)))
}

function isOf(part: unknown, type: string, field: string, id: unknown): boolean {
  return id !== undefined && peek(part, 'type') === type && peek(part, field) === id
}
