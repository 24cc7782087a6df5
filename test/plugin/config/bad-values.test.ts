import { describe, expect, test } from 'vitest'
import { KEY_NAMES, KEY_ROWS, type KeyName, variableOf } from '../../../src/plugin/config/keys.ts'
import type { ConfigSource } from '../../../src/plugin/config/types.ts'
import { messages, resolved } from './scratch-home.ts'

interface Wrong {
  readonly from: ConfigSource['from']
  readonly value: unknown
  readonly expected: string
  readonly got: string
}

function wrong(from: Wrong['from'], value: unknown, expected: string, got: string): Wrong {
  return { from, value, expected, got }
}

const ANY_CLASS = new Map([['a', 'b']])

/** Values that a key cannot use, and what its line says about each of them. */
function wrongValues(key: KeyName): Wrong[] {
  const { type, values, min, max, pattern } = KEY_ROWS[key]
  const number = `a ${type === 'integer' || type === 'chars' ? 'whole ' : ''}number ${max === undefined ? `≥ ${min}` : `from ${min} to ${max}`}`
  const words = `${values?.slice(0, -1).join(', ')} or ${values?.at(-1)}`
  const name = 'letters, digits, "_" and "."'
  switch (type) {
    case 'bool':
      return [
        wrong('file', 'perhaps', 'true or false', '"perhaps"'),
        wrong('environment', '2', 'true or false', '"2"'),
        wrong('code', {}, 'true or false', 'a mapping'),
      ]
    case 'enum':
      return [
        wrong('file', '[a]', words, 'a list'),
        wrong('environment', 'sideways', words, '"sideways"'),
        wrong('code', 5, words, '5'),
      ]
    case 'text':
      return [
        wrong('file', '[a]', 'text', 'a list'),
        ...(pattern ? [wrong('environment', '9 lives', name, '"9 lives"')] : []),
        wrong('code', 5, 'text', '5'),
      ]
    case 'list':
      return [wrong('file', '{a: b}', 'a list', 'a mapping'), wrong('code', () => 1, 'a list', 'a function')]
    case 'map':
      return [
        wrong('file', '[a]', 'a mapping of names to texts', 'a list'),
        wrong('code', ANY_CLASS, 'a mapping of names to texts', 'an object of a class'),
      ]
    case 'backends':
      return [wrong('code', 5, 'a list of backends', 'a number')]
    case 'prometheus':
      return [
        wrong('file', 'maybe', 'true, false or {host, port}', '"maybe"'),
        wrong('environment', 'host', 'true, false or {host, port}', '"host"'),
        wrong('code', { port: 70_000 }, 'a whole number from 0 to 65535', '70000'),
      ]
    case 'hooks':
      return [
        wrong('file', '[a]', 'true, false, an absolute path or a mapping', 'a list'),
        wrong('environment', 'here/hooks', 'true, false, an absolute path or a mapping', '"here/hooks"'),
        wrong('code', 5, 'true, false, an absolute path or a mapping', '5'),
      ]
    case 'keep':
      return [
        wrong('file', '[a]', 'true, false or a mapping of rules', 'a list'),
        wrong('environment', 'failures', 'true, false or a mapping of rules', '"failures"'),
        wrong('code', 5, 'true, false or a mapping of rules', '5'),
      ]
    case 'prices':
      return [
        wrong('file', '[a]', 'true, false or a mapping of models to prices', 'a list'),
        wrong('environment', 'cheap', 'true, false or a mapping of models to prices', '"cheap"'),
        wrong('code', 5, 'true, false or a mapping of models to prices', '5'),
      ]
    default:
      return [
        wrong('file', 'soon', number, '"soon"'),
        wrong('environment', '-1', number, '"-1"'),
        wrong('environment', '0x10', number, '"0x10"'),
        wrong('code', Number.NaN, number, 'NaN'),
        wrong('code', 5n, number, 'a bigint'),
      ]
  }
}

const PLACES = { default: '', file: 'config.yaml line 3', code: 'options in code' }
const USING: { readonly [Key in KeyName]?: string } = {
  conventions: 'own, gen_ai, openinference',
  hooks: 'the usual folder',
}

describe.each(KEY_NAMES)('%s', key => {
  const { default: preset } = KEY_ROWS[key]
  const empty = preset === undefined || (typeof preset === 'object' && Object.keys(preset as object).length === 0)
  const { closed } = KEY_ROWS[key]
  const using = USING[key] ?? (empty ? 'none' : String(closed ?? preset))

  test.each(wrongValues(key))(
    'reports $from $value in one line, and uses the default, or a safe value',
    ({ from, value, expected, got }) => {
      const resolution = resolved({
        ...(from === 'file' ? { yaml: `# two\n# lines\n${key}: ${value}` } : {}),
        ...(from === 'environment' ? { env: { [variableOf(key)]: String(value) } } : {}),
        ...(from === 'code' ? { code: { [key]: value } } : {}),
      })
      const place = from === 'environment' ? variableOf(key) : PLACES[from]
      expect(resolution.problems).toEqual([
        { level: 'error', key, message: `config: ${key}: expected ${expected}, got ${got} (${place}); using ${using}` },
      ])
      expect(resolution.config[key]).toEqual(closed ?? resolved({}).config[key])
      expect(resolution.sources.get(key)?.from).toBe(closed === undefined ? 'default' : from)
    },
  )
})

