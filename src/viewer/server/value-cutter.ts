import type { AttributeValue } from '../../reading/attribute-value.ts'
import type { LongValue } from './api.ts'

export function textOf(value: AttributeValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Limits the characters of each value, and beyond `total` characters of all of them, cuts each further value to a line. */
export class ValueCutter {
  readonly #limits: Readonly<Record<'whole' | 'short' | 'total', number>>
  #count = 0

  constructor(limits: Readonly<Record<'whole' | 'short' | 'total', number>>) {
    this.#limits = limits
  }

  cut(value: AttributeValue): LongValue {
    const text = textOf(value)
    const most = this.#count < this.#limits.total ? this.#limits.whole : this.#limits.short
    this.#count += Math.min(text.length, most)
    return text.length <= most ? { value } : { value: text.slice(0, most), length: text.length }
  }
}
