import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import type { TurnIds } from './moment.ts'

const PATTERNS_LIMIT = 16
/** The person's answer, in the contract's words. */
const CHOICES: ReadonlyMap<unknown, string> = new Map([
  ['once', 'once'],
  ['always', 'always'],
  ['reject', 'deny'],
])

/** A permission that somebody was asked for. */
export interface Approval {
  readonly askedAt: number
  readonly data: unknown
  readonly callId: string | undefined
  isTold: boolean
  isAnswered: boolean
}

/** Permissions of a turn. Versions differ: `permission.asked` was `permission.updated`, with other names in it. */
export class Approvals {
  readonly #ids: TurnIds
  readonly #byId = new Map<string, Approval>()

  constructor(ids: TurnIds) {
    this.#ids = ids
  }

  /** Undefined when it has no id, or is known already. */
  ask(at: number, data: unknown, callId: string | undefined): Approval | undefined {
    const id = idOf(peek(data, 'id'))
    if (id === undefined || this.#byId.has(id)) return undefined
    const approval: Approval = { askedAt: at, data, callId, isTold: false, isAnswered: false }
    this.#byId.set(id, approval)
    return approval
  }

  /** Undefined when nobody was asked that, or it was answered before. */
  open(data: unknown): Approval | undefined {
    const approval = this.#byId.get(idOf(peek(data, 'requestID')) ?? idOf(peek(data, 'permissionID')) ?? '')
    return approval?.isAnswered ? undefined : approval
  }

  tell(approval: Approval): HookRecord[] {
    if (approval.isTold) return []
    approval.isTold = true
    const { data } = approval
    const metadata = peek(data, 'metadata')
    const patterns = elementsOf(peek(data, 'patterns') ?? peek(data, 'pattern'), PATTERNS_LIMIT).map(textOf)
    return [
      hookRecord('pre_approval_request', approval.askedAt, {
        ...this.#identity(approval),
        pattern_keys: patterns.filter(pattern => pattern !== undefined),
        command: peek(metadata, 'command') ?? patterns[0],
        description: peek(data, 'title') ?? peek(metadata, 'description'),
      }),
    ]
  }

  answer(approval: Approval, at: number, choice: string): HookRecord[] {
    if (approval.isAnswered) return []
    const told = this.tell(approval)
    approval.isAnswered = true
    return [...told, hookRecord('post_approval_response', at, { ...this.#identity(approval), choice })]
  }

  /** Nobody can answer any more. */
  cancel(at: number, callId?: string): HookRecord[] {
    return [...this.#byId.values()]
      .filter(approval => callId === undefined || approval.callId === callId)
      .flatMap(approval => this.answer(approval, Math.max(at, approval.askedAt), 'cancelled'))
  }

  #identity({ data, callId }: Approval): TurnIds & { tool_call_id?: string; pattern_key?: string } {
    const pattern = textOf(peek(data, 'permission')) ?? textOf(peek(data, 'type'))
    return {
      ...this.#ids,
      ...(callId === undefined ? {} : { tool_call_id: callId }),
      ...(pattern === undefined ? {} : { pattern_key: pattern }),
    }
  }
}

export function choiceOf(data: unknown): string {
  const reply = peek(data, 'reply') ?? peek(data, 'response')
  return CHOICES.get(reply) ?? textOf(reply) ?? 'unknown'
}
