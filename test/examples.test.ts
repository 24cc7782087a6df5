import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }
import { Program } from './cli/program.ts'
import { findProgram } from './prometheus/tools.ts'
import { afterwards } from './support/afterwards.ts'
import { startModelServer } from './support/model-server.mjs'
import { links, ROOT, read, script } from './support/pages.ts'
import { until } from './support/until.ts'

const { LIVE_HOSTS } = await script<{
  LIVE_HOSTS: Record<string, { name: string; version: string; also?: readonly string[] }>
}>('live-hosts.mjs')
const { BACKEND_SERVERS } = await script<{
  BACKEND_SERVERS: Record<string, { packages?: Record<string, string> }>
}>('backend-servers.mjs')

const EXAMPLES = readdirSync(join(ROOT, 'examples'), { withFileTypes: true }).flatMap(entry =>
  entry.isDirectory() ? [entry.name] : [],
)

interface ExamplePackage {
  readonly private: boolean
  readonly scripts: { readonly start: string }
  readonly dependencies: Record<string, string>
}

function packageOf(example: string): ExamplePackage {
  return JSON.parse(read(`examples/${example}/package.json`)) as ExamplePackage
}

/** `ai@7.0.173`: the versions with which the suites run the examples. */
const TESTED = [
  `hookspan@${packageJson.version}`,
  'express@5.3.0', // a dependency of the SDK of MCP, in its suite
  ...Object.entries(BACKEND_SERVERS['mcp-sdk']?.packages ?? {}).map(([name, version]) => `${name}@${version}`),
  ...Object.values(LIVE_HOSTS).flatMap(({ name, version, also = [] }) => [`${name}@${version}`, ...also]),
]

/** The folder of an example as its user has it, in a home of its own. */
function projectOf(example: string, home: string): string {
  const project = join(home, example)
  cpSync(join(ROOT, 'examples', example), project, { recursive: true })
  mkdirSync(join(project, 'node_modules'))
  symlinkSync(ROOT, join(project, 'node_modules', 'hookspan'))
  return project
}

describe('the examples', () => {
  test('are all in the list', () => {
    const named = links('examples/README.md').map(({ path }) => path.replace('examples/', ''))
    expect(named.sort()).toEqual(EXAMPLES.toSorted())
  })

  test.each(EXAMPLES)('has a package and a short page: %s', example => {
    const { private: isPrivate, scripts, dependencies } = packageOf(example)
    expect(isPrivate).toBe(true)
    for (const [, file = ''] of scripts.start.matchAll(/(?:node|python3) (\S+)/g))
      expect(existsSync(join(ROOT, 'examples', example, file))).toBe(true)
    const named = Object.entries(dependencies).map(([name, version]) => `${name}@${version}`)
    expect(named.filter(each => !TESTED.includes(each))).toEqual([])
    expect(read(`examples/${example}/README.md`).trimEnd().split('\n').length).toBeLessThanOrEqual(16)
    for (const { path } of links(`examples/${example}/README.md`)) expect(existsSync(join(ROOT, path)), path).toBe(true)
  })
})

test('traces the agent of examples/own-agent', async () => {
  const server = await startModelServer(({ toolResults }) =>
    toolResults > 0 ? { text: 'It is sunny.' } : { toolCalls: [{ name: 'get_weather', arguments: { city: 'Paris' } }] },
  )
  afterwards(() => server.close())
  const program = new Program()
  afterwards(() => program.remove())
  const project = projectOf('own-agent', program.home)
  const env = { PATH: process.env['PATH'], HOME: program.home, OPENAI_BASE_URL: `${server.url}/v1`, MODEL: 'fake-1' }
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['agent.mjs'], { cwd: project, env })
  expect({ stdout, stderr }).toEqual({ stdout: 'It is sunny.\n', stderr: '' })
  const { stdout: tree } = await program.run(['tree'])
  const spans = tree.match(/(?:agent|llm|api|tool)(?= {2}How|\.\w)/g)
  expect(spans).toEqual(['agent', 'llm', 'api', 'tool', 'api'])
})

const python = findProgram('python3')
if (python !== undefined || process.env['HOOKSPAN_REQUIRE_PYTHON'] === '1') {
  test('traces the program of examples/python-http', async () => {
    const program = new Program()
    afterwards(async () => {
      await program.run(['serve', '--stop'])
      program.remove()
    })
    const project = projectOf('python-http', program.home)
    await program.run(['serve', '--detach'])
    const env = { PATH: process.env['PATH'], HOME: program.home }
    const { stdout } = await promisify(execFile)(python ?? 'python3', ['agent.py'], { cwd: project, env })
    expect(stdout).toBe('Two things.\n')
    await until(async () => (await program.run(['tree'])).stdout.includes('tool.read_file'))
  })
}
