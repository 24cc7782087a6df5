// docs/config.schema.json, generated from the tables that the program reads: for editors that complete and check the file.
import { readFileSync } from 'node:fs'
import { BACKENDS } from '../build/delivery/backends/rows.js'
import { BACKEND_FIELDS } from '../build/plugin/config/backends.js'
import { HOOKS_FIELDS } from '../build/plugin/config/hooks.js'
import { KEEP_FIELDS } from '../build/plugin/config/keep.js'
import { KEY_NAMES, KEY_ROWS } from '../build/plugin/config/keys.js'
import { PRICE_FIELDS } from '../build/plugin/config/prices.js'

const { repository, version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const SCHEMA_FILE = 'docs/config.schema.json'

/** `${NAME}` inserts an environment variable, whatever the type. */
const VARIABLE = { type: 'string', pattern: '\\$\\{' }
const TEXT = { type: ['string', 'number', 'boolean'] }
const BOOL = { anyOf: [{ type: 'boolean' }, VARIABLE] }
const TEXTS = { anyOf: [{ type: 'array', items: TEXT }, { type: 'string' }] }
const MAP = { type: 'object', additionalProperties: TEXT }
const numberOf = ({ min, max }, type = 'number') => ({
  anyOf: [
    { type, ...(min === undefined ? {} : { minimum: min }), ...(max === undefined ? {} : { maximum: max }) },
    VARIABLE,
  ],
})
const wordOf = words => ({ anyOf: [{ enum: words }, VARIABLE] })
const AMOUNT = numberOf({ min: 0 })

const objectOf = (fields, types, rest = {}) => ({
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(fields).map(([name, description]) => [name, { description: plain(description), ...types[name] }]),
  ),
  additionalProperties: false,
  ...rest,
})

const KEEP_TYPES = {
  ...Object.fromEntries(['errors', 'denied', 'waits_count', 'hold'].map(name => [name, BOOL])),
  ...Object.fromEntries(['slower_than_ms', 'cost_over', 'tokens_over', 'max_bytes'].map(name => [name, AMOUNT])),
  tools: TEXTS,
  rate: numberOf({ min: 0, max: 1 }),
}
const HOOKS_TYPES = {
  global_dir: { type: 'string' },
  project_local: BOOL,
  time_limit_ms: numberOf({ min: 1 }),
  options: { type: 'object', additionalProperties: { type: 'object' } },
}
const PRICE_TYPES = {
  ...Object.fromEntries(Object.keys(PRICE_FIELDS).map(name => [name, AMOUNT])),
  service_tiers: { type: 'object', additionalProperties: AMOUNT },
}
const BACKEND_TYPES = {
  ...Object.fromEntries(Object.keys(BACKEND_FIELDS).map(name => [name, TEXT])),
  ...Object.fromEntries(['exact_endpoint', 'traces', 'metrics', 'logs'].map(name => [name, BOOL])),
  headers: { anyOf: [MAP, { type: 'string' }] },
  headers_command: { type: 'array', items: TEXT },
  protocol: wordOf(['http/json', 'http/protobuf', 'grpc']),
  compression: wordOf(['gzip', 'none']),
  temporality: wordOf(['cumulative', 'delta', 'lowmemory']),
  timeout_ms: numberOf({ min: 1 }),
}

const COMMON_FIELDS = Object.keys(BACKEND_FIELDS).filter(name => name !== 'type')

/** The description of a row, without the markup of the page. */
function plain(about) {
  return about.replaceAll('`', '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
}

/** Each field also as `<x>_env`. A required field without a variable of its vendor has one of both. */
function backendOf([type, { about, options }]) {
  const own = Object.fromEntries(Object.entries(options).map(([name, option]) => [name, option.about]))
  const required = Object.entries(options).filter(([, option]) => option.required && !option.variables)
  const { properties, ...rest } = objectOf(own, Object.fromEntries(Object.keys(own).map(name => [name, TEXT])))
  const common = Object.fromEntries(COMMON_FIELDS.map(name => [name, { $ref: `#/definitions/${name}` }]))
  return {
    ...rest,
    description: plain(about),
    properties: { type: { const: type }, ...common, ...properties },
    patternProperties: { [`^(${[...COMMON_FIELDS, ...Object.keys(own)].join('|')})_env$`]: { type: 'string' } },
    required: ['type'],
    ...(required.length === 0
      ? {}
      : { allOf: required.map(([name]) => ({ anyOf: [{ required: [name] }, { required: [`${name}_env`] }] })) }),
  }
}

/** `console`, `file=/tmp/spans.jsonl`, or an address; several with commas. */
const SHORT = `(?:(?:${Object.keys(BACKENDS).join('|')})(?:=[^,]*)?|https?://[^,]*)`
const SHORT_BACKEND = { type: 'string', pattern: `^${SHORT}(?:, *${SHORT})*$|\\$\\{` }
const BACKEND = { $ref: '#/definitions/backend' }
const DEFINITIONS = {
  backend: { anyOf: [SHORT_BACKEND, ...Object.entries(BACKENDS).map(backendOf)] },
  ...objectOf(BACKEND_FIELDS, BACKEND_TYPES).properties,
}

const OF_TYPE = {
  bool: () => BOOL,
  number: row => numberOf(row),
  integer: row => numberOf(row, 'integer'),
  chars: row => numberOf(row, 'integer'),
  millis: row => numberOf(row),
  text: () => TEXT,
  enum: ({ values }) => wordOf(values),
  list: ({ values }) => (values ? { anyOf: [{ type: 'array', items: { enum: values } }, { type: 'string' }] } : TEXTS),
  map: () => ({ anyOf: [MAP, { type: 'string' }] }),
  backends: () => ({ anyOf: [{ type: 'array', items: BACKEND }, BACKEND] }),
  prometheus: () => ({
    anyOf: [
      BOOL,
      objectOf(
        { host: 'Address to listen on', port: 'Port' },
        { host: TEXT, port: numberOf({ min: 0, max: 65_535 }, 'integer') },
      ),
    ],
  }),
  hooks: () => ({ anyOf: [{ type: ['boolean', 'string'] }, objectOf(HOOKS_FIELDS, HOOKS_TYPES)] }),
  prices: () => ({
    anyOf: [
      BOOL,
      { type: 'object', additionalProperties: { anyOf: [{ const: 0 }, objectOf(PRICE_FIELDS, PRICE_TYPES)] } },
    ],
  }),
  keep: () => ({ anyOf: [BOOL, objectOf(KEEP_FIELDS, KEEP_TYPES)] }),
}

/** The address at which editors find the schema of this version. */
export function schemaAddress() {
  const address = repository.url.replace(/^git\+https:\/\/github\.com\/|\.git$/g, '')
  return `https://raw.githubusercontent.com/${address}/v${version}/${SCHEMA_FILE}`
}

/** The file, ending in a line break. */
export function configSchema() {
  const properties = KEY_NAMES.map(key => {
    const row = KEY_ROWS[key]
    // A blank value means not set.
    return [key, { description: plain(row.about), anyOf: [OF_TYPE[row.type](row), { type: 'null' }] }]
  })
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: schemaAddress(),
    title: 'Configuration of hookspan',
    type: 'object',
    properties: Object.fromEntries(properties),
    additionalProperties: false,
    definitions: DEFINITIONS,
  }
  // One line for each key and each kind of backend.
  return `${JSON.stringify(schema).replace(/,(?="\w+":\{"description")|,(?=\{"type":"object","properties")/g, ',\n')}\n`
}
