/**
 * Reads values that belong to the host. A getter or a Proxy trap can throw at any property. One bad field must not cost
 * the span its other attributes, so this file may catch (like `bounded-json.ts`).
 */

/** The property, or undefined if the value is not an object or reading it throws. */
export function peek(value: unknown, key: string | number): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  try {
    return (value as Record<string | number, unknown>)[key]
  } catch {
    return undefined
  }
}

/**
 * The property, if it is plain data of the value itself. Getters are not called: those of some SDKs warn or have side
 * effects that only their user may cause. Undefined also if a Proxy refuses.
 */
export function ownValue(value: unknown, key: string): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined
  try {
    return Object.hasOwn(value, key) ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined
  } catch {
    return undefined
  }
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}

/** Ids are kept as keys. If a host puts a document into one, only the beginning is kept. */
const KEY_LIMIT = 512

/** An id as a key: text or a number. Undefined if absent, blank or of another type. */
export function idOf(value: unknown): string | undefined {
  if (typeof value === 'string') {
    if (value === '') return undefined
    return value.length > KEY_LIMIT ? value.slice(0, KEY_LIMIT) : value
  }
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined
}

/** A finite number, also from numeric text; undefined for booleans, other text, NaN and infinities. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'string' || value.length > 32 || value.trim() === '') return undefined
  const parsed = Number(value)
  return Number.isFinite(parsed) ? parsed : undefined
}

/** A finite number without its fraction: a convention's count must not become a float. */
export function wholeOf(value: unknown): number | undefined {
  const number = numberOf(value)
  return number === undefined ? undefined : Math.trunc(number)
}

export function positive(value: unknown): number | undefined {
  const number = numberOf(value)
  return number !== undefined && number > 0 ? number : undefined
}

/** 1973 to 2100. A value outside is not epoch milliseconds, but seconds or garbage. */
const EARLIEST = 1e11
const LATEST = 4.1e12

export function plausibleAt(at: unknown): number | undefined {
  return typeof at === 'number' && at > EARLIEST && at < LATEST ? at : undefined
}

export function booleanOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Like `Array.isArray`, but returns false for a revoked Proxy, on which that throws. */
export function isArray(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value)
  } catch {
    return false
  }
}

/** The names of its own properties, at most `limit`. None if the value is not an object, is a list, or throws. */
export function keysOf(value: unknown, limit: number): readonly string[] {
  if (typeof value !== 'object' || value === null || isArray(value)) return []
  try {
    return Object.keys(value).slice(0, limit)
  } catch {
    return []
  }
}

/** The first of these fields that is a text, and not blank. */
export function firstText(holder: unknown, keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const text = textOf(peek(holder, key))
    if (text !== undefined) return text
  }
  return undefined
}

/** Calls `visit` for each field until it returns false. An error on the way stops it, too. */
export function eachField(holder: object, visit: (name: string) => boolean): void {
  try {
    for (const name in holder) if (!visit(name)) return
  } catch {
    // The remaining fields cannot be read.
  }
}

/** The first `limit` elements, or the last; none if the value is not an array. The limit guards against hostile input. */
export function elementsOf(value: unknown, limit = 1000, which: 'first' | 'last' = 'first'): readonly unknown[] {
  if (!isArray(value)) return []
  const length = numberOf(peek(value, 'length')) ?? 0
  const from = which === 'first' ? 0 : Math.max(0, length - limit)
  const elements: unknown[] = []
  for (let at = from; at < length && elements.length < limit; at++) elements.push(peek(value, at))
  return elements
}

/** The type of a thrown value, such as `a TypeError`. The message is left out, because it can quote anything. */
export function kindOf(error: unknown): string {
  const name = textOf(peek(error, 'name'))
  return name !== undefined && /^\w{1,60}$/.test(name) ? `a ${name}` : 'something that is no error'
}

/** Returns true if a callback returned a promise. Also handles its rejection, so that it does not end the process. */
export function isPromise(answer: unknown): boolean {
  if (typeof peek(answer, 'then') !== 'function') return false
  Promise.resolve(answer).catch(() => undefined)
  return true
}

/** Copies the fields that have a value. They need not be enumerable. */
export function pickFields(value: unknown, fields: readonly string[]): Record<string, unknown> {
  const entries = fields.map(name => [name, peek(value, name)] as const)
  return Object.fromEntries(entries.filter(([, field]) => field !== undefined))
}

/** Undefined if `run` throws. For code of others, and for work whose failure must not affect anything else. */
export function ignoreErrors<Value>(run: () => Value): Value | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}
