import type { AttributeValue } from '../../reading/attribute-value.ts'
import type { LongValue } from './api.ts'

export function textOf(value: AttributeValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export type ValueCutter = (value: AttributeValue) => LongValue

type Limits = Readonly<Record<'whole' | 'short' | 'total', number>>

/** Limits the characters of each value, and beyond `total` characters of all of them, cuts each further value to a line. */
export function valueCutter({ whole, short, total }: Limits): ValueCutter {
  let count = 0
  return value => {
    const text = textOf(value)
    const most = count < total ? whole : short
    count += Math.min(text.length, most)
    return text.length <= most ? { value } : { value: text.slice(0, most), length: text.length }
  }
}
