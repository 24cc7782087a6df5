import { suggestion } from './nearest.ts'
import { emptyMap, isPlainMap, type Plain, type PlainMap } from './plain.ts'
import { type Reading, refuse, report, type Site, within } from './reading.ts'
import { isScalar, readInteger, readText, readWord } from './scalars.ts'
import type { PrometheusAddress, StringMap } from './types.ts'

export interface ListRules {
  readonly values?: readonly string[]
  readonly separator?: string
  readonly private?: boolean
}

/** A list of texts, or one text with separators. An element that cannot be used is reported and left out. */
export function readList(value: Plain, rules: ListRules, site: Site): Reading<readonly string[]> {
  const elements = typeof value === 'string' ? splitText(value, rules.separator ?? ',') : value
  if (!Array.isArray(elements)) return refuse(value, 'a list', rules.private)
  const kept: string[] = []
  for (const [index, element] of elements.entries()) {
    const reading = readElement(element, rules)
    if ('value' in reading) kept.push(reading.value)
    else report(within(site, index), reading.reason, 'leaving it out')
  }
  return elements.length > 0 && kept.length === 0 ? { reason: 'nothing in the list can be used' } : { value: kept }
}

export function splitText(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map(part => part.trim())
    .filter(part => part !== '')
}

function readElement(element: Plain, rules: ListRules): Reading<string> {
  if (rules.values) return readWord(element, rules.values)
  const reading = readText(element)
  return 'value' in reading && reading.value !== '' ? reading : refuse(element, 'text', rules.private)
}

/** A mapping of names to texts, or `name=value,…`. Its values are never part of a message. */
export function readMap(value: Plain, site: Site): Reading<StringMap> {
  if (typeof value === 'string') return { value: readPairs(value, site) }
  if (!isPlainMap(value)) return refuse(value, 'a mapping of names to texts', true)
  const kept = emptyMap<string>()
  for (const [name, entry] of Object.entries(value)) {
    if (isScalar(entry)) kept[name] = String(entry)
    else if (entry !== undefined) report(within(site, name), refuse(entry, 'text', true).reason, 'leaving it out')
  }
  return { value: kept }
}

/** `name=value,…`, percent-encoded. One pair that is not well-formed costs nothing but itself. */
export function readPairs(text: string, site: Site): StringMap {
  const { pairs, faults } = parsePairs(text)
  for (const index of faults) {
    report(site, `entry ${index + 1} is not name=value, percent-encoded`, 'leaving it out', 'warning')
  }
  return pairs
}

interface Pairs {
  readonly pairs: StringMap
  /** Indexes of the entries that are not well-formed. */
  readonly faults: readonly number[]
}

/** OpenTelemetry's form of a mapping in one variable: `name=value,name=value`, names and values percent-encoded. */
export function parsePairs(text: string): Pairs {
  const pairs = emptyMap<string>()
  const faults: number[] = []
  for (const [index, entry] of text.split(',').entries()) {
    if (entry.trim() === '') continue
    const pair = parsePair(entry)
    if (pair) pairs[pair.name] = pair.value
    else faults.push(index)
  }
  return { pairs, faults }
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

/** `true`, `{host, port}`, or in one text `host:port`. Off is undefined. */
export function readPrometheus(value: Plain, site: Site): Reading<PrometheusAddress | undefined> {
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

function readAddress(host: Plain = LOOPBACK.host, port: Plain = LOOPBACK.port): Reading<PrometheusAddress> {
  const readHost = readText(host)
  if ('reason' in readHost) return readHost
  // Port 0 is any free one: for tests.
  const readPort = readInteger(port, { min: 0, max: 65_535 })
  if ('reason' in readPort) return readPort
  return { value: { host: readHost.value || LOOPBACK.host, port: readPort.value } }
}

/** A name that nobody reads is a value that is not in force: mostly a slip of the pen. */
export function warnUnknown(map: PlainMap, known: readonly string[], site: Site): void {
  for (const name of Object.keys(map)) {
    if (known.includes(name)) continue
    report(within(site, name), 'there is no such field', () => suggestion(name, known), 'warning')
  }
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
// What node:http refuses, at the first request instead of here.
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** A mapping, or `name=value,…`. Neither a name nor a value is ever part of a message. */
export function readHeaders(value: Plain, site: Site): Reading<StringMap> {
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
