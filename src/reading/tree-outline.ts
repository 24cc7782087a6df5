import type { AttributeValue } from './attribute-value.ts'
import { displayText } from './display-text.ts'
import { humanDuration } from './human-figures.ts'
import { type SpanAttributes, walkSpans } from './span-attributes.ts'
import type { TraceNode, TraceTree } from './trace-forest.ts'

/** The content of a trace drawn as text. */
export interface OutlineOptions {
  /** Names of attributes to show where a span has them, in this order. */
  readonly attributes?: readonly string[]
  /** Default false: durations would make a compared text unstable. */
  readonly durations?: boolean
  /** `OK`, `ERROR` with the error's type, `UNSET`. Default true. */
  readonly status?: boolean
  /** Namespace of our own attributes. Default: derived from the root's attributes. */
  readonly namespace?: string
}

/** Indenting ten thousand levels would take a hundred megabytes of blanks. Deeper levels show their number. */
const MAX_INDENT = 100

/**
 * A trace as plain text for comparison in tests: a span a line, two blanks a level.
 *
 * @example
 * agent OK
 *   llm.qwen3-coder-30b OK
 *     api.qwen3-coder-30b ERROR RateLimitError
 *     tool.terminal UNSET (incomplete: turn_ended) [hermes.tool.command=ls]
 */
export function outline(tree: TraceTree, options: OutlineOptions = {}): string {
  return Array.from(walkSpans(tree, options.namespace), ({ node, attributes, depth }) => {
    const indent = depth <= MAX_INDENT ? '  '.repeat(depth) : `${'  '.repeat(MAX_INDENT)}(level ${depth}) `
    return indent + spanText(node, attributes, options)
  }).join('\n')
}

function spanText(node: TraceNode, attributes: SpanAttributes, options: OutlineOptions): string {
  const { span } = node
  const errorType = span.status === 'error' ? attributes.text('error.type') : ''
  const parts = [
    displayText(span.name),
    (options.status ?? true) ? `${span.status.toUpperCase()} ${errorType}`.trim() : '',
    options.durations === true ? humanDuration(span.endAt - span.startAt) : '',
    ...flags(node, attributes),
    attributesText(node, options.attributes ?? []),
  ]
  return parts.filter(part => part !== '').join(' ')
}

function flags(node: TraceNode, attributes: SpanAttributes): string[] {
  const incomplete = attributes.text('.span.incomplete')
  const correlation = attributes.text('.correlation')
  return [
    incomplete === '' ? '' : `(incomplete: ${incomplete})`,
    attributes.isTrue('.span.retroactive') ? '(retroactive)' : '',
    correlation === '' ? '' : `(${correlation})`,
    node.span.running === true ? '(running)' : '',
    node.elsewhere ? '(parent elsewhere)' : '',
    node.orphan ? `(parent ${node.awaiting ? 'running' : 'missing'})` : '',
  ]
}

function attributesText(node: TraceNode, names: readonly string[]): string {
  const { attributes } = node.span
  const shown = names
    .filter(name => Object.hasOwn(attributes, name))
    .map(name => `${name}=${valueText(attributes[name] ?? null)}`)
  return shown.length === 0 ? '' : `[${shown.join(', ')}]`
}

/** Quoted if the end of the value would be ambiguous. */
function valueText(value: AttributeValue): string {
  if (typeof value === 'string' && /^[^\s,[\]"]+$/.test(value)) return displayText(value)
  return displayText(JSON.stringify(value))
}
