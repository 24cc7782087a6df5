import { sumOf, type Tokens } from './canonical-usage.ts'
import type { Totals } from './totals.ts'

/** What a turn used, in its parts: each token is in one of them. */
export interface TurnTokens {
  /** Of its own requests. */
  readonly own: Tokens
  /** Total of its child agents at any depth, their side calls included, as far as they had ended when it did. */
  readonly subagents: number
  /** Total of those that outlived it: in its trace, but nothing that its root can say. */
  readonly outliving: number
  /** Total of its own side calls. */
  readonly sideCalls: number
}

/** Of a turn whose end was told, counted from the hook records alone. */
export function tokensOfTurn({ byTurn, childTokens, outlivingTokens }: Totals, turn: string): TurnTokens {
  const sums = byTurn.get(turn)
  const subagents = childTokens.get(turn)
  if (sums === undefined || subagents === undefined) throw new Error(`the end of turn ${turn} was not told`)
  const { turnTokens: own, tokens } = sums
  return { own, subagents, outliving: outlivingTokens.get(turn) ?? 0, sideCalls: tokens.total - own.total }
}

/** What all turns used, in the same parts, a turn of a child agent being no turn of its own. */
export function tokensOfTurns(totals: Totals, turns: readonly string[]): TurnTokens {
  const each = turns.map(turn => tokensOfTurn(totals, turn))
  return each.reduce((one, other) => ({
    own: sumOf(one.own, other.own),
    subagents: one.subagents + other.subagents,
    outliving: one.outliving + other.outliving,
    sideCalls: one.sideCalls + other.sideCalls,
  }))
}
