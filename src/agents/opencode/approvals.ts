import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import { Approval } from '../base/approval.ts'
import type { RecordScope } from '../base/records.ts'

const PATTERNS_LIMIT = 16
/** The user's replies as values of the contract. */
const CHOICES: ReadonlyMap<unknown, string> = new Map([
  ['once', 'once'],
  ['always', 'always'],
  ['reject', 'deny'],
])

/**
 * A permission that the user was asked for. Older versions have `permission.updated` instead of `permission.asked`, with
 * different fields.
 */
export class Permission extends Approval {
  readonly #data: unknown

  constructor(turn: RecordScope, askedAt: number, data: unknown, toolId: string | undefined) {
    super(turn, toolId, textOf(peek(data, 'permission')) ?? textOf(peek(data, 'type')), askedAt)
    this.#data = data
  }

  emitQuestion(): void {
    if (this.isAsked) return
    const metadata = peek(this.#data, 'metadata')
    const patterns = elementsOf(peek(this.#data, 'patterns') ?? peek(this.#data, 'pattern'), PATTERNS_LIMIT).map(textOf)
    this.emitRequest({
      pattern_keys: patterns.filter(pattern => pattern !== undefined),
      command: peek(metadata, 'command') ?? patterns[0],
      description: peek(this.#data, 'title') ?? peek(metadata, 'description'),
    })
  }

  emitReply(at: number, choice: string): void {
    this.emitQuestion()
    this.emitResponse(at, choice)
  }
}

export class Permissions {
  readonly #turn: RecordScope
  readonly #byId = new Map<string, Permission>()

  constructor(turn: RecordScope) {
    this.#turn = turn
  }

  addPermission(at: number, data: unknown, toolId: string | undefined): Permission | undefined {
    const id = idOf(peek(data, 'id'))
    if (id === undefined || this.#byId.has(id)) return undefined
    const permission = new Permission(this.#turn, at, data, toolId)
    this.#byId.set(id, permission)
    return permission
  }

  pendingPermission(data: unknown): Permission | undefined {
    const permission = this.#byId.get(idOf(peek(data, 'requestID')) ?? idOf(peek(data, 'permissionID')) ?? '')
    return permission?.isAnswered ? undefined : permission
  }

  cancelPermissions(at: number, toolId?: string): void {
    for (const permission of this.#byId.values()) {
      const isMeant = toolId === undefined || permission.toolId === toolId
      if (isMeant && !permission.isAnswered) permission.emitReply(at, 'cancelled')
    }
  }
}

export function choiceOf(data: unknown): string {
  const reply = peek(data, 'reply') ?? peek(data, 'response')
  return CHOICES.get(reply) ?? textOf(reply) ?? 'unknown'
}
