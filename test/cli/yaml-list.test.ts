import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { NotEditable } from '../../src/cli/init/plan.ts'
import { addItem, type ListPath, listAt, removeItems, type YamlItem } from '../../src/cli/init/yaml-list.ts'

const PATH: ListPath = ['plugins', 'enabled']
const OURS: YamlItem = { value: 'hookspan', block: ['hookspan'], flow: 'hookspan' }
const isOurs = (value: unknown): boolean => value === 'hookspan'

const HEAD = '# mine\nmodel:\n  default: fake-1   # the small one\n  since: 0777\n'

/** What is there, and what it becomes. */
const TEXTS: Readonly<Record<string, readonly [before: string, after: string]>> = {
  nothing: ['', 'plugins:\n  enabled:\n    - hookspan\n'],
  'a comment': ['# mine\n', '# mine\nplugins:\n  enabled:\n    - hookspan\n'],
  'other keys': [HEAD, `${HEAD}plugins:\n  enabled:\n    - hookspan\n`],
  'no line end': ['a: 1', 'a: 1\nplugins:\n  enabled:\n    - hookspan\n'],
  'line ends of Windows': ['a: 1\r\n', 'a: 1\r\nplugins:\r\n  enabled:\r\n    - hookspan\r\n'],
  'no plugins': ['plugins:\nb: 2\n', 'plugins: {enabled: [hookspan]}\nb: 2\n'],
  'no plugins, said': ['plugins: ~ # none\nb: 2\n', 'plugins: {enabled: [hookspan]} # none\nb: 2\n'],
  'an empty map': ['plugins: {}\n', 'plugins: {enabled: [hookspan]}\n'],
  'no list': [
    `${HEAD}plugins:\n    hook_timeout: 3\n`,
    `${HEAD}plugins:\n    enabled:\n      - hookspan\n    hook_timeout: 3\n`,
  ],
  'no list, in one line': ['plugins: { a: 1 }\n', 'plugins: { enabled: [hookspan], a: 1 }\n'],
  'an empty list': ['plugins:\n  enabled: []\n  a: 1\n', 'plugins:\n  enabled: [hookspan]\n  a: 1\n'],
  'nothing in the list': ['plugins:\n  enabled:\n  a: 1\n', 'plugins:\n  enabled: [hookspan]\n  a: 1\n'],
  'a list': [
    `${HEAD}plugins:\n  enabled:\n    - one # first\n    - two # last\n\n  # behind\n  a: 1\n`,
    `${HEAD}plugins:\n  enabled:\n    - one # first\n    - two # last\n    - hookspan\n\n  # behind\n  a: 1\n`,
  ],
  'a list as Python writes it': [
    'plugins:\n  enabled:\n  - one\n  other: 1\nz: 1\n',
    'plugins:\n  enabled:\n  - one\n  - hookspan\n  other: 1\nz: 1\n',
  ],
  'a list at the end': ['plugins:\n  enabled:\n    - one', 'plugins:\n  enabled:\n    - one\n    - hookspan\n'],
  'a list in one line': ['plugins:\n  enabled: [one, "two"]\n', 'plugins:\n  enabled: [one, "two", hookspan]\n'],
  'JSON inside': ['plugins: {"enabled": ["one"]}\n', 'plugins: {"enabled": ["one", hookspan]}\n'],
}

describe.each(Object.entries(TEXTS))('%s', (_, [before, after]) => {
  test('gets one more, and keeps every byte', () => {
    expect(addItem(before, PATH, OURS)).toBe(after)
    expect(listAt(after, PATH)).toContain('hookspan')
  })

  test('restores the previous content when that is gone', () => {
    const again = removeItems(after, PATH, isOurs)
    expect(listAt(again, PATH)).toEqual(listAt(before, PATH))
    const root = (text: string): object => ({ ...(parse(text) as object), plugins: undefined })
    expect(root(again)).toEqual(root(before))
  })
})

test('removes only ours, at any position', () => {
  expect(removeItems('plugins:\n  enabled:\n    - hookspan # ours\n    - two\n', PATH, isOurs)).toBe(
    'plugins:\n  enabled:\n    - two\n',
  )
  expect(removeItems('plugins:\n  enabled: [a, hookspan, b, hookspan]\n', PATH, isOurs)).toBe(
    'plugins:\n  enabled: [a, b]\n',
  )
  expect(removeItems('a: 1\n', PATH, isOurs)).toBe('a: 1\n')
})

test('treats several lines as one item', () => {
  const item = {
    value: { name: 'x', events: ['a'] },
    block: ['name: x', 'events: [a]'],
    flow: '{name: x, events: [a]}',
  }
  const after = addItem('hooks:\n  outbound:\n    - name: y\n      url: z\n', ['hooks', 'outbound'], item)
  expect(after).toBe('hooks:\n  outbound:\n    - name: y\n      url: z\n    - name: x\n      events: [a]\n')
  const isOurItem = (value: unknown): boolean => (value as { name: string }).name === 'x'
  expect(removeItems(after, ['hooks', 'outbound'], isOurItem)).toBe(
    'hooks:\n  outbound:\n    - name: y\n      url: z\n',
  )
})

test.each([
  ['a: [1\n', 'line 2 is no YAML'],
  ['{"plugins": {}}\n', 'it is not written as lines of keys'],
  ['- a\n', 'it is not written as lines of keys'],
  ['plugins: text\n', 'plugins holds no keys'],
  ['plugins:\n  enabled: text\n', 'plugins.enabled is no list'],
  ['x: &x [a]\nplugins:\n  enabled: *x\n', 'enabled is an alias'],
  ['a: 1\n...\n', 'it is written in a way that hookspan does not know'],
  ['a: 1\n---\nb: 1\n', 'it is written in a way that hookspan does not know'],
])('leaves a file that cannot be changed safely: %j', (text, why) => {
  expect(() => addItem(text, PATH, OURS)).toThrow(new NotEditable(why))
})
