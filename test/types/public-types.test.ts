/** What a user can import, read from the declarations that are shipped. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { HOOKS } from '../../src/index.ts'
import { BACKEND_FIELDS } from '../../src/plugin/config/backends.ts'
import { KEY_NAMES, KEY_ROWS, variableOf } from '../../src/plugin/config/keys.ts'
import { Declarations } from './declarations.ts'

const dist = new Declarations(new URL('../../dist/', import.meta.url))
const { exports } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly exports: Readonly<Record<string, { readonly types?: string } | string>>
}
const ENTRIES = Object.values(exports).flatMap(entry =>
  typeof entry === 'object' && entry.types !== undefined ? [entry.types.replace('./dist/', '')] : [],
)
const MAIN = 'index.d.ts'
/** Whoever has hooks imports this, too. */
const HOOKS_ENTRY = 'guards/index.d.ts'

/** Only there to work out other types, or what several of them have in common: what they come to is written where they are used. */
const WORKED_OUT = new Set([
  ...['EVENT_FIELDS', 'FOR', 'KeyTable', 'TOOL_KINDS', 'UserValueOf'],
  ...['AnyVerdict', 'Cancellable', 'ProviderEvent', 'Repeatable', 'VerdictOf'],
])

test('has entries', () => {
  expect(ENTRIES).toContain(MAIN)
  expect(dist.exported(MAIN).size).toBeGreaterThan(40)
})

describe.each(ENTRIES)('%s', entry => {
  test('exports the name of every type in its functions and types', () => {
    const ofHost = entry.replace(/hooks(?=\.d\.ts$)/, 'index')
    const others = /hooks|guards/.test(entry) ? [MAIN, HOOKS_ENTRY, ofHost] : [MAIN]
    const names = new Set([entry, ...others].flatMap(each => [...dist.exported(each).keys()]))
    const spokenOf = [...dist.exported(entry)].flatMap(([name, place]) =>
      dist.mentions(place).map(mention => [mention, name] as const),
    )
    const missing = spokenOf.filter(([mention]) => !names.has(mention) && !WORKED_OUT.has(mention))
    expect(missing.map(([mention, name]) => `${mention}, in ${name}`)).toEqual([])
  })

  // The members of an agent's own interface are the agent's to describe.
  test('has a doc comment for every export, and for every member of ours', () => {
    const silent = [...dist.exported(entry)]
      .flatMap(([name, place]) => dist.undocumented(place).map(member => name + member))
      .filter(at => !(entry.startsWith('agents/') && at.includes('.')))
    expect(silent).toEqual([])
  })
})

describe('the same words everywhere', () => {
  test.each(KEY_NAMES)('describes the key %s', key => {
    const doc = dist.docOf({ file: 'plugin/config/types.d.ts', name: 'UserConfig' }, key)
    expect(doc).toContain(KEY_ROWS[key].about)
    expect(doc).toContain(variableOf(key))
  })

  test.each(Object.entries(BACKEND_FIELDS))('describes the field %s of a backend', (field, about) => {
    expect(dist.docOf({ file: 'plugin/config/types.d.ts', name: 'UserBackend' }, field)).toBe(about)
  })

  test.each(Object.entries(HOOKS))('describes the hook %s', (hook, about) => {
    const doc = dist.docOf({ file: 'contract/payloads.d.ts', name: 'HookPayloads' }, hook)
    expect(doc).toBe(`${about.charAt(0).toUpperCase()}${about.slice(1)}.`)
  })
})
