import { peek, textOf } from '../../contract/foreign.ts'
import { Approval } from '../base/approval.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import type { Tool } from '../base/tool.ts'
import { platformOf } from './context.ts'

/** Prompts for text are questions, not approvals. */
const NO_APPROVALS: ReadonlySet<unknown> = new Set(['input', 'editor'])

export function isApproval(data: unknown): boolean {
  return !NO_APPROVALS.has(peek(data, 'kind'))
}

/**
 * A question of an extension about one tool. Pi reports neither the answer nor the tool. Both are inferred, the answer from the
 * tool's status, so it is emitted late, with its actual time.
 */
export class PiApproval extends Approval {
  #repliedAt: number | undefined
  #choice: string | undefined

  constructor(tool: Tool, { at, context, data }: TimedEvent) {
    super(tool.turn, tool.id, textOf(tool.name), at)
    const command = peek(tool.args, 'command')
    this.emitRequest({ command, description: peek(data, 'title'), surface: platformOf(context) }, 'inferred')
  }

  get isReplied(): boolean {
    return this.#repliedAt !== undefined
  }

  endPrompt(at: number): void {
    this.#repliedAt ??= at
    if (this.#choice !== undefined) this.#emitChoice(this.#repliedAt)
  }

  /** Records the answer inferred from the tool. The prompt's end is a separate event, which may come later. */
  setChoice(choice: string): void {
    this.#choice ??= choice
    if (this.#repliedAt !== undefined) this.#emitChoice(this.#repliedAt)
  }

  closeApproval(at: number): void {
    this.#emitChoice(this.#repliedAt ?? at)
  }

  #emitChoice(at: number): void {
    this.emitResponse(at, this.#choice, 'inferred')
  }
}
