import { execFile } from 'node:child_process'
import {
  accessSync,
  constants,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }
import lock from '../package-lock.json' with { type: 'json' }
import { REPOSITORY } from './cli/program.ts'

const run = promisify(execFile)
const BUN = join(REPOSITORY, 'node_modules', 'bun', 'bin', 'bun.exe')
const DENO = [
  join(REPOSITORY, 'node_modules', 'deno', process.platform === 'win32' ? 'deno.exe' : 'deno'),
  ...['run', '--allow-all', '--node-modules-dir=manual'],
]

interface Packed {
  readonly files: readonly { readonly path: string; readonly size: number }[]
}

/** Files that would be published. No script of ours runs: it would build `dist` anew under the feet of other tests. */
async function packedFiles(folder = REPOSITORY): Promise<Packed['files']> {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: folder })
  const answer = JSON.parse(stdout) as Packed[] | Packed
  return (Array.isArray(answer) ? answer : [answer]).flatMap(({ files }) => files)
}

let files: Packed['files']
let paths: readonly string[]
/** A project that has the package installed, as it would be published, and nothing else of this repository. */
let project = ''
/** The package in it. */
let root = ''

beforeAll(async () => {
  files = await packedFiles()
  paths = files.map(({ path }) => path)
  const scratch = mkdtempSync(join(tmpdir(), 'hookspan-package-'))
  project = join(scratch, 'project')
  root = join(scratch, 'hookspan')
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    cpSync(join(REPOSITORY, path), join(root, path))
  }
  for (const name of Object.keys(packageJson.dependencies)) {
    const link = join(root, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(REPOSITORY, 'node_modules', name), link)
  }
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{"name":"project","version":"1.0.0","private":true,"type":"module"}')
  await run('npm', ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', root], { cwd: project })
})

afterAll(() => rmSync(dirname(project), { recursive: true, force: true }))

/** Runs the body of a module in the project. */
async function inProject(body: string, ...flags: readonly string[]): Promise<string> {
  const script = join(project, 'script.js')
  writeFileSync(script, body)
  const env = { PATH: process.env['PATH'], HOME: project }
  return (await run(process.execPath, [...flags, script], { cwd: project, env })).stdout
}

const EXPECTED: readonly RegExp[] = [
  /^dist\/(.+\.d\.ts|(index|testing|plugin\/(mcp|pino)\/index|cli\/main|trace-index\/index-thread|guards\/((builtin\/)?index|isolated-thread)|agents\/[\w-]+\/(index|hooks)|chunks\/[\w-]+)\.js|(hook|plugin\/(core-and-pipeline|opentelemetry))\.cjs)$/,
  /^dist\/(hook\.sh|chunks\/licenses\.txt|page\/(index\.html|icon\.svg|page\.(js|css)|part-\w+\.js|licenses\.txt))$/,
  /^fixtures\/[\w.-]+\.jsonl$/,
  /^integrations\/hermes\/(__init__\.py|receiver\.py|guards\.py|plugin\.yaml|pyproject\.toml|gateway\/(HOOK\.yaml|handler\.py))$/,
  /^integrations\/claude-code\/(\.claude-plugin\/plugin\.json|hooks\/hooks\.json)$/,
  /^docs\/(.+\.md|openapi\.yaml|config\.schema\.json)$/,
  /^integrations\/locus\/(\w+\.py|pyproject\.toml)$/,
  /^observability\/.+\.(md|ya?ml|json|mjs|example)$/,
  /^(package\.json|openclaw\.plugin\.json|docker-compose\.yml|[A-Z]+(\.md)?)$/,
]

