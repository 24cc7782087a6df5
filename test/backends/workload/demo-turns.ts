import type { FedSpan } from './fed-span.ts'
import type { Fed } from './feed.ts'
import { type TurnTokens, tokensOfTurn } from './turn-tokens.ts'

/** The recordings that `hookspan demo` plays: what it says of them, every server has to say. */
export const DEMO_TURNS: readonly string[] = ['recordings']

/** What was used for a trace, counted from the hook records alone: the whole, and each token in one of the parts. */
export interface TraceTokens {
  readonly traceId: string
  readonly root: FedSpan
  readonly all: number
  readonly own: number
  readonly subagents: number
  readonly sideCalls: number
  /** Of `subagents`, what the root cannot say, because it had ended. */
  readonly outliving: number
}

/** The traces of the demo's turns, each of one turn and of what it had others do. */
export function demoTraces({ spans, totals }: Fed): TraceTokens[] {
  const roots = spans.filter(({ parentSpanId }) => parentSpanId === undefined)
  return roots.map(root => {
    const { own, subagents, outliving, sideCalls }: TurnTokens = tokensOfTurn(
      totals,
      String(root.attributes['hermes.turn.id']),
    )
    return {
      traceId: root.traceId,
      root,
      all: own.total + subagents + outliving + sideCalls,
      own: own.total,
      subagents: subagents + outliving,
      sideCalls,
      outliving,
    }
  })
}

/** What the attributes of a root have to say, wherever they are read. */
export function totalsOnRoot({ all, own, subagents, sideCalls, outliving }: TraceTokens): Record<string, number> {
  const said = {
    'hermes.turn.tokens.total': own,
    'hermes.turn.subagent_tokens.total': subagents - outliving,
    'hermes.turn.auxiliary_tokens.total': sideCalls,
    'hermes.turn.all_tokens.total': all - outliving,
    'hermes.turn.subagent_open_count': outliving > 0 ? 1 : 0,
  }
  return Object.fromEntries(Object.entries(said).filter(([, count]) => count > 0))
}

/** Those of them that an answer has. */
export function totalsSaid(attributes: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const names = /^hermes\.turn\.((all_|subagent_|auxiliary_)?tokens\.total|subagent_open_count)$/
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => names.test(name)))
}
