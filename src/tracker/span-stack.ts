import { peek, textOf } from '../contract/foreign.ts'
import type { SpanKindName } from '../contract/index.ts'

interface OpenSpan {
  readonly kind: SpanKindName
  readonly slot: string
  readonly start: unknown
}

interface StackNode<Open> {
  readonly open: Open
  outer: StackNode<Open> | undefined
  inner: StackNode<Open> | undefined
  outerOfKind: StackNode<Open> | undefined
  innerOfKind: StackNode<Open> | undefined
}

/**
 * The open spans of one turn, outermost first. Spans end in any order (parallel tools), so removal is by identity, also
 * from the middle. A stray end never removes another span.
 *
 * Linked, because thousands may be open at once and each start looks up the innermost of a kind. Only `all` visits more
 * spans than it returns.
 */
export class SpanStack<Open extends OpenSpan> {
  readonly #places = new Map<Open, StackNode<Open>>()
  readonly #bySlot = new Map<string, Open>()
  /** Tools without a distinguishing id share a slot. This holds all but the first. */
  readonly #queued = new Map<string, Set<Open>>()
  readonly #innermost = new Map<SpanKindName, StackNode<Open>>()
  #first: StackNode<Open> | undefined
  #last: StackNode<Open> | undefined
  #namedTools: { readonly names: ReadonlySet<string>; readonly open: Set<Open> } | undefined

  get size(): number {
    return this.#places.size
  }

  /** The open span in a slot. If several share it, the one that started first. */
  find(slot: string): Open | undefined {
    return this.#bySlot.get(slot)
  }

  push(open: Open): void {
    const outer = this.#last
    const outerOfKind = this.#innermost.get(open.kind)
    const place: StackNode<Open> = { open, outer, inner: undefined, outerOfKind, innerOfKind: undefined }
    if (outer === undefined) this.#first = place
    else outer.inner = place
    if (outerOfKind !== undefined) outerOfKind.innerOfKind = place
    this.#last = place
    this.#innermost.set(open.kind, place)
    this.#places.set(open, place)
    if (!this.#bySlot.has(open.slot)) this.#bySlot.set(open.slot, open)
    else this.#queued.set(open.slot, (this.#queued.get(open.slot) ?? new Set()).add(open))
    if (this.#namedTools !== undefined && isToolNamed(open, this.#namedTools.names)) this.#namedTools.open.add(open)
  }

  remove(open: Open): boolean {
    const place = this.#places.get(open)
    if (place === undefined) return false
    this.#places.delete(open)
    this.#namedTools?.open.delete(open)
    const { outer, inner, outerOfKind, innerOfKind } = place
    if (outer === undefined) this.#first = inner
    else outer.inner = inner
    if (inner === undefined) this.#last = outer
    else inner.outer = outer
    if (outerOfKind !== undefined) outerOfKind.innerOfKind = innerOfKind
    if (innerOfKind !== undefined) innerOfKind.outerOfKind = outerOfKind
    else if (outerOfKind !== undefined) this.#innermost.set(open.kind, outerOfKind)
    else this.#innermost.delete(open.kind)
    const queue = this.#queued.get(open.slot)
    if (this.#bySlot.get(open.slot) !== open) {
      queue?.delete(open)
      return true
    }
    const next = queue?.values().next().value
    if (next === undefined) this.#bySlot.delete(open.slot)
    else this.#bySlot.set(open.slot, next)
    if (next === undefined || !queue?.delete(next) || queue.size === 0) this.#queued.delete(open.slot)
    return true
  }

  outermostBut(one: Open | undefined): Open | undefined {
    const place = this.#first?.open === one ? this.#first?.inner : this.#first
    return place?.open
  }

  innermost(kind: SpanKindName): Open | undefined {
    return this.#innermost.get(kind)?.open
  }

  onlyToolNamed(names: ReadonlySet<string>): Open | undefined {
    if (this.#namedTools?.names !== names)
      this.#namedTools = { names, open: new Set(this.all(open => isToolNamed(open, names))) }
    const { open } = this.#namedTools
    return open.size === 1 ? open.values().next().value : undefined
  }

  some(matches: (open: Open) => boolean): boolean {
    for (let place = this.#last; place !== undefined; place = place.outer) if (matches(place.open)) return true
    return false
  }

  /** All matching spans, innermost first. A copy, so that the caller may end them while iterating. */
  all(matches: (open: Open) => boolean = () => true): Open[] {
    const found: Open[] = []
    for (let place = this.#last; place !== undefined; place = place.outer)
      if (matches(place.open)) found.push(place.open)
    return found
  }
}

function isToolNamed({ kind, start }: OpenSpan, names: ReadonlySet<string>): boolean {
  const name = kind === 'tool' ? textOf(peek(start, 'tool_name')) : undefined
  return name !== undefined && names.has(name.toLowerCase())
}
