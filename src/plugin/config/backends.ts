import { isAbsolute } from 'node:path'
import type { BackendConfig, BackendType } from '../../delivery/backends/backend-config.ts'
import { parseHttpUrl } from '../../delivery/backends/http-url.ts'
import { BACKEND_TYPES, BACKENDS, isBackendType } from '../../delivery/backends/rows.ts'
import { suggestion } from './nearest.ts'
import { expandHome, variable } from './paths.ts'
import { emptyMap, isBlank, isPlainMap, type Plain, type PlainMap, Unusable } from './plain.ts'
import { accept, quote, type ReadResult, refuse, report, type Site, showName, within } from './reading.ts'
import { isScalar, readBool, readHeaders, readMillis, readText, readWord, splitText } from './values.ts'

export function ownFields(type: BackendType): readonly string[] {
  return Object.keys(BACKENDS[type].options)
}

const OPTIONS = BACKEND_TYPES.flatMap(type => Object.entries(BACKENDS[type].options))

/** True if the value of a type's own field may be shown. Unknown fields may hold credentials. */
export function isShownField(name: string): boolean {
  const rows = OPTIONS.filter(([key]) => key === name)
  return rows.length > 0 && rows.every(([, { secret }]) => !secret)
}

export const BACKEND_FIELDS = {
  type: 'One of the types below; the only required field',
  name: 'Name in messages and statistics; default: the type',
  endpoint: 'http(s) URL: base, or the full URL of a signal; default: by type',
  exact_endpoint: 'Use the endpoint as it is; default: append `/v1/traces`, `/v1/metrics` or `/v1/logs` if missing',
  headers: 'Mapping of HTTP headers; they override those of the type',
  headers_command: 'Program that prints headers which [expire](#credentials-that-expire), and its arguments, as a list',
  protocol: '`http/json`, `http/protobuf` or `grpc`; default: by type',
  compression: '`gzip` or `none`',
  timeout_ms: 'Time limit of a request, retries included; default: `span_batch_export_timeout_ms`',
  traces: 'Send traces; default: if the type accepts them',
  metrics: 'Send metrics; default: if the type accepts them',
  logs: 'Send [log events](opentelemetry.md#log-events); default: no',
  temporality: 'Metric temporality: `cumulative`, `delta` or `lowmemory`; default: by type',
  certificate: 'Path of a PEM file with the certificate authorities to trust',
  client_certificate: 'Path of a PEM file with the client certificate (mTLS) and its intermediates',
  client_key: 'Path of a PEM file with the key of that certificate, without a passphrase',
} as const

interface BackendEndpoint {
  readonly url: string
  readonly authorization?: string
}

const EXPECTED = 'an http:// or https:// URL'

