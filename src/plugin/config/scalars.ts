import type { KeyRow } from './keys.ts'
import type { Plain } from './plain.ts'
import { alternatives, type Reading, refuse } from './reading.ts'

// setTimeout and setInterval treat any longer time as one millisecond.
const MAX_TIMER_MILLIS = 2_147_483_647

const WORDS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  ['on', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['off', false],
  ['0', false],
])

/** Accepts text, too: environment variables and every scalar of a file arrive as text. */
export function readBool(value: Plain): Reading<boolean> {
  const word = isScalar(value) ? WORDS.get(String(value).trim().toLowerCase()) : undefined
  return word === undefined ? refuse(value, 'true or false') : { value: word }
}

export interface NumberRange {
  readonly min?: number
  readonly max?: number
}

export function readNumber(value: Plain, range: NumberRange): Reading<number> {
  return readFigure(value, 'a number', range)
}

export function readInteger(value: Plain, range: NumberRange): Reading<number> {
  const reading = readFigure(value, 'a whole number', range)
  return 'value' in reading && !Number.isSafeInteger(reading.value)
    ? refuse(value, expectation('a whole number', range))
    : reading
}

export function readMillis(value: Plain, range: NumberRange): Reading<number> {
  const reading = readFigure(value, 'a number', range)
  const tooLong = 'value' in reading && reading.value > MAX_TIMER_MILLIS
  return tooLong ? refuse(value, `a number ≤ ${MAX_TIMER_MILLIS}`) : reading
}

function readFigure(value: Plain, noun: string, range: NumberRange): Reading<number> {
  const figure = toFigure(value)
  const fits = figure >= (range.min ?? Number.NEGATIVE_INFINITY) && figure <= (range.max ?? Number.POSITIVE_INFINITY)
  return fits ? { value: figure } : refuse(value, expectation(noun, range))
}

// NaN fits no range. Number() alone would accept '', '0x1f' and ' ' as numbers.
function toFigure(value: Plain): number {
  if (typeof value === 'number') return Number.isFinite(value) ? value : Number.NaN
  if (typeof value !== 'string') return Number.NaN
  const figure = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(value) ? Number(value) : Number.NaN
  return Number.isFinite(figure) ? figure : Number.NaN
}

function expectation(noun: string, { min, max }: NumberRange): string {
  if (min !== undefined && max !== undefined) return `${noun} from ${min} to ${max}`
  return min === undefined ? noun : `${noun} ≥ ${min}`
}

const NAMESPACE = /^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$/

export function readText(value: Plain, pattern?: KeyRow['pattern']): Reading<string> {
  if (typeof value !== 'string') return refuse(value, 'text')
  const text = value.trim()
  if (pattern === 'namespace' && !NAMESPACE.test(text)) return refuse(value, 'letters, digits, "_" and "."')
  return { value: text }
}

/** JSON has only `false` for `off`, and users write `no`. If `off` is one of the words, both mean it. */
export function readWord(value: Plain, words: readonly string[]): Reading<string> {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : undefined
  if (word !== undefined && words.includes(word)) return { value: word }
  const isOff = words.includes('off') && isScalar(value) && WORDS.get(String(word ?? value)) === false
  return isOff ? { value: 'off' } : refuse(value, alternatives(words))
}

export function isScalar(value: Plain): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}
