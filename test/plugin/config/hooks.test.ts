import { expect, test } from 'vitest'
import { HOOKS_DEFAULT } from '../../../src/plugin/config/hooks.ts'
import { hooksDirectory } from '../../../src/plugin/config/paths.ts'
import { showConfig } from '../../../src/plugin/config/show.ts'
import { messages, resolved } from './scratch-home.ts'

const YAML = `hooks:
  global_dir: ~/mine
  project_local: yes
  time_limit_ms: 500
  options:
    budget: {isolate: true, tokens: 5000, rate: 1.5, version: 1.10, api_key: k7k7k7k7, allow: [build, "7"]}
`

test('reads all fields from a file; converts a text that is a number, true or false', () => {
  const resolution = resolved({ yaml: YAML })
  expect(messages(resolution)).toEqual([])
  const { hooks } = resolution.config
  expect(hooks).toMatchObject({ enabled: true, project_local: true, time_limit_ms: 500 })
  expect(hooks?.global_dir).toMatch(/^\/.*\/mine$/)
  expect({ ...hooks?.options }).toEqual({
    budget: { isolate: true, tokens: 5000, rate: 1.5, version: '1.10', api_key: 'k7k7k7k7', allow: ['build', 7] },
  })
})

test.each([
  ['false', { ...HOOKS_DEFAULT, enabled: false }],
  ['off', { ...HOOKS_DEFAULT, enabled: false }],
  ['true', HOOKS_DEFAULT],
  ['/srv/hooks', { ...HOOKS_DEFAULT, global_dir: '/srv/hooks' }],
])('accepts the short form: %s', (text, hooks) => {
  expect(resolved({ env: { HOOKSPAN_HOOKS: text } }).config.hooks).toEqual(hooks)
})

test.each([
  [
    '{global_dir: hooks}',
    'hooks.global_dir: expected an absolute path, got "hooks" (config.yaml line 1); leaving it out',
  ],
  [
    '{project_local: maybe}',
    'hooks.project_local: expected true or false, got "maybe" (config.yaml line 1); leaving it out',
  ],
  ['{time_limit_ms: 0}', 'hooks.time_limit_ms: expected a number ≥ 1, got "0" (config.yaml line 1); leaving it out'],
  [
    '{options: [a]}',
    'hooks.options: expected a mapping of file names to options, got a list (config.yaml line 1); leaving it out',
  ],
  [
    '{options: {a: s3cret}}',
    'hooks.options.a: expected a mapping, got other text (config.yaml line 1); leaving it out',
  ],
  [
    '{project_locl: true}',
    'hooks.project_locl: there is no such field (config.yaml line 1); did you mean project_local?',
  ],
])('rejects %s in one line, and uses nothing of it', (text, line) => {
  const resolution = resolved({ yaml: `hooks: ${text}` })
  expect(messages(resolution)).toEqual([`config: ${line}`])
  expect(resolution.config.hooks).toEqual(HOOKS_DEFAULT)
})

test('never shows the values of a file', () => {
  const shown = (yaml?: string) =>
    showConfig(resolved(yaml === undefined ? {} : { yaml })).find(({ key }) => key === 'hooks')?.value
  expect(shown()).toBe('the usual folder')
  expect(shown('hooks: false')).toBe('off')
  expect(shown(YAML)).toMatch(/^global_dir=\/.*\/mine project_local=true time_limit_ms=500 options=\{budget: <set>\}$/)
})

test('finds the usual folder beside the configuration file, and nowhere without a home directory', () => {
  expect(hooksDirectory({}, '/home/a')).toBe('/home/a/.config/hookspan/hooks')
  expect(hooksDirectory({ XDG_CONFIG_HOME: '/x' }, '/home/a')).toBe('/x/hookspan/hooks')
  expect(hooksDirectory({}, '')).toBeUndefined()
})
