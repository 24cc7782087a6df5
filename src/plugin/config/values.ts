import type { PrometheusAddress, StringMap } from '../../delivery/backends/backend-config.ts'
import type { KeyRow } from './keys.ts'
import { suggestion } from './nearest.ts'
import { emptyMap, isBlank, isPlainMap, type Plain, type PlainMap } from './plain.ts'
import { accept, alternatives, type ReadResult, refuse, report, type Site, within } from './reading.ts'

// setTimeout and setInterval treat any longer time as one millisecond.
const MAX_TIMER_MILLIS = 2_147_483_647

const TRUE_WORDS = ['true', 'yes', 'on', '1']
const FALSE_WORDS = ['false', 'no', 'off', '0']

/** Accepts text, too: environment variables and every scalar of a file arrive as text. */
export function readBool(value: Plain): ReadResult<boolean> {
  const word = isScalar(value) ? String(value).trim().toLowerCase() : ''
  const isTrue = TRUE_WORDS.includes(word)
  return isTrue || FALSE_WORDS.includes(word) ? { value: isTrue } : refuse(value, 'true or false')
}

type NumberRange = Pick<KeyRow, 'min' | 'max'>

export function readNumber(value: Plain, { min, max }: NumberRange, isWhole = false): ReadResult<number> {
  const figure = toFigure(value)
  const isInside = figure >= (min ?? Number.NEGATIVE_INFINITY) && figure <= (max ?? Number.POSITIVE_INFINITY)
  if (isInside && (!isWhole || Number.isSafeInteger(figure))) return { value: figure }
  const noun = isWhole ? 'a whole number' : 'a number'
  if (min !== undefined && max !== undefined) return refuse(value, `${noun} from ${min} to ${max}`)
  return refuse(value, min === undefined ? noun : `${noun} ≥ ${min}`)
}

export function readInteger(value: Plain, range: NumberRange): ReadResult<number> {
  return readNumber(value, range, true)
}

export function readMillis(value: Plain, range: NumberRange): ReadResult<number> {
  const reading = readNumber(value, range)
  const tooLong = 'value' in reading && reading.value > MAX_TIMER_MILLIS
  return tooLong ? refuse(value, `a number ≤ ${MAX_TIMER_MILLIS}`) : reading
}

// NaN fits no range. Number() alone would accept '', '0x1f' and ' ' as numbers.
function toFigure(value: Plain): number {
  const isNumeric = typeof value === 'string' && /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(value)
  const figure = isNumeric || typeof value === 'number' ? Number(value) : Number.NaN
  return Number.isFinite(figure) ? figure : Number.NaN
}

const NAMESPACE = /^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$/

export function readText(value: Plain, pattern?: KeyRow['pattern']): ReadResult<string> {
  if (typeof value !== 'string') return refuse(value, 'text')
  const text = value.trim()
  if (pattern === 'namespace' && !NAMESPACE.test(text)) return refuse(value, 'letters, digits, "_" and "."')
  return { value: text }
}

/** JSON has only `false` for `off`, and users write `no`. If `off` is one of the words, both mean it. */
export function readWord(value: Plain, words: readonly string[]): ReadResult<string> {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : undefined
  if (word !== undefined && words.includes(word)) return { value: word }
  const isOff = words.includes('off') && isScalar(value) && FALSE_WORDS.includes(String(word ?? value))
  return isOff ? { value: 'off' } : refuse(value, alternatives(words))
}

export function isScalar(value: Plain): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

type ListRules = Pick<KeyRow, 'values' | 'separator' | 'private'>

export function readList(value: Plain, rules: ListRules, site: Site): ReadResult<readonly string[]> {
  const elements = typeof value === 'string' ? splitText(value, rules.separator ?? ',') : value
  if (!Array.isArray(elements)) return refuse(value, 'a list', rules.private)
  const kept: string[] = []
  for (const [index, element] of elements.entries()) {
    const text = accept(readElement(element, rules), within(site, index))
    if (text !== undefined) kept.push(text)
  }
  return elements.length > 0 && kept.length === 0 ? { reason: 'nothing in the list can be used' } : { value: kept }
}

export function splitText(text: string, separator: string): string[] {
  const parts = text.split(separator).map(part => part.trim())
  return parts.filter(part => part !== '')
}

function readElement(element: Plain, rules: ListRules): ReadResult<string> {
  if (rules.values) return readWord(element, rules.values)
  const reading = readText(element)
  return 'value' in reading && reading.value !== '' ? reading : refuse(element, 'text', rules.private)
}

export function readMap(value: Plain, site: Site): ReadResult<StringMap> {
  if (typeof value === 'string') return { value: readPairs(value, site) }
  if (!isPlainMap(value)) return refuse(value, 'a mapping of names to texts', true)
  const kept = emptyMap<string>()
  for (const [name, entry] of Object.entries(value)) {
    if (entry === undefined) continue
    const text = accept(isScalar(entry) ? { value: String(entry) } : refuse(entry, 'text', true), within(site, name))
    if (text !== undefined) kept[name] = text
  }
  return { value: kept }
}

