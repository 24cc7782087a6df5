import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { config as configCommand } from '../../src/cli/commands/config.ts'
import { KEY_NAMES } from '../../src/plugin/config/keys.ts'
import { homeWith, put, scratchHome } from '../plugin/config/scratch-home.ts'
import { fakeIo } from './fake-io.ts'

const { run } = configCommand

interface Shown {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

async function config(args: string[], home: string, env: Record<string, string> = {}): Promise<Shown> {
  const io = fakeIo({ home, env })
  return { code: await run(args, io), ...io.written }
}

/** `[value, source]` of a key in the table. */
function rowOf({ stdout }: Shown, key: string): string[] | undefined {
  const line = stdout.split('\n').find(each => each.startsWith(`${key} `))
  return line?.split(/ {2,}/).slice(1)
}

const YAML = `
sample_rate: 0.5
project_name: \${PROJECT:-mine}
backends:
  - type: langfuse
    public_key: pk-lf-shown-nowhere
    secret_key_env: LANGFUSE_SECRET
    base_url: https://user:hunter2hunter2@langfuse.example
  - type: otlp
    endpoint: http://127.0.0.1:4318
    headers: { authorization: Bearer very-secret-token }
redact_patterns: ['my-own-secret-[0-9]+']
`

describe('hookspan config', () => {
  test('shows every key, its value and its source', async () => {
    const env = { HOOKSPAN_SPAN_NAMES: 'semconv', OTEL_SERVICE_NAME: 'my-service', LANGFUSE_SECRET: 'x' }
    const shown = await config([], homeWith(YAML), env)
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(rowOf(shown, 'sample_rate')).toEqual(['0.5', 'config.yaml line 2'])
    expect(rowOf(shown, 'project_name')).toEqual(['mine', 'config.yaml line 3'])
    expect(rowOf(shown, 'span_names')).toEqual(['semconv', 'HOOKSPAN_SPAN_NAMES'])
    expect(rowOf(shown, 'service_name')).toEqual(['my-service', 'OTEL_SERVICE_NAME'])
    expect(rowOf(shown, 'root_span_ttl_ms')).toEqual(['600000', 'default'])
    expect(rowOf(shown, 'backends[1]')?.[0]).toContain('type=otlp endpoint=http://127.0.0.1:4318')
    const keys = KEY_NAMES.filter(key => key !== 'backends')
    for (const key of keys) expect(rowOf(shown, key), key).toHaveLength(2)
  })

  test('shows no secret in any of its outputs', async () => {
    const env = { LANGFUSE_SECRET: 'sk-lf-from-the-environment', HOOKSPAN_BACKENDS: '' }
    for (const args of [[], ['--json'], ['--check'], ['--json', '--check']]) {
      const { stdout, stderr } = await config(args, homeWith(YAML), env)
      for (const secret of ['shown-nowhere', 'from-the-environment', 'hunter2', 'very-secret', 'my-own-secret']) {
        expect(stdout + stderr).not.toContain(secret)
      }
    }
    const shown = await config([], homeWith(YAML), env)
    expect(rowOf(shown, 'backends[0]')?.join(' ')).toMatch(/secret_key=<set>.*authorization: <set>/)
    expect(rowOf(shown, 'redact_patterns')).toEqual(['<set> (1)', 'config.yaml line 12'])
  })

  test('shows the file that is read, or its usual path', async () => {
    const home = homeWith(YAML)
    expect((await config([], home)).stdout).toMatch(
      new RegExp(`^Configuration file: ${home}/.config/hookspan/config.yaml\n\n`),
    )
    const empty = scratchHome()
    expect((await config([], empty)).stdout).toMatch(
      new RegExp(`^Configuration file: none; the usual place is ${empty}/.config/hookspan/config.yaml\n\n`),
    )
    expect((await config([], '')).stdout).toMatch(/^Configuration file: none; there is no home directory to look in\n/)
    const other = put(empty, 'other.yaml', 'sample_rate: 0.1\n')
    expect((await config([], empty, { HOOKSPAN_CONFIG: other })).stdout).toContain(`Configuration file: ${other}\n`)
  })

  test('reports errors, and shows the rest', async () => {
    const shown = await config([], homeWith('root_span_ttl_ms: soon\nsampel_rate: 1\n'))
    expect(shown.code).toBe(0)
    expect(shown.stderr.trimEnd().split('\n').sort()).toEqual([
      'hookspan: config: root_span_ttl_ms: expected a number ≥ 0, got "soon" (config.yaml line 1); using 600000',
      'hookspan: config: sampel_rate: there is no such key (config.yaml line 2); did you mean sample_rate?',
    ])
    expect(rowOf(shown, 'root_span_ttl_ms')).toEqual(['600000', 'default'])
  })
})

describe('--check', () => {
  test('succeeds for a valid file', async () => {
    expect(await config(['--check'], homeWith(YAML), { LANGFUSE_SECRET: 'x' })).toEqual({
      code: 0,
      stdout: 'The configuration is valid.\n',
      stderr: '',
    })
  })

  test.each([
    ['a value', 'root_span_ttl_ms: soon\n'],
    ['a key', 'sampel_rate: 1\n'],
    ['a backend', 'backends: [{ type: jeager }]\n'],
    ['the file', 'a: [\n'],
    ['a backend without a required field', 'backends: [{ type: langfuse }]\n'],
    ['a backend without an address', 'backends: [elastic]\n'],
  ])('reports only the error of %s, and exits with 1', async (_what, yaml) => {
    const { code, stdout, stderr } = await config(['--check'], homeWith(yaml))
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^hookspan: config: [^\n]+\n$/)
  })
})

