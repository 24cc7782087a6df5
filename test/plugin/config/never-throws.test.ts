import { expect, test } from 'vitest'
import { KEY_NAMES } from '../../../src/plugin/config/keys.ts'
import type { ConfigInput } from '../../../src/plugin/config/resolve.ts'
import { resolveConfig } from '../../../src/plugin/config/resolve.ts'
import { showConfig } from '../../../src/plugin/config/show.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { put, resolved, scratchHome } from './scratch-home.ts'

const NOWHERE = { env: {}, home: '/nowhere' }

/** One line each, whatever came in: no line break or control character of somebody else's. */
function isSound(resolution: ReturnType<typeof resolveConfig>): boolean {
  showConfig(resolution)
  const valid =
    Object.keys(resolution.config).length === KEY_NAMES.length && resolution.sources.size === KEY_NAMES.length
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return valid && resolution.problems.every(({ key, message }) => !/[\u0000-\u001f]/.test(key + message))
}

test('accepts any value for any key, in code', () => {
  const code = fc.dictionary(fc.oneof(fc.constantFrom(...KEY_NAMES), fc.string()), fc.anything({ withBigInt: true }))
  fc.assert(fc.property(code, given => isSound(resolveConfig({ ...NOWHERE, code: given as object }))))
})

test('accepts any backends', () => {
  const field = fc.oneof(
    fc.constantFrom('type', 'name', 'endpoint', 'headers', 'api_key_env', 'base_url', 'traces'),
    fc.string(),
  )
  const value = fc.oneof(fc.constantFrom('otlp', 'langfuse', 'http://h'), fc.anything(), fc.webUrl())
  const backends = fc.array(fc.oneof(fc.dictionary(field, value), fc.string()))
  fc.assert(fc.property(backends, given => isSound(resolveConfig({ ...NOWHERE, code: { backends: given } as object }))))
})

test('accepts any environment', () => {
  const names = KEY_NAMES.map(key => `HOOKSPAN_${key.toUpperCase()}`)
  const otel = [
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'OTEL_EXPORTER_OTLP_HEADERS',
    'OTEL_TRACES_EXPORTER',
    'OTEL_RESOURCE_ATTRIBUTES',
  ]
  const env = fc.dictionary(fc.oneof(fc.constantFrom(...names, ...otel, 'HOOKSPAN_CONFIG'), fc.string()), fc.string())
  fc.assert(fc.property(env, given => isSound(resolveConfig({ home: '/nowhere', env: given }))))
})

test('accepts any file', () => {
  const home = scratchHome()
  const lines = fc.array(
    fc.oneof(
      fc.constantFrom(
        'backends:',
        '- type: otlp',
        '  headers:',
        '    a: ${B',
        '&a',
        '*a',
        '? x',
        '- [',
        '}',
        '%YAML 1.1',
        '---',
      ),
      fc.string(),
      fc.constantFrom(...KEY_NAMES).map(key => `${key}: {`),
    ),
  )
  fc.assert(
    fc.property(lines, given => {
      put(home, '.config/hookspan/config.yaml', given.join('\n'))
      return isSound(resolveConfig({ home, env: {} }))
    }),
    { numRuns: times(50, 200) },
  )
})

const throwing = new Proxy(
  {},
  {
    get: () => {
      throw new Error('get')
    },
    ownKeys: () => {
      throw new Error('ownKeys')
    },
    getPrototypeOf: () => {
      throw new Error('getPrototypeOf')
    },
  },
)
const cyclic: Record<string, unknown> = {}
cyclic['resource_attributes'] = cyclic
cyclic['backends'] = [cyclic]

test.each([
  undefined,
  null,
  5,
  'x',
  [],
  throwing,
  { env: throwing },
  { env: 5 },
  { home: 5, env: {} },
  { hostName: {}, env: {} },
])('accepts any argument: resolveConfig(%#)', input => {
  expect(isSound(resolveConfig(input as ConfigInput))).toBe(true)
})

test.each([
  [5, 'expected a mapping of keys, got 5'],
  [[], 'expected a mapping of keys, got a list'],
  [new Map(), 'expected a mapping of keys, got an object of a class'],
  [throwing, 'expected a mapping of keys, got an object that cannot be read'],
])('rejects options %# as no mapping', (code, text) => {
  const { problems } = resolved({ code: code as object })
  expect(problems.map(({ message }) => message)).toEqual([`config: options: ${text} (options in code)`])
})

test('survives cycles, getters that throw, endless lists', () => {
  expect(isSound(resolved({ code: cyclic as object }))).toBe(true)
  const getter = Object.defineProperty({ debug: true }, 'redact', {
    enumerable: true,
    get: () => {
      throw new Error('no')
    },
  })
  const { config, problems } = resolved({ code: getter })
  expect([config.debug, config.redact]).toEqual([true, true])
  expect(problems.map(({ message }) => message)).toEqual([
    'config: redact: expected true or false, got a property that cannot be read (options in code); using true',
  ])
  const endless = resolved({ code: { delegating_tools: new Array(1e9) } as object })
  expect(endless.problems.map(({ message }) => message)).toEqual([
    'config: delegating_tools: expected a list, got a list that is too long (options in code); using none',
  ])
})

test('ignores a later change of an option', () => {
  const tags = { a: 'b' }
  const { config } = resolved({ code: { resource_attributes: tags } })
  tags.a = 'changed'
  expect(config.resource_attributes).toEqual({ a: 'b' })
})
