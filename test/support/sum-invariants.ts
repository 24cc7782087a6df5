import { expect } from 'vitest'
import type { StoredSpan } from '../../src/testing.ts'

const SUMS = {
  'gen_ai.usage.input_tokens': 'hermes.turn.tokens.input',
  'gen_ai.usage.output_tokens': 'hermes.turn.tokens.output',
  'gen_ai.usage.cache_read.input_tokens': 'hermes.turn.tokens.cache_read',
  'gen_ai.usage.cache_creation.input_tokens': 'hermes.turn.tokens.cache_write',
  'gen_ai.usage.reasoning.output_tokens': 'hermes.turn.tokens.reasoning',
} as const

const USED = ['gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens'] as const
const SUBAGENTS = 'hermes.turn.subagent_tokens.total'
const SIDE_CALLS = 'hermes.turn.auxiliary_tokens.total'

type Sums = Record<string, number>

function isRoot(span: StoredSpan): boolean {
  return span.attributes['hermes.span.kind'] === 'session'
}

/** The root above a span; that of a child agent is the first that has not ended yet, because what it used is told to that. */
function rootOf(
  span: StoredSpan,
  byId: ReadonlyMap<string, StoredSpan>,
  ended: ReadonlySet<StoredSpan>,
): StoredSpan | undefined {
  const mayBeOver = !isRoot(span)
  let at = byId.get(span.parentSpanId ?? '')
  while (at !== undefined && !(isRoot(at) && (mayBeOver || !ended.has(at)))) at = byId.get(at.parentSpanId ?? '')
  return at
}

function numberAt(span: StoredSpan, name: string): number {
  return Number(span.attributes[name] ?? 0)
}

/**
 * What a root says of its turn is what its own requests say that had ended by then, and of its sub-agents what their roots
 * say that had.
 * @param mostly some requests have no span: then a root may say more than its requests
 */
export function expectSumsOfRequests(spans: readonly StoredSpan[], mostly: boolean): void {
  const byId = new Map(spans.map(span => [span.spanId, span]))
  const sums = new Map<StoredSpan, Sums>()
  const ended = new Set<StoredSpan>()
  // They are in the order of their ends.
  for (const span of spans) {
    if (isRoot(span)) expectSums(span, sums.get(span) ?? {}, mostly)
    const root = rootOf(span, byId, ended)
    ended.add(span)
    if (root === undefined) continue
    const own = sums.get(root) ?? {}
    sums.set(root, own)
    const kind = span.attributes['hermes.span.kind']
    if (kind === 'api') for (const [usage, sum] of Object.entries(SUMS)) add(own, sum, numberAt(span, usage))
    else if (kind === 'auxiliary') for (const usage of USED) add(own, SIDE_CALLS, numberAt(span, usage))
    else if (kind === 'session') add(own, SUBAGENTS, allOf(span))
  }
}

function add(sums: Sums, name: string, tokens: number): void {
  sums[name] = (sums[name] ?? 0) + tokens
}

function allOf(root: StoredSpan): number {
  const { 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.output_tokens': output } = SUMS
  return [input, output, SUBAGENTS, SIDE_CALLS].reduce((sum, name) => sum + numberAt(root, name), 0)
}

function expectSums(root: StoredSpan, sums: Sums, mostly: boolean): void {
  for (const name of [...Object.values(SUMS), SUBAGENTS, SIDE_CALLS]) {
    const [said, found] = [numberAt(root, name), sums[name] ?? 0]
    const holds = said === found || (mostly && said > found)
    if (!holds) expect(said, `${name} of ${root.attributes['hermes.turn.id']} is that of its spans`).toBe(found)
  }
  const all = numberAt(root, 'hermes.turn.all_tokens.total')
  if (all !== allOf(root)) expect(all, 'all tokens are those of the parts').toBe(allOf(root))
}
