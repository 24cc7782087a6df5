import type { WorkloadRecord } from './workload-record.ts'

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/**
 * What the children of each turn used, and theirs, side calls included: apart from what it used itself. A child's turn
 * counts where the nearest turn above it is still open when it ends; one that outlives all of them can be in nobody's sum
 * any more. Only turns whose end was told are in the answer: when one is given up that fell silent is not for a record to
 * say.
 */
class Family {
  readonly ofChildren = new Map<string, number>()
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
    let parent = this.#parentOf(turn)
    while (parent !== undefined && this.over.has(parent)) parent = this.#parentOf(parent)
    if (parent === undefined) return
    const used = this.#ownTokens(turn) + (this.ofChildren.get(turn) ?? 0)
    this.ofChildren.set(parent, (this.ofChildren.get(parent) ?? 0) + used)
  }
}

/** By turn; `records` without repeats, `ownTokens` what a turn's own requests and side calls used. */
export function childTokens(
  records: readonly WorkloadRecord[],
  ownTokens: (turn: string) => number,
): ReadonlyMap<string, number> {
  const family = new Family(ownTokens)
  for (const record of records) family.hear(record)
  return new Map([...family.over].map(turn => [turn, family.ofChildren.get(turn) ?? 0]))
}
