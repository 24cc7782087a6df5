import { describe, expect, test } from 'vitest'
import { KEEP_DEFAULT } from '../../../src/plugin/config/keep.ts'
import { KEY_NAMES, KEY_ROWS, type KeyName, variableOf } from '../../../src/plugin/config/keys.ts'
import type { UserConfig } from '../../../src/plugin/config/types.ts'
import { messages, resolved } from './scratch-home.ts'

/** Three different good values, in the order file, environment, code: as text, and as resolved. */
function samples(key: KeyName): { text: string; value: unknown }[] {
  const { type, values, default: preset, max } = KEY_ROWS[key]
  const as = (...list: unknown[]) => list.map(value => ({ text: String(value), value }))
  switch (type) {
    case 'bool':
      return as(!preset, preset, !preset)
    case 'text':
      return as('ofFile', 'ofEnvironment', 'ofCode')
    case 'enum':
      return as(...[0, 1, 0].map(index => values?.[(index + 1) % 2]))
    case 'list':
      return (values ? [['own'], ['gen_ai'], ['own', 'gen_ai']] : [['a'], ['b'], ['c']]).map(list => ({
        text: list.join(','),
        value: list,
      }))
    case 'prometheus':
      return [9001, 9002, 9003].map(port => ({ text: `127.0.0.1:${port}`, value: { host: '127.0.0.1', port } }))
    case 'prices':
      return ['true', 'false', 'on'].map(text => ({ text, value: text === 'false' ? undefined : { own: [] } }))
    case 'keep':
      return ['true', 'false', 'on'].map(text => ({ text, value: text === 'false' ? undefined : KEEP_DEFAULT }))
    case 'hooks':
      return ['/of/file', '/of/env', '/of/code'].map(text => ({
        text,
        value: { enabled: true, global_dir: text, project_local: false, time_limit_ms: undefined, options: {} },
      }))
    case 'backends':
      return ['jaeger', 'tempo', 'phoenix'].map(name => ({
        text: name,
        value: [{ type: name, name, headers: {}, options: {} }],
      }))
    case 'map':
      return ['file', 'env', 'code'].map(value => ({ text: `from=${value}`, value: { from: value } }))
    default:
      return max === 1 ? as(0.1, 0.2, 0.3) : as(71, 72, 73)
  }
}

describe.each(KEY_NAMES)('%s', key => {
  const [file, environment, code] = samples(key)
  const yaml = `# a comment\n${key}: ${JSON.stringify(file?.text)}\n`
  const env = { [variableOf(key)]: environment?.text }
  const options: UserConfig = { [key]: code?.text }
  const look = (input: Parameters<typeof resolved>[0]) => {
    const resolution = resolved(input)
    expect(messages(resolution)).toEqual([])
    return [resolution.config[key], resolution.sources.get(key)]
  }

  test('prefers environment to file and code to both, and knows the source', () => {
    const ofFile = { from: 'file', detail: 'config.yaml line 2' }
    const ofEnvironment = { from: 'environment', detail: variableOf(key) }
    expect(look({ yaml })).toEqual([file?.value, ofFile])
    expect(look({ env })).toEqual([environment?.value, ofEnvironment])
    expect(look({ code: options })).toEqual([code?.value, { from: 'code' }])
    const merges = KEY_ROWS[key].type === 'map'
    const upTo = (detail: string) => (merges ? { detail } : {})
    expect(look({ yaml, env })).toEqual([
      environment?.value,
      { ...ofEnvironment, ...upTo(`${variableOf(key)}, then config.yaml line 2`) },
    ])
    expect(look({ yaml, env, code: options })).toEqual([
      code?.value,
      { from: 'code', ...upTo(`code, then ${variableOf(key)}, then config.yaml line 2`) },
    ])
  })

  test('treats a blank value as absent', () => {
    expect(look({ yaml, env: { [variableOf(key)]: '  ' }, code: { [key]: undefined } })[0]).toEqual(file?.value)
    for (const blank of ['', '~', 'null', '""']) {
      expect(look({ yaml: `${key}: ${blank}` })[1]).toEqual({ from: 'default' })
    }
  })
})

test('merges maps entry by entry', () => {
  const { config } = resolved({
    yaml: 'resource_attributes: {a: file, b: file, c: file}',
    env: { OTEL_RESOURCE_ATTRIBUTES: 'b=env,c=env' },
    code: { resource_attributes: { c: 'code' } },
  })
  expect(config.resource_attributes).toEqual({ a: 'file', b: 'env', c: 'code' })
})

test('keeps a number of a file as text if text is expected', () => {
  const { config } = resolved({ yaml: 'service_name: 1.10\nresource_attributes: {version: 0x1F, flag: true}' })
  expect(config.service_name).toBe('1.10')
  expect(config.resource_attributes).toEqual({ version: '0x1F', flag: 'true' })
})

test('separates patterns in a variable by line breaks, because they contain commas', () => {
  const { config } = resolved({ env: { HOOKSPAN_REDACT_PATTERNS: 'a{1,3}\nb' } })
  expect(config.redact_patterns).toEqual(['a{1,3}', 'b'])
})

test.each([
  ['true', { host: '127.0.0.1', port: 9464 }],
  ['off', undefined],
  ['9100', { host: '127.0.0.1', port: 9100 }],
  ['0.0.0.0:9100', { host: '0.0.0.0', port: 9100 }],
  ['[::1]:9100', { host: '::1', port: 9100 }],
])('reads prometheus: %s', (text, address) => {
  expect(resolved({ env: { HOOKSPAN_PROMETHEUS: text } }).config.prometheus).toEqual(address)
})

test('fills in missing keys of a prometheus mapping and reports unknown ones', () => {
  const resolution = resolved({ yaml: 'prometheus:\n  host: 0.0.0.0\n  prot: 9' })
  expect(resolution.config.prometheus).toEqual({ host: '0.0.0.0', port: 9464 })
  expect(messages(resolution)).toEqual([
    'config: prometheus.prot: there is no such field (config.yaml line 3); did you mean port?',
  ])
})

test('reads off as a word if one of the words is off, also as a boolean', () => {
  expect(resolved({ yaml: 'content_capture: off' }).config.content_capture).toBe('off')
  expect(resolved({ code: { content_capture: false } as unknown as UserConfig }).config.content_capture).toBe('off')
})
