import type { SpanKindName } from '../contract/index.ts'
import type { OpenSpan } from './turn.ts'

/**
 * The open spans of one turn, outermost first. Ends come in any order (parallel tools), so removal is by identity, from
 * the middle if need be: a stray end never takes somebody else off.
 */
export class ParentStack {
  readonly #spans: OpenSpan[] = []

  get size(): number {
    return this.#spans.length
  }

  push(open: OpenSpan): void {
    this.#spans.push(open)
  }

  remove(open: OpenSpan): boolean {
    const at = this.#spans.lastIndexOf(open)
    if (at < 0) return false
    this.#spans.splice(at, 1)
    return true
  }

  top(): OpenSpan | undefined {
    return this.#spans.at(-1)
  }

  bottom(): OpenSpan | undefined {
    return this.#spans[0]
  }

  /** The innermost open span of a kind. */
  innermost(kind: SpanKindName): OpenSpan | undefined {
    return this.#spans.findLast(open => open.kind === kind)
  }

  /** Those for which `matches` holds, innermost first; a copy, so that the caller may end them as it goes. */
  all(matches: (open: OpenSpan) => boolean = () => true): OpenSpan[] {
    return this.#spans.filter(matches).reverse()
  }
}
