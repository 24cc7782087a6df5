/**
 * The property, where it is plain data of the value itself. A getter is not asked: those of some SDKs warn, or set off what
 * only their user may set off. Undefined also where a Proxy refuses.
 */
export function ownValue(value: unknown, key: string): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined
  try {
    return Object.getOwnPropertyDescriptor(value, key)?.value
  } catch {
    return undefined
  }
}

/** `choices.0.message`: what is there, each step of it plain data. */
export function ownAt(value: unknown, path: readonly string[]): unknown {
  let at = value
  for (const key of path) at = ownValue(at, key)
  return at
}