/** Reads a URL, and moves its credentials to a header. Otherwise they would end up in logs and error messages. */
export function readEndpoint(value: Plain): ReadResult<BackendEndpoint> {
  const text = typeof value === 'string' ? value.trim() : undefined
  if (text === undefined) return refuse(value, EXPECTED)
  const url = parseHttpUrl(text)
  if (!url) return { reason: `expected ${EXPECTED}, got ${shownEndpoint(text)}` }
  if (url.username === '' && url.password === '') return { value: { url: text } }
  const credentials = Buffer.from(`${decodePercent(url.username)}:${decodePercent(url.password)}`)
  url.username = ''
  url.password = ''
  return { value: { url: url.href, authorization: `Basic ${credentials.toString('base64')}` } }
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

// Only the most common mistake and the scheme are shown as they are. Any other text may be a misplaced secret.
function shownEndpoint(text: string): string {
  if (/^[a-z0-9.-]{1,60}:\d{2,5}(\/[a-z0-9/_.-]{0,40})?$/i.test(text)) return quote(text)
  const scheme = /^(?:[a-z]{2,10}:\/{1,2}|https?\/\/)/i.exec(text)?.[0]
  if (scheme === undefined) return 'other text'
  return /^https?:\/\//i.test(scheme) ? 'one whose host or port is invalid' : `text that begins with ${quote(scheme)}`
}

const MAX_TYPE_LENGTH = Math.max(...BACKEND_TYPES.map(name => name.length))
const WORD = /^[\w -]*$/
/** Each backend has a queue, connections and a place in the log. */
const MAX_BACKENDS = 32
const LEFT_OUT = 'leaving this backend out'

const PLACES = new WeakMap<BackendConfig, string>()

/** The origin of a backend that `readBackends` returned: `config.yaml line 7`. */
export function placeOfBackend(backend: BackendConfig): string | undefined {
  return PLACES.get(backend)
}

/**
 * Reads a list of backends, each a mapping or short text (`backendFromText`). An unusable backend is reported and left out. A
 * wrong address must not fall back to the default one: the user did not ask to send there.
 */
export function readBackends(value: Plain, site: Site): ReadResult<readonly BackendConfig[]> {
  const elements = typeof value === 'string' ? splitText(value, ',') : isPlainMap(value) ? [value] : value
  if (!Array.isArray(elements)) return refuse(value, 'a list of backends', true)
  if (elements.length > MAX_BACKENDS) report(site, `there are ${elements.length}`, `using the first ${MAX_BACKENDS}`)
  const backends: BackendConfig[] = []
  for (const [index, element] of elements.slice(0, MAX_BACKENDS).entries()) {
    const elementSite = within(site, index)
    const read = readBackend(element, elementSite)
    if (!read) continue
    const backend = { ...read, name: uniqueName(read.name, backends) }
    backends.push(backend)
    PLACES.set(backend, elementSite.place(elementSite.path))
  }
  return { value: backends }
}

/**
 * Parses the short form: `console`, `file=/tmp/spans.jsonl`, `phoenix=http://127.0.0.1:6006`, or an address alone for `otlp`.
 */
function backendFromText(text: string): PlainMap {
  const backend = emptyMap<Plain>()
  const [, type, target] = /^([^=:]*)=(.*)$/.exec(text) ?? []
  const isAddress = /^https?:/i.test(text)
  backend['type'] = isAddress ? 'otlp' : (type ?? text).trim()
  const place = backend['type'] === 'file' ? 'path' : 'endpoint'
  backend[place] = isAddress ? text : target?.trim()
  return backend
}

function readBackend(element: Plain, site: Site): BackendConfig | undefined {
  const map = typeof element === 'string' ? backendFromText(element.trim()) : element
  if (!isPlainMap(map)) {
    report(site, refuse(element, 'a backend', true).reason, LEFT_OUT)
    return undefined
  }
  const fields = collectFields(map, site)
  const type = readType(fields['type'], site)
  if (type === undefined) return undefined
  warnUnknownFields(fields, type)
  addVendorVariables(fields, type, site)
  const endpoint = readAddress(fields['endpoint'])
  const options = readOptions(fields)
  if (endpoint === 'unusable' || options === 'unusable') return undefined
  const preferences = readPreferences(fields)
  if (endpoint && fields['endpoint']) warnAboutPort(endpoint, preferences.protocol, type, fields['endpoint'].site)
  const authorization = options.address?.authorization ?? endpoint?.authorization
  const given = fields['headers']
  const headers = given && accept(readHeaders(given.value, given.site), given.site, 'leaving them out')
  return {
    type,
    name: readName(fields['name'], type),
    ...(endpoint && { endpoint: endpoint.url }),
    headers: { ...(authorization !== undefined && { authorization }), ...headers },
    ...preferences,
    options: options.values,
  }
}

function readType(field: Field | undefined, site: Site): BackendType | undefined {
  if (!field) {
    report(site, 'there is no type', LEFT_OUT)
    return undefined
  }
  const word = typeof field.value === 'string' ? field.value.trim().toLowerCase() : ''
  if (isBackendType(word)) return word
  const meant = suggestion(word, BACKEND_TYPES)
  const expected = meant ? 'a type of backend' : `one of ${BACKEND_TYPES.join(', ')}`
  // A value longer than any type, or with other characters, may be a misplaced secret.
  const { reason } = refuse(field.value, expected, !meant && !(word.length <= MAX_TYPE_LENGTH && WORD.test(word)))
  report(field.site, reason, meant ? `${meant} Leaving this backend out` : LEFT_OUT)
  return undefined
}

function warnUnknownFields(fields: Fields, type: BackendType): void {
  const known: readonly string[] = [...Object.keys(BACKEND_FIELDS), ...ownFields(type)]
  for (const [name, field] of Object.entries(fields)) {
    if (known.includes(name)) continue
    report(field.site, `${type} has no such field`, () => suggestion(name, known), 'warning')
  }
}

function addVendorVariables(fields: Fields, type: BackendType, site: Site): void {
  for (const [field, { variables = [] }] of Object.entries(BACKENDS[type].options)) {
    const name = fields[field] ? undefined : variables.find(each => variable(site.env, each) !== undefined)
    if (name !== undefined)
      fields[field] = { value: variable(site.env, name) ?? '', site: { ...site, place: () => name } }
  }
}

function readAddress(field: Field | undefined): BackendEndpoint | 'unusable' | undefined {
  if (!field) return undefined
  return accept(readEndpoint(field.value), field.site, LEFT_OUT) ?? 'unusable'
}

function warnAboutPort({ url }: BackendEndpoint, protocol: BackendConfig['protocol'], type: BackendType, site: Site) {
  const { port } = new URL(url)
  const remedy = BACKENDS[type].grpcEndpoint
    ? 'set protocol: grpc, or use the port of OTLP over HTTP, usually 4318'
    : 'OTLP over HTTP is usually on port 4318'
  if (port === '4317' && protocol !== 'grpc') report(site, `port 4317 is usually gRPC; ${remedy}`, undefined, 'warning')
  if (port === '4318' && protocol === 'grpc')
    report(site, 'port 4318 is usually OTLP over HTTP; gRPC is usually on port 4317', undefined, 'warning')
}

function readOptions(fields: Fields) {
  const values = emptyMap<string>()
  const address = readAddress(fields['base_url'])
  if (address === 'unusable') return 'unusable'
  for (const [name, { value, site }] of Object.entries(fields)) {
    if (Object.hasOwn(BACKEND_FIELDS, name)) continue
    const text = accept(isScalar(value) ? { value: String(value).trim() } : refuse(value, 'text', true), site)
    const isPath = OPTIONS.some(([key, { path }]) => key === name && path)
    if (text !== undefined) values[name] = isPath ? expandHome(text, site.home) : text
  }
  if (address) values['base_url'] = address.url
  return { values, address }
}

// A name becomes a label of metrics and part of file names.
function readName(field: Field | undefined, type: BackendType): string {
  if (!field) return type
  const name = typeof field.value === 'string' ? field.value.trim() : ''
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) return name
  report(field.site, refuse(field.value, 'letters, digits, "-", "_" and "."').reason, `using ${type}`)
  return type
}

