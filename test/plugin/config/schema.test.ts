import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { KEY_NAMES } from '../../../src/plugin/config/keys.ts'
import { blocks, PAGES, read } from '../../support/pages.ts'
import { messages, resolved } from './scratch-home.ts'

type Schema = Record<string, unknown>

const SCHEMA = JSON.parse(readFileSync(new URL('../../../docs/config.schema.json', import.meta.url), 'utf8')) as Schema

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: value => value === null,
  boolean: value => typeof value === 'boolean',
  string: value => typeof value === 'string',
  number: value => typeof value === 'number',
  integer: value => Number.isInteger(value),
  array: Array.isArray,
  object: value => typeof value === 'object' && value !== null && !Array.isArray(value),
}

const entriesOf = (value: unknown): [string, unknown][] =>
  TYPES['object']?.(value) ? Object.entries(value as object) : []

/** The keywords of draft 7 that the schema uses; another one fails. */
const KEYWORDS: Readonly<Record<string, (given: never, value: unknown, schema: Schema) => boolean>> = {
  type: (types: string | string[], value) => [types].flat().some(type => TYPES[type]?.(value)),
  const: (wanted: unknown, value) => value === wanted,
  enum: (words: unknown[], value) => words.includes(value),
  pattern: (pattern: string, value) => typeof value !== 'string' || new RegExp(pattern).test(value),
  minimum: (least: number, value) => typeof value !== 'number' || value >= least,
  maximum: (most: number, value) => typeof value !== 'number' || value <= most,
  items: (schema: Schema, value) => !Array.isArray(value) || value.every(item => accepts(schema, item)),
  anyOf: (schemas: Schema[], value) => schemas.some(schema => accepts(schema, value)),
  allOf: (schemas: Schema[], value) => schemas.every(schema => accepts(schema, value)),
  required: (names: string[], value) => names.every(name => entriesOf(value).some(([key]) => key === name)),
  properties: (schemas: Record<string, Schema>, value) =>
    entriesOf(value).every(([name, each]) => accepts(schemas[name] ?? {}, each)),
  patternProperties: (schemas: Record<string, Schema>, value) =>
    entriesOf(value).every(([name, each]) =>
      Object.entries(schemas).every(([pattern, schema]) => !new RegExp(pattern).test(name) || accepts(schema, each)),
    ),
  additionalProperties: (rest: Schema | false, value, { properties = {}, patternProperties = {} }) =>
    entriesOf(value).every(([name, each]) => {
      const isNamed = Object.hasOwn(properties as object, name)
      const isMatched = Object.keys(patternProperties as object).some(pattern => new RegExp(pattern).test(name))
      return isNamed || isMatched || (rest !== false && accepts(rest, each))
    }),
  $ref: (path: string, value) => {
    const schema = (SCHEMA['definitions'] as Record<string, Schema>)[path.replace('#/definitions/', '')]
    return accepts(schema as Schema, value)
  },
}

const NO_RULES = ['$schema', '$id', 'title', 'description', 'definitions']

function accepts(schema: Schema, value: unknown): boolean {
  return Object.entries(schema).every(([keyword, given]) => {
    if (NO_RULES.includes(keyword)) return true
    const rule = KEYWORDS[keyword]
    if (rule === undefined) throw new Error(`the test does not know ${keyword}`)
    return rule(given as never, value, schema)
  })
}

/** The configurations of the documentation: blocks of YAML with our keys. Hermes has a key `hooks`, too. */
const EXAMPLES = PAGES.filter(path => path !== 'docs/agents/hermes.md').flatMap(path =>
  blocks(read(path), 'yaml').flatMap(yaml => {
    const keys = entriesOf(parse(yaml)).map(([key]) => key)
    return keys.length > 0 && keys.every(key => KEY_NAMES.some(name => name === key)) ? [{ path, yaml }] : []
  }),
)

describe('docs/config.schema.json', () => {
  test('has every key', () => {
    expect(Object.keys(SCHEMA['properties'] as object)).toEqual(KEY_NAMES)
    expect(EXAMPLES.length).toBeGreaterThan(10)
  })

  test.each(EXAMPLES)('accepts the example of $path:\n$yaml', ({ yaml }) => {
    expect(accepts(SCHEMA, parse(yaml))).toBe(true)
  })

  test.each([
    'backends: console,phoenix=http://127.0.0.1:6006',
    'backends: [{ type: langfuse }]',
    'backends: [{ type: datadog, api_key_env: DD_API_KEY }]',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the file inserts a variable
    'sample_rate: ${RATE:-0.5}',
    'content_capture:',
    'redact: false',
  ])('accepts %s', yaml => {
    expect(accepts(SCHEMA, parse(yaml))).toBe(true)
  })

  test.each([
    'sampel_rate: 0.5',
    'content_captrue: off',
    'content_capture: of',
    'sample_rate: 7',
    'root_span_ttl_ms: soon',
    'backends: [jeager]',
    'backends: [{ type: jeager }]',
    'backends: [{ type: phoenix, api_ky: x }]',
    'backends: [{ type: openobserve }]',
    'backends: [{ endpoint: http://127.0.0.1:4318 }]',
    'backends: [{ type: otlp, protocol: thrift }]',
    'keep: { eror: true }',
    'prices: { my-model: { inptu: 1 } }',
    'hooks: { global: /x }',
  ])('rejects %s, of which hookspan config reports a problem', yaml => {
    expect(accepts(SCHEMA, parse(yaml))).toBe(false)
    const { problems } = resolved({ yaml: `${yaml}\n` })
    // The plan of the backend, not the configuration, finds a missing field.
    if (!yaml.includes('type: openobserve }')) expect(messages({ problems } as never)).not.toEqual([])
  })
})