describe('the published files', () => {
  test('is the program, its recordings and its documentation', () => {
    expect(paths).toEqual(
      expect.arrayContaining([
        'package.json',
        'dist/index.js',
        'dist/index.d.ts',
        'dist/testing.js',
        'dist/testing.d.ts',
        'dist/cli/main.js',
        'dist/page/index.html',
        'dist/page/page.js',
        'fixtures/hermes-turn.jsonl',
        'fixtures/demo-session.jsonl',
        'docs/configuration.md',
        'docs/backends.md',
        'docs/privacy.md',
        'docker-compose.yml',
        'observability/prometheus.yml',
        'openclaw.plugin.json',
      ]),
    )
    for (const entry of Object.values(packageJson.exports)) {
      for (const file of typeof entry === 'string' ? [entry] : Object.values(entry))
        expect(paths).toContain(file.slice(2))
    }
  })

  test('is nothing else', () => {
    expect(paths.filter(path => !EXPECTED.some(expected => expected.test(path)))).toEqual([])
    expect(paths.filter(path => /(^|\/)(test|src|bench|scripts|node_modules)\/|\.test\.[jt]s$/.test(path))).toEqual([])
  })

  test('has no secrets and no targets of the local stack', async () => {
    const folder = join(dirname(project), 'with-secrets')
    const local = readFileSync(join(REPOSITORY, '.gitignore'), 'utf8').match(/^observability\/.+$/gm) ?? []
    mkdirSync(join(folder, 'observability', 'targets'), { recursive: true })
    cpSync(join(REPOSITORY, 'package.json'), join(folder, 'package.json'))
    for (const path of local) writeFileSync(join(folder, path.replace('*', 'hookspan')), 'secret')
    const packed = await packedFiles(folder)
    expect(local).toHaveLength(2)
    expect(packed.map(({ path }) => path)).toEqual(['package.json'])
  })

  test('is 5 MB at most', () => {
    expect(files.reduce((sum, { size }) => sum + size, 0)).toBeLessThan(5_000_000)
  })

  test('names the repository by one organisation', () => {
    const [, address] = /^git\+(https:\/\/github\.com\/[\w-]+\/hookspan)\.git$/.exec(packageJson.repository.url) ?? []
    expect(packageJson.homepage).toBe(`${address}#readme`)
    expect(packageJson.bugs).toBe(`${address}/issues`)
  })

  test('names no path of the machine that built it', () => {
    const homes = [REPOSITORY, homedir()].filter(path => path.split('/').length > 2)
    for (const path of paths) {
      const text = readFileSync(join(root, path), 'utf8')
      for (const home of homes) expect(text.includes(home), `${path} names ${home}`).toBe(false)
    }
  })
})

