import { expect } from 'vitest'
import type { StoredSpan } from '../../src/testing.ts'

const SUMS = {
  'gen_ai.usage.input_tokens': 'hermes.turn.tokens.input',
  'gen_ai.usage.output_tokens': 'hermes.turn.tokens.output',
  'gen_ai.usage.cache_read.input_tokens': 'hermes.turn.tokens.cache_read',
  'gen_ai.usage.cache_creation.input_tokens': 'hermes.turn.tokens.cache_write',
  'gen_ai.usage.reasoning.output_tokens': 'hermes.turn.tokens.reasoning',
} as const

type Sums = Record<string, number>

function isRoot(span: StoredSpan): boolean {
  return span.attributes['hermes.span.kind'] === 'session'
}

/** The root that a span was under when it ended: below a delegation the child's, of the delegation itself the parent's. */
function rootOf(span: StoredSpan, byId: ReadonlyMap<string, StoredSpan>): StoredSpan | undefined {
  let at = byId.get(span.parentSpanId ?? '')
  while (at !== undefined && !isRoot(at)) at = byId.get(at.parentSpanId ?? '')
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
  // They are in the order of their ends.
  for (const span of spans) {
    if (isRoot(span)) expectSums(span, sums.get(span) ?? {}, mostly)
    const root = rootOf(span, byId)
    if (root === undefined) continue
    const own = sums.get(root) ?? {}
    sums.set(root, own)
    if (span.attributes['hermes.span.kind'] === 'api') addRequest(own, span)
    else if (isRoot(span)) addChild(own, span)
  }
}

function addRequest(sums: Sums, request: StoredSpan): void {
  for (const [usage, sum] of Object.entries(SUMS)) sums[sum] = (sums[sum] ?? 0) + numberAt(request, usage)
}

const SUBAGENTS = 'hermes.turn.subagent_tokens.total'

function addChild(sums: Sums, child: StoredSpan): void {
  const all = [SUMS['gen_ai.usage.input_tokens'], SUMS['gen_ai.usage.output_tokens'], SUBAGENTS]
  for (const name of all) sums[SUBAGENTS] = (sums[SUBAGENTS] ?? 0) + numberAt(child, name)
}

function expectSums(root: StoredSpan, sums: Sums, mostly: boolean): void {
  for (const name of [...Object.values(SUMS), SUBAGENTS]) {
    const [said, found] = [numberAt(root, name), sums[name] ?? 0]
    const holds = said === found || (mostly && name !== SUBAGENTS && said > found)
    if (!holds) expect(said, `${name} of ${root.attributes['hermes.turn.id']} is that of its spans`).toBe(found)
  }
}
