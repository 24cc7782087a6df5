import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { backendRow } from '../../../src/delivery/backends/rows.ts'
import { BACKENDS } from '../../../src/delivery/pipeline/index.ts'
import { exists, ROOT, read, script } from '../../support/pages.ts'
import { VENDORS } from './vendors.ts'

interface Verified {
  readonly type: string
  readonly signal: string
  readonly how: string
  readonly against: string
  readonly place: string
}

interface Servers {
  readonly BACKEND_SERVERS: Readonly<Record<string, { readonly version: string }>>
  readonly BACKEND_SUITES: Readonly<Record<string, readonly string[]>>
}

const { BACKEND_SERVERS, BACKEND_SUITES } = await script<Servers>('backend-servers.mjs')
const PAGE = read('docs/verification.md')
const ROW = /^\| `(\w+)` \| (traces|metrics|logs) \| ([a-z ]+) \| (.+) \| `(.+)` \|$/gm
const table: Verified[] = [...PAGE.matchAll(ROW)].map(
  ([, type = '', signal = '', how = '', against = '', place = '']) => ({
    type,
    signal,
    how,
    against,
    place,
  }),
)

function suiteOf(place: string): string {
  return place.replace('test/backends/', '')
}

test('has a row for each signal of each type', () => {
  const sent = Object.entries(BACKENDS).flatMap(([type, row]) => [
    ...(row.traces ? [`${type} traces`] : []),
    ...(row.metrics ? [`${type} metrics`] : []),
    ...(row.logs ? [`${type} logs`] : []),
  ])
  expect([...new Set(table.map(({ type, signal }) => `${type} ${signal}`))].sort()).toEqual(sent.sort())
})

test.each(table.filter(({ how }) => how === 'real server'))(
  'covers $type, $signal: $place asks $against',
  ({ against, place }) => {
    const suite = suiteOf(place)
    const servers = BACKEND_SUITES[suite] ?? []
    const versions = servers.flatMap(name => BACKEND_SERVERS[name]?.version ?? [])
    expect(versions).toContain(/ (\d+\.\d+\.\d+)/.exec(against)?.[1])
    expect(readdirSync(join(ROOT, place)).filter(name => name.endsWith('.backend.ts'))).not.toEqual([])
  },
)

test.each(table.filter(({ how }) => how === 'contract'))('covers $type, $signal by a contract of the vendor', row => {
  const vendor = VENDORS[row.type as keyof typeof VENDORS]
  expect(row.place).toBe('test/backends/rows')
  if (row.signal === 'metrics') expect(vendor.metrics).toBeDefined()
  if (row.signal === 'logs') expect(vendor.logs).toBe(true)
  // The same page, by the part of its title that both have.
  const [page = ''] = row.against.split(/[:;]/)
  expect(vendor.source.toLowerCase()).toContain(page.toLowerCase())
})

test.each(table.filter(({ how }) => how === 'shape'))('covers $type, $signal: $place reads the written data', row => {
  expect(exists(row.place)).toBe(true)
  expect(backendRow(row.type)?.transport).not.toBe('http')
})

test('explains every kind of verification', () => {
  const explained = [...PAGE.matchAll(/^- \*\*([a-z ]+)\*\*:/gm)].map(([, how]) => how)
  expect([...new Set(table.map(({ how }) => how))].sort()).toEqual(explained.sort())
})

test('states the installed version of the definitions that read the bodies', () => {
  expect(PAGE).toContain(`\`opentelemetry-proto\` ${BACKEND_SERVERS['otlp-proto']?.version}`)
})
