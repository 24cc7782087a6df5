import { elementsOf, isArray, keysOf, peek } from '../../contract/foreign.ts'

const LONGEST = 20_000
const PARTS_LIMIT = 1000
const DEPTH_LIMIT = 20

/**
 * Returns the name and input of a tool as one string, independent of the order of the input's fields. Long input is truncated.
 */
export function toolKey(name: unknown, input: unknown): string {
  const parts = [JSON.stringify(name) ?? '']
  let length = 0
  const put = (text: string): void => {
    length += text.length
    parts.push(text)
  }
  const write = (value: unknown, depth: number): void => {
    if (length > LONGEST || depth > DEPTH_LIMIT) return
    if (isArray(value)) {
      put('[')
      for (const one of elementsOf(value, PARTS_LIMIT)) write(one, depth + 1)
      put(']')
    } else if (typeof value === 'object' && value !== null) {
      put('{')
      for (const key of [...keysOf(value, PARTS_LIMIT)].sort()) {
        put(JSON.stringify(key))
        write(peek(value, key), depth + 1)
      }
      put('}')
    } else put(typeof value === 'string' ? JSON.stringify(value.slice(0, LONGEST)) : String(value))
  }
  write(input, 0)
  return parts.join(' ')
}
