import type { Attributes, Span } from '@opentelemetry/api'
import type { SafeText } from '../content/capture.ts'
import { DISCARDED } from '../semconv/index.ts'

export type AttributeValue = SafeText | number | boolean | readonly SafeText[]

/**
 * The attributes that a row writes, in order. Absent values and names of a convention that is switched off are left
 * out, so rows need no conditionals for either; numbers that are not finite are left out, too, and those that JSON would
 * spell as integers which no reader can hold: a collector refuses the whole request for one of them.
 *
 * Two arrays and not an object: an object with computed keys costs V8 more than ten times as much to build, and again
 * to walk, which was most of what a hook cost.
 */
export class AttributeList {
  readonly names: string[] = []
  readonly values: AttributeValue[] = []

  get size(): number {
    return this.names.length
  }

  set(name: string, value: AttributeValue | undefined): this {
    if (value === undefined || name === DISCARDED) return this
    if (typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return this
    this.names.push(name)
    this.values.push(value)
    return this
  }

  /** Sets, or replaces what has the name already. */
  put(name: string, value: AttributeValue | undefined): this {
    const at = this.names.indexOf(name)
    if (at < 0 || value === undefined) return this.set(name, value)
    this.values[at] = value
    return this
  }

  get(name: string): AttributeValue | undefined {
    const at = this.names.lastIndexOf(name)
    return at < 0 ? undefined : this.values[at]
  }

  /** To a span that records; another wants none. */
  writeTo(span: Span): void {
    if (!span.isRecording()) return
    const { names, values } = this
    for (let at = 0; at < names.length; at++) span.setAttribute(names[at] as string, values[at] as string)
  }

  /** For where OpenTelemetry wants an object; the last value of a name counts. */
  toAttributes(): Attributes {
    return Object.fromEntries(this.names.map((name, at) => [name, this.values[at]])) as Attributes
  }

  addAll(others: AttributeList | undefined): this {
    if (others === undefined) return this
    for (let at = 0; at < others.names.length; at++) this.set(others.names[at] as string, others.values[at])
    return this
  }

  putAll(others: AttributeList): this {
    for (let at = 0; at < others.names.length; at++) this.put(others.names[at] as string, others.values[at])
    return this
  }
}
