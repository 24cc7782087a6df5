import { emptyMap } from './plain.ts'
import type { StringMap } from './types.ts'

export interface Pairs {
  readonly pairs: StringMap
  /** Indexes of the entries that are not well-formed. */
  readonly faults: readonly number[]
}

/** OpenTelemetry's form of a mapping in one variable: `name=value,name=value`, names and values percent-encoded. */
export function parsePairs(text: string): Pairs {
  const pairs = emptyMap<string>()
  const faults: number[] = []
  for (const [index, entry] of text.split(',').entries()) {
    if (entry.trim() === '') continue
    const pair = parsePair(entry)
    if (pair) pairs[pair.name] = pair.value
    else faults.push(index)
  }
  return { pairs, faults }
}

function parsePair(entry: string): { name: string; value: string } | undefined {
  const equals = entry.indexOf('=')
  if (equals < 0) return undefined
  try {
    const name = decodeURIComponent(entry.slice(0, equals).trim())
    return name === '' ? undefined : { name, value: decodeURIComponent(entry.slice(equals + 1).trim()) }
  } catch {
    // decodeURIComponent throws on a stray % or on bytes that are not UTF-8.
    return undefined
  }
}