test('names the line of each backend', async () => {
  const home = homeWith('backends:\n  - type: console\n  - type: datadog\n')
  const { stderr } = await config(['--check'], home)
  expect(stderr).toBe(
    'hookspan: config: backends[1]: backend datadog is off: api_key is missing. Set api_key, or api_key_env to the name of a variable (config.yaml line 3)\n',
  )
  const shown = await config([], home)
  expect(rowOf(shown, 'backends[0]')?.at(-1)).toBe('config.yaml line 2')
  expect(rowOf(shown, 'backends[1]')?.at(-1)).toBe('config.yaml line 3')
})

describe('--init', () => {
  test('writes a valid file, for its user alone, that only comments', async () => {
    const home = scratchHome()
    const path = join(home, '.config/hookspan/config.yaml')
    expect(await config(['--init'], home)).toEqual({ code: 0, stdout: `Written: ${path}\n`, stderr: '' })
    expect((await config(['--check'], home)).code).toBe(0)
    if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600)
    const text = readFileSync(path, 'utf8')
    expect(text.split('\n').filter(line => line !== '' && !line.startsWith('#'))).toEqual([])
    const keys = text.split('\n').flatMap(line => /^# ([a-z_]+):(?: |$)/.exec(line)?.[1] ?? [])
    expect(keys.length).toBeGreaterThan(4)
    expect(keys.filter(key => !KEY_NAMES.some(name => name === key))).toEqual([])
    writeFileSync(path, text.replace(/^# (?=[a-z_]+:(?: |$)| )/gm, ''))
    expect(await config(['--check'], home, { COLLECTOR_TOKEN: 'x' })).toMatchObject({ code: 0, stderr: '' })
  })

  test('names the schema in the line that editors read', async () => {
    const home = scratchHome()
    await config(['--init'], home)
    const [first] = readFileSync(join(home, '.config/hookspan/config.yaml'), 'utf8').split('\n')
    const schema = JSON.parse(readFileSync(new URL('../../docs/config.schema.json', import.meta.url), 'utf8'))
    expect(first).toBe(`# yaml-language-server: $schema=${schema.$id}`)
  })

  test('keeps an existing file', async () => {
    const home = homeWith('sample_rate: 0.5\n')
    const { code, stdout, stderr } = await config(['--init'], home)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('there is a configuration already')
    expect(readFileSync(join(home, '.config/hookspan/config.yaml'), 'utf8')).toBe('sample_rate: 0.5\n')
  })

  test('cannot be combined', async () => {
    expect((await config(['--init', '--check'], scratchHome())).code).toBe(2)
  })
})

describe('--json', () => {
  test('is one object', async () => {
    const home = homeWith('sample_rate: 0.5\nroot_span_ttl_ms: soon\n')
    const { code, stdout, stderr } = await config(['--json'], home)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const { file, values, problems } = JSON.parse(stdout)
    expect(stdout.trimEnd()).not.toContain('\n')
    expect(file).toBe(`${home}/.config/hookspan/config.yaml`)
    expect(values).toContainEqual({ key: 'sample_rate', value: '0.5', source: 'config.yaml line 1' })
    expect(problems).toEqual([
      { level: 'error', key: 'root_span_ttl_ms', message: expect.stringContaining('expected a number') },
    ])
  })

  test('reports errors by its exit code with --check', async () => {
    expect((await config(['--json', '--check'], homeWith('sampel_rate: 1\n'))).code).toBe(1)
    const { code, stdout } = await config(['--json', '--check'], scratchHome())
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ file: null, problems: [] })
  })
})

test.each<[string[], string]>([
  [['--bogus'], 'unknown option --bogus'],
  [['sample_rate'], 'expected no argument, got "sample_rate"'],
])('is used wrongly: %j', async (args, message) => {
  expect(await config(args, scratchHome())).toEqual({
    code: 2,
    stdout: '',
    stderr: `hookspan config: ${message}\nUsage: hookspan config [OPTIONS]; see --help\n`,
  })
})

test('explains its use with --help', async () => {
  const { code, stdout } = await config(['--help'], scratchHome())
  expect(code).toBe(0)
  expect(stdout).toMatch(/^Usage: hookspan config [\s\S]*--check[\s\S]*--json/)
})
