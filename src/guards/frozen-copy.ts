const DEPTH_LIMIT = 100

type Copies = Map<object, unknown>

/**
 * Copies and freezes plain data, so that the value that was judged or shown to the user is the one that runs. Other objects
 * (class instances, streams) are kept by reference.
 */
export function frozenCopy<Value>(value: Value): Value {
  return isContainer(value) ? (copied(value, true, 0, new Map()) as Value) : value
}

export function plainCopy<Value>(value: Value): Value {
  return isContainer(value) ? (copied(value, false, 0, new Map()) as Value) : value
}

/** Returns true for an object literal, also of another realm: its prototype ends the chain. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function isContainer(value: unknown): value is Record<string, unknown> | unknown[] {
  return Array.isArray(value) || isPlain(value)
}

function copied(value: unknown, freezes: boolean, depth: number, copies: Copies): unknown {
  if (!isContainer(value) || depth > DEPTH_LIMIT) return value
  const known = copies.get(value)
  if (known !== undefined) return known
  if (Array.isArray(value)) {
    const list: unknown[] = []
    copies.set(value, list)
    for (let at = 0; at < value.length; at++) list.push(copied(value[at], freezes, depth + 1, copies))
    return freezes ? Object.freeze(list) : list
  }
  const copy: Record<string, unknown> = {}
  copies.set(value, copy)
  for (const key of Object.keys(value)) {
    const inner = copied(value[key], freezes, depth + 1, copies)
    // An own `__proto__` of an argument is data and must not set the prototype.
    if (key === '__proto__')
      Object.defineProperty(copy, key, { value: inner, enumerable: true, writable: true, configurable: true })
    else copy[key] = inner
  }
  return freezes ? Object.freeze(copy) : copy
}
