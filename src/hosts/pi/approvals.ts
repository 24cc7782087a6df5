import { peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import { type Moment, platformOf, type TurnIds } from './moment.ts'

/** A person who types a text answers a question, and permits nothing by it. */
const NO_APPROVALS: ReadonlySet<unknown> = new Set(['input', 'editor'])

export function isApproval(data: unknown): boolean {
  return !NO_APPROVALS.has(peek(data, 'kind'))
}

/** The tool that a person is asked about. */
export interface GatedTool {
  readonly id: string
  readonly name: unknown
  readonly args: unknown
}

/**
 * A question of an extension about one tool. Pi tells neither the answer nor the tool: both are inferred, the answer
 * from what became of the tool. So it is told late, with the time at which it was given.
 */
export class PiApproval {
  readonly #ids: TurnIds
  readonly #tool: GatedTool
  readonly #askedAt: number
  #answeredAt: number | undefined
  #choice: string | undefined
  #isTold = false

  constructor(ids: TurnIds, tool: GatedTool, askedAt: number) {
    this.#ids = ids
    this.#tool = tool
    this.#askedAt = askedAt
  }

  get isAnswered(): boolean {
    return this.#answeredAt !== undefined
  }

  request({ context, data }: Moment): HookRecord {
    return hookRecord(
      'pre_approval_request',
      this.#askedAt,
      {
        ...this.#identity(),
        command: peek(this.#tool.args, 'command'),
        description: peek(data, 'title'),
        surface: platformOf(context),
      },
      'inferred',
    )
  }

  /** The prompt is gone; what was answered shows in the tool. */
  answered(at: number): HookRecord[] {
    this.#answeredAt ??= at
    return this.#tell()
  }

  /** What became of the tool. The end of the prompt is told apart from it, and may come after it. */
  decided(choice: string): HookRecord[] {
    this.#choice ??= choice
    return this.#tell()
  }

  /** Nothing more will be known: told without an answer where there is none. */
  close(at: number): HookRecord[] {
    this.#answeredAt ??= at
    return this.#tell(true)
  }

  #tell(isLast = false): HookRecord[] {
    if (this.#isTold || this.#answeredAt === undefined || (this.#choice === undefined && !isLast)) return []
    this.#isTold = true
    const at = Math.max(this.#answeredAt, this.#askedAt)
    return [hookRecord('post_approval_response', at, { ...this.#identity(), choice: this.#choice }, 'inferred')]
  }

  #identity(): TurnIds & { tool_call_id: string; pattern_key: string | undefined } {
    return { ...this.#ids, tool_call_id: this.#tool.id, pattern_key: textOf(this.#tool.name) }
  }
}
