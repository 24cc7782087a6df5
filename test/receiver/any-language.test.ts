import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import packageJson from '../../package.json' with { type: 'json' }
import { RECEIVER_ENDPOINTS } from '../../src/agents/receiver-endpoints.ts'
import { HOOK_NAMES } from '../../src/contract/index.ts'
import { REFUSALS, type Refusal } from '../../src/receiver/refusal.ts'
import { Program, REPOSITORY } from '../cli/program.ts'
import { findProgram } from '../prometheus/tools.ts'
import { shapeOf } from '../support/drawn-shape.ts'
import { blocks, read, section } from '../support/pages.ts'
import { deepTest } from '../support/sample.ts'
import { until } from '../support/until.ts'
import { type Asked, FakeClock, Scene } from './scene.ts'

interface Body {
  readonly examples: Record<string, { readonly value: unknown }>
}

interface OpenApi {
  readonly info: { readonly version: string }
  readonly paths: {
    readonly '/v1/hooks': {
      readonly post: {
        readonly requestBody: { readonly content: Record<string, Body> }
        readonly responses: Record<string, { readonly headers?: object }>
      }
    }
  }
  readonly components: {
    readonly schemas: { readonly HookRecord: { readonly properties: Record<string, { enum?: readonly string[] }> } }
    readonly securitySchemes: { readonly token: { readonly name: string } }
  }
}

const API = parse(read('docs/openapi.yaml')) as OpenApi
const POST = API.paths['/v1/hooks'].post
const PATH = '/v1/hooks'
const ENDPOINTS = Object.fromEntries(Object.entries(RECEIVER_ENDPOINTS).filter(([path]) => path === PATH))
const RECORD = JSON.stringify({ hook: 'pre_llm_call', payload: { session_id: 's' } })

describe('docs/openapi.yaml', () => {
  test('has the version of the package, and every hook', () => {
    expect(API.info.version).toBe(packageJson.version)
    expect(API.components.schemas.HookRecord.properties['hook']?.enum).toEqual(HOOK_NAMES)
  })

  const examples = Object.entries(POST.requestBody.content).flatMap(([type, { examples }]) =>
    Object.entries(examples).map(([name, { value }]) => ({ name, type, value })),
  )

  test.each(examples)('has an example that the receiver records: $name, $type', async ({ type, value }) => {
    const scene = new Scene()
    const receiver = await scene.start({ endpoints: ENDPOINTS })
    const body = typeof value === 'string' ? value : JSON.stringify(value)
    expect(await scene.ask(receiver, PATH, { body, headers: { 'content-type': type } })).toMatchObject({ status: 204 })
    const records =
      typeof value === 'string'
        ? value
            .trimEnd()
            .split('\n')
            .map(line => JSON.parse(line))
        : value
    const hooks = [records].flat().map(record => (record as { hook: string }).hook)
    await until(() => scene.recorder.told.length === hooks.length)
    expect(scene.recorder.names).toEqual(hooks)
  })

  test.each<[string, Asked]>([
    ['204', { body: RECORD }],
    ['204', { body: gzipSync(RECORD), headers: { 'content-encoding': 'gzip' } }],
    ['400', { body: '{' }],
    ['401', { body: RECORD, token: null }],
    ['401', { body: RECORD, token: 'wrong' }],
    ['403', { body: RECORD, headers: { origin: 'http://example.com' } }],
    ['403', { body: RECORD, headers: { host: 'example.com' } }],
    ['405', { method: 'PUT', body: RECORD }],
    ['413', { body: `"${'x'.repeat(2000)}"` }],
    ['415', { body: RECORD, headers: { 'content-encoding': 'br' } }],
  ])('has the answer %s of the receiver: %o', async (status, asked) => {
    const scene = new Scene()
    const receiver = await scene.start({ endpoints: ENDPOINTS, limits: { bodyBytes: 1000 } })
    const answer = await scene.ask(receiver, PATH, asked)
    expect(String(answer.status)).toBe(status)
    expect(Object.keys(POST.responses)).toContain(status)
  })

  test('has the answer 503 of the receiver, and its header', async () => {
    const scene = new Scene()
    const receiver = await scene.start({ endpoints: ENDPOINTS, limits: { eventsPerSecond: 1 }, clock: new FakeClock() })
    expect(await scene.ask(receiver, PATH, { body: RECORD })).toMatchObject({ status: 204 })
    const { status, headers } = await scene.ask(receiver, PATH, { body: RECORD })
    expect(status).toBe(503)
    for (const name of Object.keys(POST.responses['503']?.headers ?? {})) expect(headers[name]).toBe('1')
  })

  /** Refusals of other paths, of spans and of clients of hookspan. */
  const ELSEWHERE: readonly Refusal[] = ['path', 'service', 'protobuf', 'older', 'signature']

  test('has the status of every refusal', () => {
    const statuses = Object.entries(REFUSALS).flatMap(([why, status]) =>
      status === 0 || ELSEWHERE.includes(why as Refusal) ? [] : [String(status)],
    )
    expect([...new Set(['204', ...statuses])].sort()).toEqual(Object.keys(POST.responses).sort())
  })
})

describe('docs/receiver.md', () => {
  const page = section(read('docs/receiver.md'), 'Any language')
  const [shell = ''] = blocks(page, 'sh')
  const [shown = ''] = blocks(page, 'text')
  let program: Program
  let environment: Record<string, string | undefined>

  beforeEach(async () => {
    program = new Program()
    const bin = join(program.home, 'bin')
    mkdirSync(bin)
    const main = join(REPOSITORY, 'dist', 'cli', 'main.js')
    writeFileSync(join(bin, 'npx'), `#!/bin/sh\nshift\nexec '${process.execPath}' '${main}' "$@"\n`, { mode: 0o755 })
    const { PATH: path, GOCACHE: cache = join(homedir(), '.cache', 'go-build') } = process.env
    environment = { PATH: `${bin}:${path}`, HOME: program.home, COLUMNS: '100', GOCACHE: cache }
    await program.run(['serve', '--detach'])
  })

  afterEach(async () => {
    await program.run(['serve', '--stop'])
    program.remove()
  })

  async function run(file: string, args: readonly string[]): Promise<void> {
    const { stderr } = await promisify(execFile)(file, args, { cwd: program.home, env: environment })
    expect(stderr).toBe('')
  }

  async function expectShownTree(): Promise<void> {
    await until(async () => (await program.run(['tree'])).stdout.includes('agent'))
    const { stdout } = await program.run(['tree', '--last', '1'], { env: { COLUMNS: '100' } })
    expect(shapeOf(stdout)).toBe(shapeOf(shown))
  }

  test('has commands with curl that record the shown tree', async () => {
    // The tree is shown once the records are processed, which on a busy machine is later than the next command.
    await run('sh', ['-ec', shell.replace(/^npx hookspan tree .*\n/m, '')])
    await expectShownTree()
  })

  const python = findProgram('python3')
  if (python !== undefined || process.env['HOOKSPAN_REQUIRE_PYTHON'] === '1') {
    test('has a Python program that records the shown tree', async () => {
      await run(python ?? 'python3', ['-c', blocks(page, 'python')[0] ?? ''])
      await expectShownTree()
    })
  }

  const go = findProgram('go')
  if (go !== undefined) {
    // The first time, the compiler builds its library, which takes a minute of the processor.
    deepTest('has a Go program that records the shown tree', { timeout: 600_000 }, async () => {
      writeFileSync(join(program.home, 'main.go'), blocks(page, 'go')[0] ?? '')
      await run(go, ['run', 'main.go'])
      await expectShownTree()
    })
  }
})
