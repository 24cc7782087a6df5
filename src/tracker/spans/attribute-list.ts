import type { Attributes, Span } from '@opentelemetry/api'
import type { CapturedContent, SafeText } from '../../content/safe-text.ts'
import type { SpanFact } from '../../contract/semconv/index.ts'

/** A span of our own pipeline, which accepts all attributes at once. */
interface ListSpan extends Span {
  setAttributeLists(names: readonly string[], values: readonly unknown[]): void
}

export type SpanAttributeValue = SafeText | number | boolean | readonly SafeText[]

/**
 * The attributes of a span, in order. Drops absent values, and a fact without an enabled convention has no name, so that
 * definitions need no conditionals. Also drops numbers that are not finite, and those that JSON would write as unsafe integers: a
 * collector rejects the whole request for one of them.
 *
 * Two arrays and not an object. An object with computed keys costs V8 more than ten times as much to build, and again
 * to iterate. That was most of the cost of a hook.
 */
export class AttributeList {
  readonly names: string[] = []
  readonly values: SpanAttributeValue[] = []

  get size(): number {
    return this.names.length
  }

  set(fact: SpanFact, value: SpanAttributeValue | undefined): this {
    if (value !== undefined) for (let at = 0; at < fact.length; at++) this.setNamed(fact[at] as string, value)
    return this
  }

  /** Sets an attribute that is no fact of hookspan's, such as a custom one. */
  setNamed(name: string, value: SpanAttributeValue | undefined): this {
    if (value === undefined || name === '') return this
    if (typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return this
    this.names.push(name)
    this.values.push(value)
    return this
  }

  setContent(text: SpanFact, type: SpanFact, truncated: SpanFact, content: CapturedContent | undefined): this {
    if (content === undefined) return this
    return this.set(text, content.text)
      .set(type, content.mimeType)
      .set(truncated, content.truncated || undefined)
  }

  put(name: string, value: SpanAttributeValue | undefined): this {
    const at = this.names.indexOf(name)
    if (at < 0 || value === undefined) return this.setNamed(name, value)
    this.values[at] = value
    return this
  }

  get(name: string): SpanAttributeValue | undefined {
    const at = this.names.lastIndexOf(name)
    return at < 0 ? undefined : this.values[at]
  }

  writeTo(span: Span): void {
    if (!span.isRecording()) return
    const { names, values } = this
    if ('setAttributeLists' in span) (span as ListSpan).setAttributeLists(names, values)
    else for (let at = 0; at < names.length; at++) span.setAttribute(names[at] as string, values[at] as string)
  }

  /** Used for OpenTelemetry APIs that require an object. The last value of a name wins. */
  toAttributes(): Attributes {
    return Object.fromEntries(this.names.map((name, at) => [name, this.values[at]])) as Attributes
  }

  addAll(others: AttributeList | undefined): this {
    if (others === undefined) return this
    for (let at = 0; at < others.names.length; at++) this.setNamed(others.names[at] as string, others.values[at])
    return this
  }

  putAll(others: AttributeList): this {
    for (let at = 0; at < others.names.length; at++) this.put(others.names[at] as string, others.values[at])
    return this
  }
}
