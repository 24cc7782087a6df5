import { peek, textOf } from '../../contract/foreign.ts'
import { Approval } from '../base/approval.ts'
import type { Moment } from '../base/event-machine.ts'
import type { Tool } from '../base/tool.ts'
import { platformOf } from './context.ts'

/** A person who types a text answers a question, and permits nothing by it. */
const NO_APPROVALS: ReadonlySet<unknown> = new Set(['input', 'editor'])

export function isApproval(data: unknown): boolean {
  return !NO_APPROVALS.has(peek(data, 'kind'))
}

/**
 * A question of an extension about one tool. Pi tells neither the answer nor the tool: both are inferred, the answer
 * from what became of the tool. So it is told late, with the time at which it was given.
 */
export class PiApproval extends Approval {
  #repliedAt: number | undefined
  #choice: string | undefined

  constructor(tool: Tool, { at, context, data }: Moment) {
    super(tool.turn, tool.id, textOf(tool.name), at)
    const command = peek(tool.args, 'command')
    this.ask({ command, description: peek(data, 'title'), surface: platformOf(context) }, 'inferred')
  }

  get isReplied(): boolean {
    return this.#repliedAt !== undefined
  }

  /** The prompt is gone; what was answered shows in the tool. */
  replied(at: number): void {
    this.#repliedAt ??= at
    if (this.#choice !== undefined) this.#tell(this.#repliedAt)
  }

  /** What became of the tool. The end of the prompt is told apart from it, and may come after it. */
  decided(choice: string): void {
    this.#choice ??= choice
    if (this.#repliedAt !== undefined) this.#tell(this.#repliedAt)
  }

  /** Nothing more will be known: told without an answer where there is none. */
  close(at: number): void {
    this.#tell(this.#repliedAt ?? at)
  }

  #tell(at: number): void {
    this.answer(at, this.#choice, 'inferred')
  }
}
