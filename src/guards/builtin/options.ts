import type { Hook } from '../hook.ts'

export interface Allowed {
  readonly means: string
  is(value: unknown): boolean
}

/** Options common to all ready-made hooks. */
export interface BuiltinOptions extends Pick<Hook, 'priority' | 'onFailure'> {
  /** Default: the name of the hook. Two of a kind need two names. */
  readonly name?: string | undefined
}

export const COUNT: Allowed = {
  means: 'a whole number above 0',
  is: value => Number.isSafeInteger(value) && (value as number) > 0,
}
export const AMOUNT: Allowed = { means: 'a number above 0', is: value => isNumber(value) && value > 0 }
export const MILLIS: Allowed = {
  means: 'a number of milliseconds, 0 or more',
  is: value => isNumber(value) && value >= 0,
}
export const SWITCH: Allowed = { means: 'true or false', is: value => typeof value === 'boolean' }
export const TEXT: Allowed = { means: 'a text', is: value => typeof value === 'string' && value.trim() !== '' }
export const FUNCTION: Allowed = { means: 'a function', is: value => typeof value === 'function' }
export const OBJECT: Allowed = { means: 'an object', is: value => typeof value === 'object' && value !== null }
export const TEXTS: Allowed = { means: 'a list of texts', is: value => Array.isArray(value) && value.every(TEXT.is) }

export function oneOf(words: readonly string[]): Allowed {
  return { means: words.map(word => `"${word}"`).join(' or '), is: value => words.includes(value as string) }
}

export function listOf(words: readonly string[]): Allowed {
  const means = `a list of ${words.map(word => `"${word}"`).join(', ')}`
  return { means, is: value => Array.isArray(value) && value.every(each => words.includes(each)) }
}

const COMMON_OPTIONS: { readonly [K in keyof BuiltinOptions]-?: Allowed } = {
  name: TEXT,
  priority: { means: 'a number', is: isNumber },
  onFailure: oneOf(['pass', 'block']),
}

/**
 * Validates options when a hook is created, so that a mistake is found before a tool runs.
 *
 * @param maker the function that was called
 * @throws {TypeError} one line, if an option is unknown or wrong
 */
export function checkOptions(maker: string, given: object, allowed: Readonly<Record<string, Allowed>>): void {
  checkKeys(maker, given, { ...allowed, ...COMMON_OPTIONS })
}

/** The common properties of a hook: from its options, or else their defaults. */
export function propertiesOf(
  options: BuiltinOptions,
  name: string,
  priority: number,
  onFailure: 'pass' | 'block',
): { readonly name: string; readonly priority: number; readonly onFailure: 'pass' | 'block' } {
  return {
    name: options.name ?? name,
    priority: options.priority ?? priority,
    onFailure: options.onFailure ?? onFailure,
  }
}

export function checkKeys(where: string, given: unknown, allowed: Readonly<Record<string, Allowed>>): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new TypeError(`${where}: options are an object`)
  for (const [key, value] of Object.entries(given)) {
    const rule = Object.hasOwn(allowed, key) ? allowed[key] : undefined
    if (rule === undefined)
      throw new TypeError(`${where}: there is no option "${key}"; there are ${Object.keys(allowed).join(', ')}`)
    if (value !== undefined && !rule.is(value)) throw new TypeError(`${where}: ${key} is ${rule.means}`)
  }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
