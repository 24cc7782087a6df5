/** A host that a bundler has made one file, with hookspan in it. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { build as esbuild, type Format } from 'esbuild'
import { rollup } from 'rollup'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { readExportLine, type StoredSpan } from '../../src/reading/stored-span.ts'
import { REPOSITORY } from '../cli/program.ts'
import { OtlpSink } from '../support/otlp-sink.ts'
import { SAMPLED, sample } from '../support/sample.ts'

const run = promisify(execFile)

/** One turn. With `exit` its process ends right after the last hook, before the event loop turns. */
const HOST = `import { createPlugin } from 'hookspan'
const plugin = createPlugin({ host: 'bundled', prices: true })
const ids = { session_id: 's1', turn_id: 't1', task_id: 't1' }
const request = { ...ids, api_request_id: 'r1', model: 'gpt-4o', provider: 'openai' }
plugin.emit('pre_llm_call', { ...ids, model: 'gpt-4o', user_message: 'hello' })
plugin.emit('pre_api_request', request)
plugin.emit('post_api_request', { ...request, usage: { input_tokens: 1000, output_tokens: 100 } })
plugin.emit('pre_tool_call', { ...ids, tool_name: 'terminal', tool_call_id: 'c1' })
plugin.emit('post_tool_call', { ...ids, tool_name: 'terminal', tool_call_id: 'c1', status: 'ok' })
plugin.emit('post_llm_call', ids)
void plugin.emit('on_session_end', { ...ids, completed: true })
if (process.argv.includes('exit')) process.exit()
plugin.shutdown()
`

/** Imports every entry, and loads hooks from a folder, which needs files of the package. */
const ALL = `import { loadHooks } from 'hookspan/hooks'
${Object.entries(packageJson.exports)
  .filter(([, target]) => typeof target === 'object')
  .map(
    ([name], at) =>
      `import * as entry${at} from 'hookspan${name.slice(1)}'\nconsole.log(Object.keys(entry${at}).length > 0)`,
  )
  .join('\n')}
loadHooks().then(({ lines }) => console.log(lines.join()))
`

const TREE = ['agent', 'agent > llm.gpt-4o', 'llm.gpt-4o > api.gpt-4o', 'llm.gpt-4o > tool.terminal']

let scratch = ''
const source = (name: string): string => join(scratch, 'source', `${name}.mjs`)

beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'hookspan-bundled-'))
  mkdirSync(join(scratch, 'source', 'node_modules'), { recursive: true })
  symlinkSync(REPOSITORY, join(scratch, 'source', 'node_modules', 'hookspan'))
  writeFileSync(source('host'), HOST)
  writeFileSync(source('all'), ALL)
})

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

interface Bundler {
  readonly name: string
  /** Writes the program as one file, and gives the command that runs it. */
  readonly bundle: (input: string, output: string) => Promise<readonly string[]>
}

function esbuildAs(format: Format, minify = false): Bundler {
  const name = `esbuild, ${format}${minify ? ', minified' : ''}`
  const bundle: Bundler['bundle'] = async (input, output) => {
    const outfile = `${output}.${format === 'cjs' ? 'cjs' : 'mjs'}`
    await esbuild({ entryPoints: [input], bundle: true, platform: 'node', format, minify, outfile, logLevel: 'silent' })
    return [process.execPath, outfile]
  }
  return { name, bundle }
}

const withRollup: Bundler = {
  name: 'rollup',
  async bundle(input, output) {
    const plugins = [nodeResolve({ preferBuiltins: true })]
    const bundle = await rollup({ input, plugins, external: /^node:/, treeshake: false, onwarn: () => undefined })
    const file = `${output}.mjs`
    await bundle.write({ file, inlineDynamicImports: true })
    await bundle.close()
    return [process.execPath, file]
  },
}

function bun(...flags: readonly string[]): Bundler {
  return {
    name: `bun build ${flags.join(' ')}`,
    async bundle(input, output) {
      const outfile = `${output}${flags.includes('--compile') ? '' : '.mjs'}`
      // Bun writes temporary files to its working directory.
      const args = ['build', input, ...flags, `--outfile=${outfile}`]
      await run(join(REPOSITORY, 'node_modules', '.bin', 'bun'), args, { cwd: scratch })
      return flags.includes('--compile') ? [outfile] : [process.execPath, outfile]
    },
  }
}

interface Bundled {
  readonly home: string
  readonly start: (...flags: readonly string[]) => Promise<{ readonly stdout: string; readonly stderr: string }>
}

