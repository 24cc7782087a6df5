import { displayText } from './display-text.ts'
import { type DisplayKind, OWN_KINDS } from './segments.ts'
import type { StoredSpan } from './stored-span.ts'
import { type TraceTree, type TreeStep, walkTree } from './trace-forest.ts'

export const DEFAULT_NAMESPACE = 'hermes'

/** Reads a span's attributes by their stored names. A leading dot stands for our namespace: `.tool.outcome`. */
export class SpanAttributes {
  readonly span: StoredSpan
  readonly #namespace: string
  #kind: DisplayKind | undefined

  constructor(span: StoredSpan, namespace: string) {
    this.span = span
    this.#namespace = namespace
  }

  get kind(): DisplayKind {
    this.#kind ??= displayKind(this)
    return this.#kind
  }

  text(...names: readonly string[]): string {
    for (const name of names) {
      const value = this.#value(name)
      const text = typeof value === 'object' || value === undefined ? '' : displayText(String(value))
      if (text !== '') return text
    }
    return ''
  }

  rawText(...names: readonly string[]): string {
    for (const name of names) {
      const value = this.#value(name)
      if (value !== undefined && value !== null && value !== '')
        return typeof value === 'string' ? value : JSON.stringify(value)
    }
    return ''
  }

  number(...names: readonly string[]): number | undefined {
    for (const name of names) {
      const value = this.#value(name)
      if (typeof value === 'number' && Number.isFinite(value)) return value
    }
    return undefined
  }

  isTrue(name: string): boolean {
    return this.#value(name) === true
  }

  texts(name: string): readonly string[] {
    const value = this.#value(name)
    return Array.isArray(value) ? value.map(entry => (typeof entry === 'string' ? entry : '')) : []
  }

  #value(name: string): unknown {
    const key = name.startsWith('.') ? fullName(this.#namespace, name) : name
    const value = this.span.attributes[key]
    return value !== undefined && Object.hasOwn(this.span.attributes, key) ? value : undefined
  }
}

/** The full names of one namespace. A string that is put together anew has to be hashed for each look-up. */
let fullNames = { namespace: '', names: new Map<string, string>() }

/** `.tool.outcome` -> `hermes.tool.outcome` */
function fullName(namespace: string, name: string): string {
  if (fullNames.namespace !== namespace) fullNames = { namespace, names: new Map() }
  const known = fullNames.names.get(name)
  if (known !== undefined) return known
  fullNames.names.set(name, namespace + name)
  return namespace + name
}

/** The namespace is configurable and not an attribute itself: it is derived from the name of the kind attribute. */
export function namespaceOf(span: StoredSpan): string | undefined {
  const key = Object.keys(span.attributes).find(
    name => name.endsWith('.span.kind') && name !== 'openinference.span.kind' && name.length < 100,
  )
  return key?.slice(0, -'.span.kind'.length)
}

export function namespaceOfTree(tree: TraceTree): string {
  for (const root of tree.roots) {
    const namespace = namespaceOf(root.span)
    if (namespace !== undefined) return namespace
  }
  return DEFAULT_NAMESPACE
}

/** Walks the spans of a tree, outer ones first, with their attributes. */
export function* walkSpans(
  tree: TraceTree,
  namespace: string = namespaceOfTree(tree),
): Generator<TreeStep & { readonly attributes: SpanAttributes }, void> {
  for (const { node, depth, isLast, parent } of walkTree(tree)) {
    yield { node, depth, isLast, parent, attributes: new SpanAttributes(node.span, namespace) }
  }
}

const FOREIGN_KINDS: ReadonlyMap<string, DisplayKind> = new Map([
  ['AGENT', 'session'],
  ['CHAIN', 'llm'],
  ['LLM', 'api'],
  ['TOOL', 'tool'],
  ['GUARDRAIL', 'hook'],
  ['invoke_agent', 'session'],
  ['create_agent', 'session'],
  ['chat', 'api'],
  ['text_completion', 'api'],
  ['generate_content', 'api'],
  ['execute_tool', 'tool'],
])

function displayKind(attributes: SpanAttributes): DisplayKind {
  const name = attributes.text('.span.kind')
  const own = OWN_KINDS.find(kind => kind === name)
  if (own !== undefined) return own
  const operation = FOREIGN_KINDS.get(attributes.text('gen_ai.operation.name'))
  return operation ?? FOREIGN_KINDS.get(attributes.text('openinference.span.kind')) ?? 'other'
}
