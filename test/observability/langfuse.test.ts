import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { planBackend } from '../../src/delivery/pipeline/backend-plan.ts'
import { readBackends } from '../../src/plugin/config/backends.ts'
import { Problems } from '../../src/plugin/config/reading.ts'
import { compose, ofProfiles, published } from './stack-files.ts'

const SCRIPT = fileURLToPath(new URL('../../observability/langfuse-secrets.mjs', import.meta.url))
const SECRET_NAME = /PASSWORD|SECRET|SALT|AUTH$|_KEY$/

let folder: string
let output: string

function runScript(): string {
  return execFileSync(process.execPath, [join(folder, 'langfuse-secrets.mjs')], { encoding: 'utf8' })
}

function secrets(): Map<string, string> {
  const lines = readFileSync(join(folder, 'langfuse.env'), 'utf8').trim().split('\n')
  return new Map(lines.map(line => line.split('=') as [string, string]))
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'hookspan-langfuse-'))
  copyFileSync(SCRIPT, join(folder, 'langfuse-secrets.mjs'))
  output = runScript()
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('writes secrets that only the user can read, and keeps them', () => {
  const written = secrets()
  expect(statSync(join(folder, 'langfuse.env')).mode & 0o077).toBe(0)
  expect(written.get('ENCRYPTION_KEY')).toMatch(/^[0-9a-f]{64}$/)
  expect(runScript()).toBe(output)
  expect(secrets()).toEqual(written)
})

test('prints a configuration that sends to the Langfuse of the compose file', () => {
  const { backends } = parse(output.slice(output.indexOf('backends:')))
  const site = {
    path: 'backends',
    name: 'backends',
    level: 'error',
    problems: new Problems(),
    env: {},
    home: '/',
  } as const
  const read = readBackends(backends, { ...site, place: () => '' })
  const [backend] = 'value' in read ? read.value : []
  const plan = backend && planBackend(backend)
  expect(plan).toMatchObject({ ok: true, warnings: [] })
  const [port] = published(compose.services['langfuse'] as never)
  expect(plan?.ok && plan.plan.urls.traces).toBe(`http://127.0.0.1:${port?.hostPort}/api/public/otel/v1/traces`)
})

test('has a secret for each service, and the compose file has none', () => {
  const written = secrets()
  const services = ofProfiles('langfuse')
  expect(services.length).toBeGreaterThan(2)
  for (const [, { environment = {}, env_file }] of services) {
    expect(env_file).toEqual([{ path: 'observability/langfuse.env', required: false }])
    const settings = Object.keys(environment).filter(name => name !== 'LANGFUSE_S3_EVENT_UPLOAD_ACCESS_KEY_ID')
    expect(settings.filter(name => SECRET_NAME.test(name))).toEqual([])
  }
  // A store without its secret must not start without a password.
  for (const name of ['redis', 'minio']) {
    const [, required = ''] =
      /\$\$\{(\w+):\?/.exec(compose.services[`langfuse-${name}`]?.command?.join(' ') ?? '') ?? []
    expect(written.has(required)).toBe(true)
  }
  for (const [one, other] of [
    ['POSTGRES_PASSWORD', 'DATABASE_PASSWORD'],
    ['MINIO_ROOT_PASSWORD', 'LANGFUSE_S3_EVENT_UPLOAD_SECRET_ACCESS_KEY'],
  ] as const)
    expect(written.get(one)).toBe(written.get(other))
})
