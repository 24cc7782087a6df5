import { compareTraces } from '../../src/reading/compare-traces.ts'
import { renderComparison } from '../../src/reading/comparison-text.ts'
import { buildForest, type TraceTree } from '../../src/reading/trace-forest.ts'
import { type SpanNote, storedSpans } from './sample-turn.ts'

export type Step = readonly [name: string, more?: Partial<SpanNote>]

/** A turn of an agent: requests and tools behind one another, each 100 ms long; a tool is of the request before it. */
export function turn(trace: string, steps: readonly Step[], root: Partial<SpanNote> = {}): TraceTree {
  const attributes = { 'hermes.span.kind': 'session', 'session.id': `s-${trace}`, 'gen_ai.agent.name': 'toy' }
  const notes: SpanNote[] = [
    {
      id: 'root',
      name: 'agent',
      from: 0,
      to: steps.length * 100,
      ...root,
      trace,
      attributes: { ...attributes, ...root.attributes },
    },
  ]
  let request = 'root'
  for (const [index, [name, more = {}]] of steps.entries()) {
    const kind = name.startsWith('api.') ? 'api' : name.startsWith('approval') ? 'approval' : 'tool'
    const id = `${trace}${index}`
    const own = {
      id,
      name,
      from: index * 100,
      to: index * 100 + 100,
      parent: kind === 'api' ? 'root' : request,
      ...more,
    }
    if (kind === 'api') request = id
    const model = kind === 'api' ? { 'gen_ai.request.model': name.slice(4) } : {}
    notes.push({ ...own, trace, attributes: { 'hermes.span.kind': kind, ...model, ...more.attributes } })
  }
  return buildForest(storedSpans(...notes))[0] as TraceTree
}

export const told = (argument: unknown, more: Partial<SpanNote> = {}): Partial<SpanNote> => ({
  ...more,
  attributes: { 'gen_ai.tool.call.arguments': JSON.stringify(argument), ...more.attributes },
})
export const used = (input: number, output: number): Partial<SpanNote> => ({
  attributes: { 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.output_tokens': output },
})

/** Both side by side, as a terminal shows it, between two line ends. */
export function text(a: readonly TraceTree[], b: readonly TraceTree[], width = 100): string {
  return `\n${renderComparison(compareTraces(a, b), { width, color: false })}\n`
}