/** The bundle runs in a home of its own, with nothing of the repository near it. */
async function bundled({ bundle }: Bundler, program: 'host' | 'all', config?: string): Promise<Bundled> {
  const home = mkdtempSync(join(scratch, 'home-'))
  mkdirSync(join(home, '.config', 'hookspan', 'hooks'), { recursive: true })
  if (config !== undefined) writeFileSync(join(home, '.config', 'hookspan', 'config.yaml'), config)
  writeFileSync(join(home, '.config', 'hookspan', 'hooks', 'one.mjs'), "import 'hookspan/hooks'")
  const [command = '', ...args] = await bundle(source(program), join(home, 'program'))
  const env = { HOME: home, PATH: '/usr/bin:/bin' }
  return { home, start: (...flags) => run(command, [...args, ...flags], { cwd: home, env }) }
}

function storedSpans(home: string): StoredSpan[] {
  const traces = join(home, '.local', 'state', 'hookspan', 'traces')
  const lines = readdirSync(traces).flatMap(name => readFileSync(join(traces, name), 'utf8').split('\n'))
  return lines.flatMap(line => (line === '' ? [] : readExportLine(line)))
}

/** `agent > llm`: each span below its parent. */
function treeOf(spans: readonly StoredSpan[]): string[] {
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]))
  return spans.map(({ name, parentSpanId = '' }) => [names.get(parentSpanId) ?? [], name].flat().join(' > ')).sort()
}

const HOST_BUNDLERS = [esbuildAs('cjs'), esbuildAs('esm'), esbuildAs('esm', true), withRollup, bun('--compile')]

describe.each(sample(HOST_BUNDLERS, 2))(`a host bundled by "$name", ${SAMPLED}`, bundler => {
  test('is traced as its configuration file says, also if it exits at once', async () => {
    const sink = await OtlpSink.start()
    const config = `backends:\n  - { type: otlp, endpoint: ${sink.url}/v1/traces, protocol: http/protobuf }\n`
    const { home, start } = await bundled(bundler, 'host', config)
    expect(await start()).toEqual({ stdout: '', stderr: '' })
    const spans = storedSpans(home)
    expect(treeOf(spans)).toEqual(TREE)
    expect(spans.find(({ name }) => name.startsWith('api'))?.attributes).toMatchObject({
      'hermes.cost.total': 0.0035,
    })
    const sent = sink.requests.filter(({ path }) => path === '/v1/traces')
    expect(sent.flatMap(({ records }) => records)).toHaveLength(TREE.length)
    rmSync(join(home, '.local'), { recursive: true })
    expect(await start('exit')).toEqual({ stdout: '', stderr: '' })
    expect(treeOf(storedSpans(home))).toEqual(TREE)
  })
})

test.each(sample([esbuildAs('cjs'), esbuildAs('esm'), bun('--compile')], 1))(
  `runs with every entry in a bundle by "$name", and reports why it loads no hooks of a folder, ${SAMPLED}`,
  async bundler => {
    const { start } = await bundled(bundler, 'all')
    const { stdout, stderr } = await start()
    expect(stderr).toBe('')
    const printed = stdout.trim().split('\n')
    expect(new Set(printed.slice(0, -1))).toEqual(new Set(['true']))
    expect(printed.at(-1)).toMatch(/hookspan is part of a bundle; mark `hookspan` as external in the bundler$/)
  },
)

test('runs with one line after a bundler that uses the files meant for Node', async () => {
  const { start } = await bundled(bun('--target=node'), 'host')
  const { stdout, stderr } = await start()
  expect(stdout).toBe('')
  expect(stderr).toBe(
    'hookspan: nothing is recorded, because it could not be started: files of hookspan are missing; ' +
      'if a bundler made this program, mark `hookspan` as external in it\n',
  )
})

test('is traced after esbuild with conditions of its own', async () => {
  const conditions: Bundler = {
    name: 'esbuild, --conditions',
    async bundle(input, output) {
      const outfile = `${output}.cjs`
      const conditions = ['worker']
      await esbuild({ entryPoints: [input], bundle: true, platform: 'node', conditions, outfile, logLevel: 'silent' })
      return [process.execPath, outfile]
    },
  }
  const { home, start } = await bundled(conditions, 'host')
  expect(await start()).toEqual({ stdout: '', stderr: '' })
  expect(treeOf(storedSpans(home))).toEqual(TREE)
})
