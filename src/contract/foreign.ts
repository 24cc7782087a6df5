/**
 * Reading values that belong to somebody else. A getter or a Proxy trap of the host can throw at any property; one bad
 * field must not cost the span its other attributes, so this file may catch (like `bounded-json.ts`).
 */

/** The property, or undefined when the value is not an object or reading it throws. */
export function peek(value: unknown, key: string | number): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  try {
    return (value as Record<string | number, unknown>)[key]
  } catch {
    return undefined
  }
}

/**
 * The property, where it is plain data of the value itself. A getter is not asked: those of some SDKs warn, or set off what
 * only their user may set off. Undefined also where a Proxy refuses.
 */
export function ownValue(value: unknown, key: string): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined
  try {
    return Object.hasOwn(value, key) ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined
  } catch {
    return undefined
  }
}

/** Text with something in it, else undefined. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}

/** Ids are kept as keys: a host that puts a document into one must not make us keep the document. */
const KEY_LIMIT = 512

/** An id as a key: text or a number; undefined where absent, blank or no id at all. */
export function idOf(value: unknown): string | undefined {
  if (typeof value === 'string') {
    if (value === '') return undefined
    return value.length > KEY_LIMIT ? value.slice(0, KEY_LIMIT) : value
  }
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined
}

/** A finite number, also out of numeric text; booleans, garbage, NaN and infinities are undefined. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'string' || value.length > 32 || value.trim() === '') return undefined
  const parsed = Number(value)
  return Number.isFinite(parsed) ? parsed : undefined
}

/** A finite number without its fraction: what is a count by its convention may not become a number with a point. */
export function wholeOf(value: unknown): number | undefined {
  const number = numberOf(value)
  return number === undefined ? undefined : Math.trunc(number)
}

/** A finite number that is above zero. */
export function positive(value: unknown): number | undefined {
  const number = numberOf(value)
  return number !== undefined && number > 0 ? number : undefined
}

export function booleanOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

/** Whether it is an array; a revoked Proxy, which even refuses to say, is none. */
export function isArray(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value)
  } catch {
    return false
  }
}

/** The names of its own properties, at most `limit`; none when the value is no object, a list, or refuses to say. */
export function keysOf(value: unknown, limit: number): readonly string[] {
  if (typeof value !== 'object' || value === null || isArray(value)) return []
  try {
    return Object.keys(value).slice(0, limit)
  } catch {
    return []
  }
}

/** Calls for each field of an object until it is told to stop; what throws on the way stops it, too. */
export function eachField(holder: object, visit: (name: string) => boolean): void {
  try {
    for (const name in holder) if (!visit(name)) return
  } catch {
    // The rest cannot be read.
  }
}

/** The first `limit` elements, or the last; none when the value is not an array. */
export function elementsOf(value: unknown, limit: number, which: 'first' | 'last' = 'first'): readonly unknown[] {
  if (!isArray(value)) return []
  const length = numberOf(peek(value, 'length')) ?? 0
  const from = which === 'first' ? 0 : Math.max(0, length - limit)
  const elements: unknown[] = []
  for (let at = from; at < length && elements.length < limit; at++) elements.push(peek(value, at))
  return elements
}

/** What was thrown, as `a TypeError`; not what it says, for a message can quote anything. */
export function kindOf(error: unknown): string {
  const name = textOf(peek(error, 'name'))
  return name !== undefined && /^\w{1,60}$/.test(name) ? `a ${name}` : 'something that is no error'
}

/** Whether a callback has answered with a promise; then, should it reject, that ends nobody's process. */
export function isPromise(answer: unknown): boolean {
  if (typeof peek(answer, 'then') !== 'function') return false
  Promise.resolve(answer).catch(() => undefined)
  return true
}