/**
 * Parses OpenTelemetry's form of a mapping in one variable: `name=value,name=value`, with percent-encoded names and values.
 *
 * @param site undefined: faults are not reported
 */
export function readPairs(text: string, site?: Site): StringMap {
  const pairs = emptyMap<string>()
  for (const [index, entry] of text.split(',').entries()) {
    if (entry.trim() === '') continue
    const pair = parsePair(entry)
    if (pair) pairs[pair.name] = pair.value
    else if (site) report(site, `entry ${index + 1} is not name=value, percent-encoded`, 'leaving it out', 'warning')
  }
  return pairs
}

function parsePair(entry: string): { name: string; value: string } | undefined {
  const equals = entry.indexOf('=')
  if (equals < 0) return undefined
  try {
    const name = decodeURIComponent(entry.slice(0, equals).trim())
    return name === '' ? undefined : { name, value: decodeURIComponent(entry.slice(equals + 1).trim()) }
  } catch {
    // decodeURIComponent throws on a stray % or on bytes that are not UTF-8.
    return undefined
  }
}

const LOOPBACK: PrometheusAddress = { host: '127.0.0.1', port: 9464 }

export function readPrometheus(value: Plain, site: Site): ReadResult<PrometheusAddress | undefined> {
  if (isPlainMap(value)) {
    warnUnknown(value, ['host', 'port'], site)
    return readAddress(value['host'], value['port'])
  }
  const word = isScalar(value) ? String(value).trim().toLowerCase() : ''
  if (['true', 'yes', 'on'].includes(word)) return { value: LOOPBACK }
  if (['false', 'no', 'off'].includes(word)) return { value: undefined }
  const address = /^(?:(?<host>[a-z0-9.-]+|\[[0-9a-f:.]+\]):)?(?<port>\d{2,5})$/.exec(word)?.groups
  return address
    ? readAddress(address['host']?.replace(/[[\]]/g, ''), address['port'])
    : refuse(value, 'true, false or {host, port}')
}

function readAddress(host: Plain = LOOPBACK.host, port: Plain = LOOPBACK.port): ReadResult<PrometheusAddress> {
  const readHost = readText(host)
  if ('reason' in readHost) return readHost
  // Port 0 selects any free port, for tests.
  const readPort = readInteger(port, { min: 0, max: 65_535 })
  if ('reason' in readPort) return readPort
  return { value: { host: readHost.value || LOOPBACK.host, port: readPort.value } }
}

export type FieldReaders<Config> = {
  readonly [Name in keyof Config]?: (value: Plain, site: Site) => ReadResult<NonNullable<Config[Name]>>
}

/** Reads the fields of a mapping. Blank and unusable ones keep their default. */
export function readFields<Config extends object>(
  map: PlainMap,
  readers: FieldReaders<Config>,
  defaults: Config,
  site: Site,
): Config {
  warnUnknown(map, Object.keys(readers), site)
  const fields = { ...defaults }
  for (const name of Object.keys(readers) as (keyof Config & string)[]) {
    const inside = within(site, name)
    const reading = isBlank(map[name]) ? undefined : readers[name]?.(map[name], inside)
    fields[name] = (reading && accept(reading, inside)) ?? fields[name]
  }
  return fields
}

/** An unknown name is usually a typing error, and its value has no effect. */
export function warnUnknown(map: PlainMap, known: readonly string[], site: Site): void {
  for (const name of Object.keys(map)) {
    if (known.includes(name)) continue
    report(within(site, name), 'there is no such field', () => suggestion(name, known), 'warning')
  }
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
// The characters that node:http accepts. It would refuse others only at the first request.
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** Reads a mapping, or `name=value,…`. Neither names nor values appear in a message. */
export function readHeaders(value: Plain, site: Site): ReadResult<StringMap> {
  const entries = typeof value === 'string' ? readPairs(value, site) : value
  if (!isPlainMap(entries)) return refuse(value, 'a mapping of names to texts', true)
  const headers = emptyMap<string>()
  for (const [name, entry] of Object.entries(entries)) {
    if (entry === undefined) continue
    const fault = headerFault(name, entry)
    if (fault === undefined) headers[name.toLowerCase()] = String(entry).trim()
    else report(site, fault, 'leaving the header out')
  }
  return { value: headers }
}

function headerFault(name: string, value: Plain): string | undefined {
  if (!HEADER_NAME.test(name)) return 'the name of a header holds characters that HTTP does not allow'
  if (!isScalar(value)) return refuse(value, 'text', true).reason
  return HEADER_VALUE.test(String(value).trim()) ? undefined : 'a header holds characters that HTTP does not allow'
}
