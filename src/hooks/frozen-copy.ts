const DEPTH_LIMIT = 100

/**
 * Plain data, copied and frozen: what was judged, or shown to a person, is what runs. What is no plain data (a class, a stream)
 * stays what it is; only its holder is frozen.
 */
export function frozenCopy<Value>(value: Value, depth = 0): Value {
  if (typeof value !== 'object' || value === null || depth > DEPTH_LIMIT) return value
  if (Array.isArray(value)) return Object.freeze(value.map(each => frozenCopy(each, depth + 1))) as Value
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const each = frozenCopy((value as Record<string, unknown>)[key], depth + 1)
    // An own `__proto__` of an argument is an argument.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: each, enumerable: true })
    else copy[key] = each
  }
  return Object.freeze(copy) as Value
}

/** Plain data, copied, for a host that changes what it is given. */
export function plainCopy<Value>(value: Value, depth = 0): Value {
  if (typeof value !== 'object' || value === null || depth > DEPTH_LIMIT) return value
  if (Array.isArray(value)) return value.map(each => plainCopy(each, depth + 1)) as Value
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plainCopy(each, depth + 1)])) as Value
}