function uniqueName(name: string, taken: readonly BackendConfig[]): string {
  const isTaken = (wanted: string): boolean => taken.some(one => one.name.toLowerCase() === wanted.toLowerCase())
  let unique = name
  for (let count = 2; isTaken(unique); count += 1) unique = `${name}-${count}`
  return unique
}

interface Field {
  readonly value: Plain
  readonly site: Site
}

type Fields = Record<string, Field>

const VARIABLE = /_env$/
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
// If the user puts the secret itself in place of a variable's name, it must not appear in a message.
const SURELY_A_NAME = /^[A-Z]+(_[A-Z0-9]+)+$/

/**
 * Collects the fields that are set, and reads every `<x>_env` into `<x>`. A field with an unset variable is present as
 * unusable. If it were absent, its default would apply, for example another address.
 */
function collectFields(backend: PlainMap, site: Site): Fields {
  const entries = Object.entries(backend).filter(([, value]) => !isBlank(value))
  const fields = emptyMap<Field>()
  for (const [name, value] of entries) {
    if (!VARIABLE.test(name)) fields[name] = { value, site: within(site, name) }
  }
  for (const [name, value] of entries) {
    if (VARIABLE.test(name)) putVariable(fields, name.replace(VARIABLE, ''), readVariable(value, within(site, name)))
  }
  return fields
}

function readVariable(value: Plain, site: Site): Field {
  if (typeof value !== 'string' || !VARIABLE_NAME.test(value.trim()))
    return { value: new Unusable('text', 'expected the name of an environment variable'), site }
  const name = value.trim()
  const which = SURELY_A_NAME.test(name) ? `the variable ${name}` : 'the variable that it names'
  return { value: variable(site.env, name) ?? new Unusable('text', `${which} is not set`), site }
}

function putVariable(fields: Record<string, Field>, name: string, read: Field): void {
  if (!fields[name]) fields[name] = read
  else if (read.value instanceof Unusable) report(read.site, refuse(read.value, '').reason, `using ${showName(name)}`)
  else {
    report(read.site, `there is ${showName(name)}, too`, 'using the variable', 'warning')
    fields[name] = read
  }
}

const PREFERENCES: { readonly [Name in keyof BackendConfig]?: (value: Plain, site: Site) => ReadResult } = {
  headers_command: readCommand,
  exact_endpoint: readBool,
  protocol: value => readWord(value, ['http/protobuf', 'http/json', 'grpc']),
  compression: value => readWord(value, ['gzip', 'none']),
  timeout_ms: value => readMillis(value, { min: 1 }),
  traces: readBool,
  metrics: readBool,
  logs: readBool,
  temporality: value => readWord(value, ['cumulative', 'delta', 'lowmemory']),
  certificate: readPath,
  client_certificate: readPath,
  client_key: readPath,
}

function readPreferences(fields: Fields): Partial<BackendConfig> {
  const preferences: Record<string, unknown> = {}
  for (const [name, read] of Object.entries(PREFERENCES)) {
    const field = fields[name]
    if (!field) continue
    const value = accept(read(field.value, field.site), field.site, 'using the default of its type')
    if (value !== undefined) preferences[name] = value
  }
  return preferences
}

/** A relative path would depend on the working directory, which belongs to the author of the repository. */
function readCommand(value: Plain, site: Site): ReadResult<readonly string[]> {
  const [program = '', ...args] = Array.isArray(value) && value.every(isScalar) ? value.map(String) : []
  const path = expandHome(program.trim(), site.home)
  const isUsable = path !== '' && (isAbsolute(path) || !/[/\\]/.test(path))
  if (!isUsable) return refuse(value, 'a list of a program, as a name or an absolute path, and its arguments', true)
  return { value: [path, ...args] }
}

function readPath(value: Plain, site: Site): ReadResult<string> {
  const reading = readText(value)
  return 'value' in reading ? { value: expandHome(reading.value, site.home) } : reading
}
