import { humanCost, humanCount } from './human-figures.ts'
import { joinSegments, segment, type TextSegment } from './segments.ts'
import { namespaceOfTree } from './span-attributes.ts'
import { factsOf, type SpanFacts, type Tokens } from './span-facts.ts'
import { type TraceTree, type TreeStep, walkTree } from './trace-forest.ts'

export type TreeRow = Readonly<{ step: TreeStep; facts: SpanFacts }>

export function treeRows(tree: TraceTree): TreeRow[] {
  const namespace = namespaceOfTree(tree)
  return Array.from(walkTree(tree), step => ({ step, facts: factsOf(step.node, namespace) }))
}

export function rowTitle({ facts }: TreeRow): TextSegment[] {
  const name = segment(facts.isError ? 'error' : facts.kind, facts.name)
  return joinSegments([name, segment('warn', facts.attempt), segment('dim', hintText(facts))], '  ')
}

/** Cached tokens affect the cost of a request more than any other figure that fits on the line. */
export function hintText({ hint, cachedTokens }: SpanFacts): string {
  const cached = cachedTokens === undefined ? '' : `${humanCount(cachedTokens)} cached`
  return [hint, cached].filter(text => text !== '').join(' · ')
}

export function rowEnding({ facts }: TreeRow): TextSegment[] {
  return joinSegments(facts.outcome === undefined ? facts.marks : [facts.outcome, ...facts.marks], '  ')
}

export function tokenText(tokens: Tokens | undefined, side: keyof Tokens): string {
  if (tokens === undefined) return ''
  const count = tokens[side]
  return count === undefined ? '–' : humanCount(count)
}

export function costText({ facts }: TreeRow): string {
  return facts.cost === undefined ? '' : humanCost(facts.cost)
}

export function tokensText(tokens: Tokens): string {
  return `${tokenText(tokens, 'input')} → ${tokenText(tokens, 'output')}`
}
