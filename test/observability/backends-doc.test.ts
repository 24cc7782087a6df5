import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { BackendType } from '../../src/delivery/backends/backend-config.ts'
import { BACKENDS, type BackendRow, backendRow } from '../../src/delivery/backends/rows.ts'
import { planBackend } from '../../src/delivery/pipeline/backend-plan.ts'
import { BACKEND_FIELDS } from '../../src/plugin/config/backends.ts'
import { blocks, PAGES } from '../support/pages.ts'
import { compose, text } from './stack-files.ts'

interface Entry {
  readonly [key: string]: unknown
  readonly type: string
  readonly name?: string
  readonly endpoint?: string
}

const PAGE = text('docs/backends.md')
const pages = PAGES.filter(path => path === 'docs/backends.md')
const entries: Entry[] = pages.flatMap(path => blocks(text(path), 'yaml')).flatMap(body => parse(body)?.backends ?? [])

/** The type's own keys, with something in the place of what a variable would hold; its vendor's usual variables are set. */
function options(entry: Entry): Record<string, string> {
  const own = Object.entries(entry).filter(([key]) => !(key in BACKEND_FIELDS))
  const variables = Object.entries(backendRow(entry.type)?.options ?? {}).filter(([, row]) => row.variables)
  const set = Object.fromEntries(variables.map(([key, row]) => [key, row.default ?? 'set']))
  const named = Object.fromEntries(
    own.map(([key, value]) => [
      key.replace(/_env$/, ''),
      key === 'dsn_env' ? 'https://token@example.com' : String(value),
    ]),
  )
  return { ...set, ...named }
}

function tableLine(type: string, row: BackendRow): string {
  const defaults = Object.fromEntries(Object.entries(row.options).map(([key, option]) => [key, option.default]))
  const endpoint = row.endpoint(defaults)
  const protocol = row.transport === 'console' ? '–' : `${row.protocol}${row.onlyProtocol ? ' only' : ''}`
  const signals = ['traces', ...(row.metrics ? ['metrics'] : []), ...(row.logs ? ['logs'] : [])].join(', ')
  const temporality = row.metrics ? ` ${row.temporality ?? 'cumulative'}` : ''
  return `| \`${type}\` | ${endpoint ? `\`${endpoint}\`` : '–'} | ${protocol} | ${signals} |${temporality} |`
}

test.each(Object.entries(BACKENDS))('has the row of %s as in the code', (type, row) => {
  expect(PAGE.split('\n')).toContain(tableLine(type, row))
})

test('has an example for every type', () => {
  expect(new Set(entries.map(({ type }) => type))).toEqual(new Set(Object.keys(BACKENDS)))
})

describe.each(entries)('the example for $type', entry => {
  test('is complete and can be sent', () => {
    const { type, name = type, endpoint } = entry
    const planned = planBackend({
      type: type as BackendType,
      name,
      headers: {},
      options: options(entry),
      ...(endpoint ? { endpoint } : {}),
    })
    expect(planned).toMatchObject({ ok: true, warnings: [] })
  })

  test('uses only known keys, and keeps secrets in variables', () => {
    const row = backendRow(entry.type)
    for (const key of Object.keys(entry).filter(field => !(field in BACKEND_FIELDS))) {
      const option = row?.options[key.replace(/_env$/, '')]
      expect(option, key).toBeDefined()
      expect(key.endsWith('_env'), key).toBe(option?.secret === true)
    }
  })
})

test('has a command for every profile', () => {
  const profiles = new Set(Object.values(compose.services).flatMap(service => service.profiles))
  for (const profile of profiles) expect(PAGE).toContain(`docker compose --profile ${profile} up -d`)
})