test('reports in exactly the form of the specification', () => {
  expect(messages(resolved({ yaml: '\n\n\n\n\n\nroot_span_ttl_ms: soon' }))).toEqual([
    'config: root_span_ttl_ms: expected a number ≥ 0, got "soon" (config.yaml line 7); using 600000',
  ])
})

test('uses the next lower source with a valid value, and reports it', () => {
  const resolution = resolved({ yaml: 'metrics_interval_ms: 5', env: { HOOKSPAN_METRICS_INTERVAL_MS: 'soon' } })
  expect(resolution.config.metrics_interval_ms).toBe(5)
  expect(resolution.sources.get('metrics_interval_ms')).toEqual({ from: 'file', detail: 'config.yaml line 1' })
  expect(messages(resolution)).toEqual([
    'config: metrics_interval_ms: expected a number ≥ 1, got "soon" (HOOKSPAN_METRICS_INTERVAL_MS); using 5',
  ])
})

test('reports a bad value even if a higher source replaces it', () => {
  expect(messages(resolved({ yaml: 'log_flush_ms: soon', code: { log_flush_ms: 7 } }))).toEqual([
    'config: log_flush_ms: expected a number ≥ 0, got "soon" (config.yaml line 1); using 7',
  ])
})

test('rejects a duration that a timer would treat as one millisecond', () => {
  expect(messages(resolved({ code: { metrics_interval_ms: 1e12 } }))).toEqual([
    'config: metrics_interval_ms: expected a number ≤ 2147483647, got 1000000000000 (options in code); using 60000',
  ])
})

test.each([1.5, 2 ** 53, '1e400'])('rejects %s as a whole number', value => {
  const { config } = resolved({ code: { preview_max_chars: value as number } })
  expect(config.preview_max_chars).toBe(1200)
})

test('omits only the unusable element', () => {
  const resolution = resolved({
    yaml: 'conventions: [own, gen_aii]\nresource_attributes:\n  a: x\n  b: [1]',
    code: { redact_patterns: ['a', 5, 'b'] as string[] },
  })
  expect(resolution.config.conventions).toEqual(['own'])
  expect(resolution.config.resource_attributes).toEqual({ a: 'x' })
  expect(resolution.config.redact_patterns).toEqual(['a', 'b'])
  expect(messages(resolution)).toEqual([
    'config: resource_attributes.b: expected text, got a list (config.yaml line 4); leaving it out',
    'config: conventions[1]: expected own, gen_ai, gen_ai_next, openinference or langfuse, got "gen_aii" (config.yaml line 1); leaving it out',
    'config: redact_patterns[1]: expected text, got a number (options in code); leaving it out',
  ])
})

test('rejects a list without a usable element', () => {
  const resolution = resolved({ env: { HOOKSPAN_CONVENTIONS: 'mine' } })
  expect(resolution.config.conventions).toEqual(['own', 'gen_ai', 'openinference'])
  expect(messages(resolution).at(-1)).toBe(
    'config: conventions: nothing in the list can be used (HOOKSPAN_CONVENTIONS); using own, gen_ai, openinference',
  )
})

test('reports unknown keys, with the nearest known one', () => {
  const resolution = resolved({
    yaml: 'sampel_rate: 1\nzzzzzz: 2\n__proto__:\n  enabled: false',
    code: { sampleRate: 1 } as object,
  })
  expect(messages(resolution)).toEqual([
    'config: sampel_rate: there is no such key (config.yaml line 1); did you mean sample_rate?',
    'config: zzzzzz: there is no such key (config.yaml line 2); ignoring it',
    'config: __proto__: there is no such key (config.yaml line 3); ignoring it',
    'config: sampleRate: there is no such key (options in code); did you mean sample_rate?',
  ])
  expect(resolution.problems.every(problem => problem.level === 'warning')).toBe(true)
  expect(({} as { enabled?: boolean }).enabled).toBeUndefined()
})

test('reports a renamed key with its new name', () => {
  expect(messages(resolved({ yaml: 'delegation: nest', env: { HOOKSPAN_DELEGATION: 'nest' } }))).toEqual([
    'config: delegation: there is no such key (config.yaml line 1); did you mean parent?',
    'config: HOOKSPAN_DELEGATION: there is no such variable (environment); did you mean HOOKSPAN_PARENT?',
  ])
})

test('reports our variables that look misspelt, and no others', () => {
  const env = { HOOKSPAN_SAMPLERATE: '1', HOOKSPAN_TOKEN: 'x', HOOKSPAN_CONFIG: '/dev/null', OTHER_DEBUGG: '1' }
  expect(messages(resolved({ env }))).toEqual([
    'config: HOOKSPAN_SAMPLERATE: there is no such variable (environment); did you mean HOOKSPAN_SAMPLE_RATE?',
  ])
})
