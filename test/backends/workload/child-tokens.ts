import type { WorkloadRecord } from './workload-record.ts'

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/**
 * What the children of each turn used, and theirs, side calls included: apart from what it used itself. A child's turn
 * counts for the nearest turn above it that is still open when it ends; of one that outlives all of them it is kept apart,
 * for the outermost. Only turns whose end was told are in the answer: when one is given up that fell silent is not for a
 * record to say.
 */
class Family {
  readonly ofChildren = new Map<string, number>()
  readonly ofOutliving = new Map<string, number>()
  readonly over = new Set<string>()
  /** Of its own requests and side calls. */
  readonly #ownTokens: (turn: string) => number
  /** Session of a child → the turn that delegated to it. */
  readonly #delegatedBy = new Map<string, string>()
  readonly #sessionOf = new Map<string, string>()
  readonly #openIn = new Map<string, string>()

  constructor(ownTokens: (turn: string) => number) {
    this.#ownTokens = ownTokens
  }

  hear({ hook, payload }: WorkloadRecord): void {
    const session = text(payload['session_id'])
    const turn = text(payload['turn_id'])
    if (hook === 'subagent_start') {
      const child = text(payload['child_session_id'])
      const parent = text(payload['parent_turn_id']) ?? this.#openIn.get(text(payload['parent_session_id']) ?? '')
      if (child !== undefined && parent !== undefined) this.#delegatedBy.set(child, parent)
    }
    if (turn === undefined || session === undefined) return
    if (!this.#sessionOf.has(turn)) this.#sessionOf.set(turn, session)
    if (hook === 'pre_llm_call') this.#begin(turn, session)
    if (hook === 'on_session_end') this.#end(turn)
  }

  /** A turn that begins ends the one before it, if its end was not told. */
  #begin(turn: string, session: string): void {
    const before = this.#openIn.get(session)
    if (before !== undefined && before !== turn) this.#end(before)
    this.#openIn.set(session, turn)
  }

  #parentOf(turn: string): string | undefined {
    return this.#delegatedBy.get(this.#sessionOf.get(turn) ?? '')
  }

  #end(turn: string): void {
    if (this.over.has(turn)) return
    this.over.add(turn)
    const above = [...this.#above(turn)]
    const [open, outermost] = [above.find(each => !this.over.has(each)), above.at(-1)]
    const used = this.#ownTokens(turn) + (this.ofChildren.get(turn) ?? 0)
    if (open !== undefined) this.ofChildren.set(open, (this.ofChildren.get(open) ?? 0) + used)
    else if (outermost !== undefined) this.ofOutliving.set(outermost, (this.ofOutliving.get(outermost) ?? 0) + used)
  }

  /** The turns above one, the nearest first. */
  *#above(turn: string): Generator<string, void> {
    for (let parent = this.#parentOf(turn); parent !== undefined; parent = this.#parentOf(parent)) yield parent
  }
}

export interface ChildTokens {
  /** By turn: what its children had used when it ended. */
  readonly inTime: ReadonlyMap<string, number>
  /** By turn that is no child's: what those used that outlived it. */
  readonly afterwards: ReadonlyMap<string, number>
}

/** `records` without repeats, `ownTokens` what a turn's own requests and side calls used. */
export function childTokens(records: readonly WorkloadRecord[], ownTokens: (turn: string) => number): ChildTokens {
  const family = new Family(ownTokens)
  for (const record of records) family.hear(record)
  const inTime = new Map([...family.over].map(turn => [turn, family.ofChildren.get(turn) ?? 0]))
  return { inTime, afterwards: family.ofOutliving }
}
