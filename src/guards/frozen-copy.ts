const DEPTH_LIMIT = 100

/**
 * Copies and freezes plain data, so that the value that was judged or shown to the user is the one that runs. Other objects
 * (class instances, streams) are kept by reference.
 */
export function frozenCopy<Value>(value: Value): Value {
  return copied(value, same, Object.freeze) as Value
}

export function plainCopy<Value>(value: Value): Value {
  return copied(value, same) as Value
}

/**
 * Copies plain data.
 *
 * @param leaf returns the copy of a value that is not plain data, whose nearest key is `key`
 */
export function copied(
  value: unknown,
  leaf: (value: unknown, key: string) => unknown,
  finish: (copy: object) => object = same,
): unknown {
  const copies = new Map<object, unknown>()
  const copyOf = (each: unknown, key: string, depth: number): unknown => {
    if (!Array.isArray(each) && !isPlain(each)) return leaf(each, key)
    if (depth > DEPTH_LIMIT) return each
    const known = copies.get(each)
    if (known !== undefined) return known
    if (Array.isArray(each)) {
      const list: unknown[] = []
      copies.set(each, list)
      // By index, as code that uses the value reads it: a list may have an iterator of its own.
      for (let at = 0; at < each.length; at++) list.push(copyOf(each[at], key, depth + 1))
      return finish(list)
    }
    const copy: Record<string, unknown> = {}
    copies.set(each, copy)
    for (const name of Object.keys(each)) {
      const value = copyOf(each[name], name, depth + 1)
      // An own `__proto__` of an argument is data and must not set the prototype.
      if (name === '__proto__')
        Object.defineProperty(copy, name, { value, enumerable: true, writable: true, configurable: true })
      else copy[name] = value
    }
    return finish(copy)
  }
  return copyOf(value, '', 0)
}

function same<Value>(value: Value): Value {
  return value
}

/** Returns true for an object literal, also of another realm: its prototype ends the chain. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
