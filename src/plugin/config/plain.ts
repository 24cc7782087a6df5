/** Configuration as plain data, whatever its source. Maps have no prototype: `__proto__` is an ordinary key. */
export type Plain = string | number | boolean | undefined | Unusable | readonly Plain[] | PlainMap
export interface PlainMap {
  readonly [key: string]: Plain
}

export class Unusable {
  readonly what: string
  readonly reason: string | undefined

  constructor(what: string, reason?: string) {
    this.what = what
    this.reason = reason
  }
}

export function isPlainMap(value: Plain): value is PlainMap {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof Unusable)
}

export function isBlank(value: Plain): boolean {
  return value === undefined || (typeof value === 'string' && value.trim() === '')
}

export function emptyMap<Value>(): Record<string, Value> {
  return Object.create(null) as Record<string, Value>
}

// More than real configurations need, and small enough to stop cycles and alias bombs early.
const MAX_DEPTH = 12
const MAX_NODES = 20_000

export class CopyBudget {
  #nodes = 0

  spent(depth: number): boolean {
    this.#nodes += 1
    return depth > MAX_DEPTH || this.#nodes > MAX_NODES
  }
}

/** Copies the options given in code. Never throws, and later changes to the options have no effect. */
export function plainCopy(value: unknown, depth = 0, budget: CopyBudget = new CopyBudget()): Plain {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'object') return new Unusable(`a ${typeof value}`)
  if (budget.spent(depth)) return new Unusable('something nested too deeply')
  try {
    if (Array.isArray(value)) {
      if (value.length > MAX_NODES) return new Unusable('a list that is too long')
      return Array.from(value, element => plainCopy(element, depth + 1, budget))
    }
    const prototype = Object.getPrototypeOf(value) as object | null
    // An object of another realm (a vm context, a test runner) has a root prototype that is not ours.
    const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null
    return isPlain ? copyMap(value, depth, budget) : new Unusable('an object of a class')
  } catch {
    return new Unusable('an object that cannot be read')
  }
}

function copyMap(source: object, depth: number, budget: CopyBudget): Plain {
  const keys = Object.keys(source)
  if (keys.length > MAX_NODES) return new Unusable('a mapping that is too large')
  const copy = emptyMap<Plain>()
  for (const key of keys) {
    try {
      copy[key] = plainCopy((source as Record<string, unknown>)[key], depth + 1, budget)
    } catch {
      copy[key] = new Unusable('a property that cannot be read')
    }
  }
  return copy
}
