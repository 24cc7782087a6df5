import { describe, expect, test } from 'vitest'
import { backendRow } from '../../src/delivery/backends/rows.ts'
import {
  compose,
  exists,
  imageKey,
  imageVersion,
  LISTENS,
  mounts,
  ofProfiles,
  published,
  services,
  text,
} from './stack-files.ts'

/** What the images hold that can ask a server, as far as their build files say. Nothing: no check from inside. */
const CAN_ASK: Readonly<Record<string, string | undefined>> = {
  collector: undefined,
  jaeger: 'wget',
  phoenix: '/usr/bin/python3',
  prometheus: 'wget',
  grafana: 'curl',
  langfuse: 'wget',
  'langfuse-worker': 'wget',
  clickhouse: 'wget',
  postgres: 'pg_isready',
  redis: 'redis-cli',
  minio: 'mc',
}

/** They need no port of this machine, and check themselves without an address. */
const STORES = ['clickhouse', 'postgres', 'redis', 'minio']

const SELECTIONS = [
  ['jaeger'],
  ['phoenix'],
  ['metrics'],
  ['jaeger', 'phoenix'],
  ['jaeger', 'metrics'],
  ['phoenix', 'metrics'],
  ['jaeger', 'phoenix', 'metrics'],
  ['jaeger', 'phoenix', 'langfuse', 'metrics'],
  ['langfuse', 'all'],
  ['all'],
]

function names(profile: string): string[] {
  return ofProfiles(profile).map(([name]) => name)
}

describe.each(services)('service %s', (name, service) => {
  test('runs an image of one version, or there is the reason for none', () => {
    const key = imageKey(service)
    expect(key).not.toBe('')
    const isVersion = imageVersion(service.image) !== undefined
    expect(isVersion || text('docker-compose.yml').includes('# Reason for no version: ')).toBe(true)
    expect(isVersion).toBe(key !== 'minio')
  })

  test('is reached from this machine only, or not at all', () => {
    const key = imageKey(service)
    expect(published(service).length > 0).toBe(![...STORES, 'langfuse-worker'].includes(key))
    for (const { host, hostPort, containerPort } of published(service)) {
      expect(host).toBe('127.0.0.1')
      expect(hostPort).toBe(containerPort)
      expect(LISTENS[imageKey(service)]).toContain(containerPort)
    }
  })

  test('belongs to a profile and restarts after a crash', () => {
    expect(service.profiles.length).toBeGreaterThan(0)
    expect(service.restart).toBe('unless-stopped')
  })

  test('has a health check that its image can run, or the reason for none', () => {
    const command = CAN_ASK[imageKey(service)]
    if (command === undefined) {
      const block = text('docker-compose.yml').split(`\n  ${name}:\n`)[1]?.split('\n\n')[0] ?? ''
      expect(service.healthcheck).toEqual({ disable: true })
      expect(block).toMatch(/healthcheck:\n\s+# Reason: /)
      return
    }
    const [kind, program, ...rest] = service.healthcheck.test ?? []
    const port = /http:\/\/127\.0\.0\.1:(\d+)\//.exec(rest.join(' '))?.[1]
    expect([kind, program]).toEqual(['CMD', command])
    if (port === undefined) expect(STORES).toContain(imageKey(service))
    else expect(LISTENS[imageKey(service)]).toContain(Number(port))
  })

  test('mounts named volumes, and of the host only configuration, read-only', () => {
    for (const { from, mode } of mounts(service)) {
      if (from.startsWith('.')) {
        expect(from).toMatch(/^\.\/observability\//)
        expect(exists(from)).toBe(true)
        expect(mode).toBe('ro')
      } else {
        expect(Object.keys(compose.volumes)).toContain(from)
      }
    }
  })

  test('waits for no service that another profile may lack', () => {
    for (const other of Object.keys(service.depends_on ?? {}))
      expect(compose.services[other]?.profiles).toEqual(service.profiles)
  })
})

test('starts the right services by profile', () => {
  expect(names('jaeger')).toEqual(['jaeger'])
  expect(names('phoenix')).toEqual(['phoenix'])
  expect(names('metrics')).toEqual(['prometheus', 'grafana'])
  expect(names('langfuse').filter(name => !/^langfuse(-|$)/.test(name))).toEqual([])
  expect(names('all')).toEqual([
    'collector',
    'jaeger-behind-collector',
    'phoenix',
    'prometheus-behind-collector',
    'grafana',
  ])
  expect(new Set(services.flatMap(([, { profiles }]) => profiles))).toEqual(
    new Set(['jaeger', 'phoenix', 'langfuse', 'metrics', 'all']),
  )
})

test.each(SELECTIONS)('uses no port twice: %s %s %s %s', (...selection) => {
  const ports = ofProfiles(...selection.filter(Boolean)).flatMap(([, service]) =>
    published(service).map(({ hostPort }) => hostPort),
  )
  expect(ports).toEqual([...new Set(ports)])
})

test('has equal Jaegers except for their ports', () => {
  const { jaeger, 'jaeger-behind-collector': behind } = compose.services
  expect({ ...behind, ports: [], profiles: [], networks: {} }).toEqual({
    ...jaeger,
    ports: [],
    profiles: [],
    networks: {},
  })
})

test('has equal Prometheuses except for the target of the Collector', () => {
  const { prometheus, 'prometheus-behind-collector': behind } = compose.services
  const volumes = behind?.volumes?.filter(line => !line.includes('collector-target.yml'))
  expect({ ...behind, volumes, profiles: [], networks: {} }).toEqual({ ...prometheus, profiles: [], networks: {} })
  expect(behind?.networks?.['default']?.aliases).toEqual(['prometheus'])
})

test.each([
  ['jaeger', 'jaeger', 'jaeger'],
  ['phoenix', 'phoenix', 'phoenix'],
  ['otlp', 'all', 'collector'],
  ['jaeger', 'all', 'collector'],
  ['phoenix', 'all', 'phoenix'],
])('serves the default endpoint of the backend %s in the profile %s at %s', (type, profile, owner) => {
  const endpoint = new URL(backendRow(type)?.endpoint({}) ?? '')
  const there = ofProfiles(profile).filter(([, service]) =>
    published(service).some(({ hostPort }) => hostPort === Number(endpoint.port)),
  )
  expect(endpoint.hostname).toBe('127.0.0.1')
  expect(there.map(([name]) => name)).toEqual([owner])
})

test('pins by digest the images that the page of verification names, and no others', () => {
  const pinned = Object.entries(compose['x-images']).filter(([, { image }]) => image.includes('@sha256:'))
  const sentence = /pins by\s+digest\s(.+?): two public/s.exec(text('docs/verification.md'))?.[1] ?? ''
  const named = [...sentence.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name)
  expect(named).toEqual(pinned.map(([name]) => name))
})

test('states every version once, and uses every volume', () => {
  const file = text('docker-compose.yml')
  for (const { image } of Object.values(compose['x-images']))
    expect(file.split('\n').filter(line => line.includes(image))).toEqual([`    image: ${image}`])
  const used = services.flatMap(([, service]) => mounts(service).map(({ from }) => from))
  for (const volume of Object.keys(compose.volumes)) expect(used).toContain(volume)
})