describe('installed in a project', () => {
  /** What each entry gives. Agents load some of them by what they export, so nothing else may be there. */
  const ENTRIES: Readonly<Record<string, readonly string[]>> = {
    hookspan: ['HOOKS', 'HOOK_NAMES', 'createPlugin', 'isHookName', 'register'],
    'hookspan/testing': ['createTestPlugin'],
    'hookspan/mcp': ['carryContext', 'traceMcpServer'],
    'hookspan/pino': ['default', 'logStream'],
    'hookspan/pi': ['createPiExtension', 'default'],
    'hookspan/openclaw': ['default'],
    'hookspan/opencode': ['HookspanPlugin'],
    // Where opencode looks when its configuration names the package.
    'hookspan/server': ['HookspanPlugin'],
    'hookspan/claude-agent-sdk': ['traceQuery'],
    'hookspan/openai-agents': ['createTraceProcessor', 'traceRunner'],
    'hookspan/ai-sdk': ['createTelemetry'],
    'hookspan/hooks': [
      'HookPriority',
      'HostHooks',
      'PRIORITY',
      'ask',
      'block',
      'createHooks',
      'defineHook',
      'fromExtension',
      'fromProvider',
      'inject',
      'loadHooks',
      'pass',
      'retry',
      'rewrite',
      'runHooks',
      'toolCallOf',
    ],
    'hookspan/hooks/builtin': [
      'budget',
      'contentFilter',
      'guardrails',
      'logging',
      'loopGuard',
      'modelRetry',
      'steering',
      'structuredLogging',
      'workflowGuard',
    ],
    'hookspan/hooks/pi': ['ABLE', 'attachHooks'],
    'hookspan/hooks/openclaw': ['ABLE', 'attachHooks'],
    'hookspan/hooks/opencode': ['ABLE', 'attachHooks'],
    'hookspan/hooks/claude-agent-sdk': ['ABLE', 'attachHooks'],
    'hookspan/hooks/openai-agents': ['ABLE', 'attachHooks'],
    'hookspan/hooks/ai-sdk': ['ABLE', 'attachHooks'],
  }

  test('has these entries', () => {
    const names = Object.keys(packageJson.exports).map(name => `hookspan${name.slice(1)}`)
    expect(names.toSorted()).toEqual([...Object.keys(ENTRIES), 'hookspan/package.json'].toSorted())
  })

  test('exports its entries and its package.json, and nothing else', async () => {
    const body = `import { createRequire } from 'node:module'
      const given = {}
      for (const name of ${JSON.stringify(Object.keys(ENTRIES))}) given[name] = Object.keys(await import(name)).sort()
      const { version } = createRequire(import.meta.url)('hookspan/package.json')
      const refused = await import('hookspan/dist/tracker/core.js').catch(({ code }) => code)
      process.stdout.write(JSON.stringify({ given, version, refused }))`
    expect(JSON.parse(await inProject(body))).toEqual({
      given: Object.fromEntries(Object.entries(ENTRIES).map(([name, names]) => [name, names.toSorted()])),
      version: packageJson.version,
      refused: 'ERR_PACKAGE_PATH_NOT_EXPORTED',
    })
  })

  const TURN = `const plugin = createTestPlugin()
    const ids = { session_id: 's', turn_id: 't' }
    plugin.emit('pre_llm_call', { ...ids, model: 'm' })
    plugin.emit('post_llm_call', ids)
    plugin.emit('on_session_end', { ...ids, completed: true })
    process.stdout.write(plugin.tree())`

  test.each([
    [
      'a CommonJS program',
      'program.cjs',
      "const { createTestPlugin } = require('hookspan/testing')",
      [process.execPath],
    ],
    ['Bun', 'program.mjs', "import { createTestPlugin } from 'hookspan/testing'", [BUN]],
    ['Deno', 'program.mjs', "import { createTestPlugin } from 'hookspan/testing'", DENO],
  ])('records a turn in %s', async (_, name, load, [runtime = '', ...flags]) => {
    writeFileSync(join(project, name), `${load}\n${TURN}`)
    const env = { PATH: process.env['PATH'], HOME: project, NODE_NO_WARNINGS: '1' }
    const { stdout } = await run(runtime, [...flags, join(project, name)], { cwd: project, env })
    expect(stdout).toBe('agent OK\n  llm.m OK')
  })

  test("ends the viewer's thread in Deno, whose port cannot be closed", async () => {
    const script = join(project, 'thread.mjs')
    const thread = join(root, 'dist', 'trace-index', 'index-thread.js')
    const body = `import { Worker } from 'node:worker_threads'
      import { pathToFileURL } from 'node:url'
      const workerData = { kind: 'log', stateDirectory: ${JSON.stringify(join(project, 'state'))} }
      const worker = new Worker(pathToFileURL(${JSON.stringify(thread)}), { workerData })
      worker.once('message', () => worker.postMessage('close'))
      worker.on('error', error => console.log(error.message))
      worker.on('exit', () => console.log('ended'))`
    writeFileSync(script, body)
    const [deno = '', ...flags] = DENO
    const env = { PATH: process.env['PATH'], HOME: project }
    expect(await run(deno, [...flags, script], { cwd: project, env })).toEqual({ stdout: 'ended\n', stderr: '' })
  })

  test('loads no other package on import', async () => {
    const body = `import { createRequire } from 'node:module'
      await import('hookspan')
      const paths = Object.keys(createRequire(import.meta.url).cache)
      const names = paths.flatMap(path => /.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(path)?.[1] ?? [])
      process.stdout.write(JSON.stringify([...new Set(names)]))`
    expect(JSON.parse(await inProject(body))).toEqual([])
  })

  test('opens a handful of files', () => {
    const opened = (path: string, found = new Set<string>()): Set<string> => {
      if (found.has(path)) return found
      found.add(path)
      const imports = readFileSync(path, 'utf8').matchAll(/(?<=^|[;\n])(?:import|export)[^;"]*"([.#][^"]+)";/g)
      for (const [, name = ''] of imports) {
        const target = name === '#load' ? join(root, packageJson.imports['#load']['node-addons']) : name
        opened(resolve(dirname(path), target), found)
      }
      return found
    }
    for (const entry of Object.values(packageJson.exports)) {
      if (typeof entry === 'object') {
        const { size } = opened(join(root, entry.default))
        if (entry.default === './dist/plugin/mcp/index.js') expect(size).toBe(1)
        else expect(size, entry.default).toBeGreaterThan(1)
        expect(size, entry.default).toBeLessThanOrEqual(15)
      }
    }
  })

  test('shares the state of a process among its entries', async () => {
    const body = `import { createPlugin } from 'hookspan'
      import { createPiExtension } from 'hookspan/pi'
      createPlugin({ handle_signals: true, local_log: false })
      createPiExtension({ handle_signals: true, local_log: false })({ on() {} })
      process.stdout.write(String(process.listenerCount('SIGTERM')))
      process.exit()`
    expect(await inProject(body)).toBe('1')
  })

  test('records an event once with two copies in a process', async () => {
    const copy = join(dirname(project), 'copy')
    cpSync(root, copy, { recursive: true, verbatimSymlinks: true })
    const capture = join(REPOSITORY, 'test', 'fixtures', 'pi', 'tool.jsonl')
    const body = `import { readFileSync } from 'node:fs'
      import one from 'hookspan/pi'
      import other from ${JSON.stringify(join(copy, packageJson.exports['./pi'].default))}
      const handlers = []
      const pi = { on: (name, handler) => handlers.push({ name, handler }) }
      one(pi)
      other(pi)
      for (const line of readFileSync(${JSON.stringify(capture)}, 'utf8').trimEnd().split('\\n').slice(1)) {
        const { event, data, context } = JSON.parse(line)
        const given = { ...context, sessionManager: { getSessionId: () => context.sessionId } }
        for (const { name, handler } of handlers) if (name === event) await handler(data, given)
      }
      const { plugin } = globalThis[Symbol.for('hookspan.hosts')].get('pi')
      process.stdout.write(String(plugin.stats().backends[0].delivered))`
    expect(await inProject(body)).toBe('5')
  })

  test('has our functions in a stack trace', async () => {
    const body = `import { createPlugin } from 'hookspan'
      const show = () => process.stdout.write(new Error().stack)
      createPlugin({ enabled: false, no_such_key: 1, logger: { warn: show, error: show } })`
    expect(await inProject(body)).toMatch(/at startPlugin \(\S*\/dist\/chunks\/[\w-]+\.js:\d+:\d+\)/)
  })

  test('has a program that runs by its name, with its recordings', async () => {
    const bin = join(project, 'node_modules', '.bin', 'hookspan')
    expect(readFileSync(bin, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
    accessSync(bin, constants.X_OK)
    const env = { PATH: process.env['PATH'], HOME: project }
    const { stdout } = await run(bin, ['demo'], { cwd: project, env })
    expect(stdout.match(/^● /gm)).toHaveLength(4)
    const [, compose = ''] = /docker compose -f (\S+) --profile jaeger up -d && npx hookspan demo/.exec(stdout) ?? []
    expect(readFileSync(resolve(project, compose), 'utf8')).toContain('profiles: [jaeger]')
  })
})

describe('the dependencies', () => {
  test('is one version each, to the letter', () => {
    for (const [name, version] of Object.entries({ ...packageJson.dependencies, ...packageJson.devDependencies })) {
      expect(version, name).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/)
    }
  })

  test('is locked without the address that it was loaded from', () => {
    const packages = Object.entries(lock.packages as Record<string, { resolved?: string; integrity?: string }>)
    expect(packages.length).toBeGreaterThan(Object.keys(packageJson.dependencies).length)
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
    for (const [path, { integrity }] of packages) if (path !== '') expect(integrity, path).toMatch(/^sha512-/)
  })

  test('is locked as in package.json', () => {
    const { '': own } = lock.packages
    expect(own).toMatchObject({ version: packageJson.version, dependencies: packageJson.dependencies })
    expect(own.devDependencies).toEqual(packageJson.devDependencies)
  })
})
