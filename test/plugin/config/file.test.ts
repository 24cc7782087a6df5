// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how a file names a variable
import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { configFiles, stateDirectory } from '../../../src/plugin/config/paths.ts'
import { resolveConfig } from '../../../src/plugin/config/resolve.ts'
import { homeWith, messages, put, resolved, scratchHome } from './scratch-home.ts'

const startedIn = process.cwd()
afterEach(() => process.chdir(startedIn))

function serviceName(env: Record<string, string>, home: string): string {
  return resolveConfig({ env, home }).config.service_name
}

test('loads the parser only if there is a file', () => {
  const { cache } = createRequire(import.meta.url)
  const loaded = (): string[] => Object.keys(cache).filter(path => /node_modules\/yaml\//.test(path))
  for (const path of loaded()) delete cache[path]
  resolved({ env: { OTEL_SERVICE_NAME: 'x' }, code: { debug: true } })
  expect(loaded()).toEqual([])
  resolved({ yaml: 'debug: true' })
  expect(loaded()).not.toEqual([])
})

test('never reads a file in the working directory', () => {
  const repository = scratchHome()
  for (const name of [
    'config.yaml',
    'hookspan.yaml',
    '.hookspan.yaml',
    'hookspan/config.yaml',
    '.config/hookspan/config.yaml',
  ]) {
    put(repository, name, 'service_name: stranger\nbackends: ["http://stranger.example"]')
  }
  process.chdir(repository)
  for (const env of [
    {},
    { XDG_CONFIG_HOME: '.' },
    { XDG_CONFIG_HOME: '.config' },
    { HOOKSPAN_CONFIG: 'config.yaml' },
  ]) {
    const { config } = resolveConfig({ env, home: scratchHome() })
    expect([config.service_name, config.backends]).toEqual(['hookspan', []])
  }
  expect(serviceName({}, '')).toBe('hookspan')
})

test('requires an absolute HOOKSPAN_CONFIG, and reads no other file if that one is unreadable', () => {
  const home = homeWith('service_name: other')
  const fault = (path: string) => {
    const { config, problems } = resolveConfig({ env: { HOOKSPAN_CONFIG: path }, home })
    expect(config.service_name).toBe('hookspan')
    return problems.map(problem => problem.message.replaceAll(home, ''))
  }
  expect(fault('./config.yaml')).toEqual([
    'config: HOOKSPAN_CONFIG: expected an absolute path, got "./config.yaml" (environment); no file is read, and no content is captured',
  ])
  expect(fault(`${home}/nowhere.yaml`)).toEqual([
    'config: HOOKSPAN_CONFIG: it names a file that is not there (environment); no file is read, and no content is captured',
  ])
  expect(fault(home)).toEqual(['config: : it is not a file; no file is read, and no content is captured'])
  expect(fault('/dev/zero')).toEqual([
    'config: /dev/zero: it is not a file; no file is read, and no content is captured',
  ])
  expect(fault('/dev/null')).toEqual([])
})

test('reads HOOKSPAN_CONFIG, XDG_CONFIG_HOME, ~/.config, in this order', () => {
  const home = homeWith('service_name: home')
  put(home, 'xdg/hookspan/config.yml', 'service_name: xdg')
  put(home, 'mine.json', '{"service_name": "mine"}')
  const xdg = { XDG_CONFIG_HOME: join(home, 'xdg') }
  expect(serviceName({ ...xdg, HOOKSPAN_CONFIG: join(home, 'mine.json') }, home)).toBe('mine')
  expect(serviceName({ ...xdg, HOOKSPAN_CONFIG: '~/mine.json' }, home)).toBe('mine')
  expect(serviceName(xdg, home)).toBe('xdg')
  expect(serviceName({}, home)).toBe('home')
})

test('reports the unread one of two files side by side', () => {
  const home = homeWith('service_name: first')
  put(home, '.config/hookspan/config.json', '{"service_name": "second"}')
  const resolution = resolveConfig({ env: {}, home })
  expect(resolution.config.service_name).toBe('first')
  expect(messages(resolution).map(line => line.replaceAll(`${home}/.config/hookspan/`, ''))).toEqual([
    'config: config.json: not read, because config.yaml is there',
  ])
})

test('treats relative XDG directories as not set', () => {
  expect(stateDirectory({ XDG_STATE_HOME: '/s' }, '/h')).toBe('/s/hookspan')
  expect(stateDirectory({ XDG_STATE_HOME: 's' }, '/h')).toBe('/h/.local/state/hookspan')
  expect(stateDirectory({}, '/h')).toBe('/h/.local/state/hookspan')
  expect(configFiles({ XDG_CONFIG_HOME: 'c' }, '/h')[0]).toBe('/h/.config/hookspan/config.yaml')
})

test('reads JSON, with tabs, with its lines', () => {
  const home = scratchHome()
  put(home, '.config/hookspan/config.json', '{\n\t"debug": true,\n\t"log_flush_ms": "soon"\n}')
  const resolution = resolveConfig({ env: {}, home })
  expect(resolution.config.debug).toBe(true)
  expect(messages(resolution)).toEqual([
    'config: log_flush_ms: expected a number ≥ 0, got "soon" (config.json line 3); using 100',
  ])
})

test.each([
  ['debug: true\ndebug: false', 'the same key is there twice (line 2, column 1)'],
  ['debug: true\n\tlog_flush_ms: 1', 'there is a tab where only spaces may be (line 2, column 1)'],
  ['redact_patterns: [a', 'the indentation is wrong, or a bracket or quote is not closed (line 1, column 20)'],
  ['debug: true\n---\ndebug: false', 'there is more than one document (line 2, column 1)'],
  ['- debug', 'expected a mapping of keys to values (line 1, column 1)'],
  ['debug', 'expected a mapping of keys to values (line 1, column 1)'],
  [`backends: ${'['.repeat(20_000)}`, expect.stringMatching(/^(it is nested too deeply|it is not valid YAML)/)],
])('is disabled by %j, as is the capture of content', (yaml, fault) => {
  const home = homeWith(yaml)
  const resolution = resolveConfig({ env: { HOOKSPAN_SPAN_NAMES: 'semconv' }, home })
  expect(resolution.config.debug).toBe(false)
  expect(resolution.config.content_capture).toBe('off')
  expect(resolution.config.span_names).toBe('semconv')
  const [line = '', ...others] = messages(resolution)
  expect(others).toEqual([])
  expect(line).toMatch(/; no file is read, and no content is captured$/)
  expect(
    line.slice(
      `config: ${home}/.config/hookspan/config.yaml: `.length,
      -'; no file is read, and no content is captured'.length,
    ),
  ).toEqual(fault)
})

test.each(['', '# nothing\n', '---\n', '{}', 'null'])('reads %j as an empty configuration', yaml => {
  expect(resolved({ yaml }).problems).toEqual([])
})

test('does not read a file of more than 1 MiB', () => {
  expect(messages(resolved({ yaml: `# ${'x'.repeat(1_048_576)}` }))[0]).toMatch(
    /it is larger than 1 MiB; no file is read, and no content is captured$/,
  )
})

test('reports a directory in the place of the file', () => {
  const home = scratchHome()
  mkdirSync(join(home, '.config/hookspan/config.yaml'), { recursive: true })
  expect(messages(resolveConfig({ env: {}, home }))[0]).toMatch(
    /config\.yaml: it is not a file; no file is read, and no content is captured$/,
  )
})

test('replaces variables in strings', () => {
  const env = { A: 'one', EMPTY: '' }
  const text = (yaml: string) =>
    resolved({ yaml: `resource_attributes: {x: '${yaml}'}`, env }).config.resource_attributes['x']
  expect(text('${A} and ${A}')).toBe('one and one')
  expect(text('${NONE:-two}')).toBe('two')
  expect(text('${EMPTY:-two}')).toBe('two')
  expect(text('<${EMPTY}>')).toBe('<>')
  expect(text('${NONE:-}!')).toBe('!')
  expect(text('$${A} $A ${NONE:-a:-b}')).toBe('${A} $A a:-b')
  expect(resolved({ yaml: 'sample_rate: ${RATE}', env: { RATE: '0.5' } }).config.sample_rate).toBe(0.5)
  expect(resolved({ env: { HOOKSPAN_SERVICE_NAME: '${A}', A: 'x' } }).config.service_name).toBe('${A}')
})

test('reports an unset variable with its key, and uses the next lower source', () => {
  const resolution = resolved({
    yaml: 'debug: true\nservice_name: a-${STAGE}\nresource_attributes:\n  a: ${B C}\n  b: x',
  })
  expect(resolution.config.service_name).toBe('hookspan')
  expect(resolution.config.resource_attributes).toEqual({ b: 'x' })
  expect(messages(resolution)).toEqual([
    'config: resource_attributes.a: it holds a "${" that no name of a variable follows (config.yaml line 4); leaving it out',
    'config: service_name: the variable STAGE is not set (config.yaml line 2); using hookspan',
  ])
})

test('resolves anchors, and terminates at cycles and bombs', () => {
  expect(resolved({ yaml: 'service_name: &n me\nagent_name: *n' }).config.agent_name).toBe('me')
  expect(messages(resolved({ yaml: 'resource_attributes: &a\n  a: *a' }))).toEqual([
    'config: resource_attributes.a: expected text, got a mapping (config.yaml line 2); leaving it out',
  ])
  const bomb = Array.from(
    { length: 9 },
    (_, level) => `k${level}: &k${level} [${Array(9).fill(level ? `*k${level - 1}` : 'x')}]`,
  )
  expect(resolved({ yaml: bomb.join('\n') }).problems).toHaveLength(9)
})

test('accepts no secrets from a file that others can read, and nothing from one that others can write', () => {
  const lines = (yaml: string, mode: number) => {
    const home = homeWith(yaml, mode)
    return messages(resolveConfig({ env: { K: 'x' }, home })).map(line => line.replace(/^.*config\.yaml: /, ''))
  }
  const secret =
    'it holds secrets, and others can read it; chmod 600 it, or name environment variables instead (fields that end in _env)'
  expect(lines('backends: [{type: phoenix, api_key: abc}]', 0o644)).toEqual([secret])
  expect(lines('backends: [{type: otlp, headers: {x: abc}}]', 0o640)).toEqual([secret])
  expect(lines('backends: [{type: otlp, endpoint: "http://u:p@h"}]', 0o644)).toEqual([secret])
  expect(lines('backends: [{type: phoenix, api_key: abc}]', 0o600)).toEqual([])
  expect(lines('backends: [{type: phoenix, api_key_env: K}, {type: otlp, headers: {x: "${K}"}}]', 0o644)).toEqual([])
  expect(lines('debug: true', 0o646)).toEqual(['anybody can write to it; chmod 600 it'])
})
