import { expect, test } from 'vitest'
import { compose, imageVersion, yaml } from './stack-files.ts'

type Components = Readonly<Record<string, Readonly<Record<string, string>>>>

interface Table {
  readonly BACKEND_SERVERS: {
    readonly jaeger: { readonly version: string }
    readonly phoenix: { readonly version: string }
    readonly prometheus: { readonly version: string; readonly moduleVersion: string }
    readonly collector: { readonly version: string; readonly components: Components }
  }
}

const SCRIPT = new URL('../../scripts/backend-servers.mjs', import.meta.url).href
const { BACKEND_SERVERS }: Table = await import(/* @vite-ignore */ SCRIPT)

function pinned(service: string): string | undefined {
  return imageVersion(compose.services[service]?.image ?? '')
}

test.each(['jaeger', 'phoenix', 'prometheus', 'collector'] as const)(
  'runs the %s of the compose file in the backend tests',
  name => {
    expect(BACKEND_SERVERS[name].version).toBe(pinned(name))
  },
)

test('numbers the module of Prometheus by its version', () => {
  const { version, moduleVersion } = BACKEND_SERVERS.prometheus
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  expect(moduleVersion).toBe(`v0.${major * 100 + minor}.${patch}`)
})

test('builds the collector with the components of its configurations, and no others', () => {
  const configurations = ['collector', 'collector-gateway'].map(name =>
    yaml<Readonly<Record<string, object>>>(`observability/${name}.yaml`),
  )
  const { components } = BACKEND_SERVERS.collector
  const sections = configurations.flatMap(configuration => Object.keys(configuration))
  expect(new Set(Object.keys(components))).toEqual(new Set(sections.filter(section => section !== 'service')))
  for (const [section, parts] of Object.entries(components)) {
    // `otlp_http/jaeger`: the type and a name.
    const ids = configurations.flatMap(configuration => Object.keys(configuration[section] ?? {}))
    const types = ids.map(id => id.split('/')[0] ?? '')
    expect(Object.keys(parts)).toEqual([...new Set(types)])
  }
})
