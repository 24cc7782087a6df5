import { buildForest, type TraceTree } from '../../src/reading/trace-forest.ts'
import { type SpanNote, storedSpans } from './sample-turn.ts'

/** Spans of a kind, named by their ids. */

export type Kind =
  | 'session'
  | 'llm'
  | 'api'
  | 'tool'
  | 'subagent'
  | 'approval'
  | 'hook'
  | 'skill'
  | 'auxiliary'
  | 'other'

export function note(id: string, parent: string, kind: Kind, from: number, to: number): SpanNote {
  return {
    id,
    ...(parent !== '' && { parent }),
    name: id,
    from,
    to,
    ...(kind !== 'other' && { attributes: { 'hermes.span.kind': kind } }),
  }
}

export function treeOf(...notes: readonly SpanNote[]): TraceTree {
  const [tree] = buildForest(storedSpans(...notes))
  if (tree === undefined) throw new Error('no tree')
  return tree
}
