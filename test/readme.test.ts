import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { COMMANDS } from '../src/cli/commands.ts'
import { BACKENDS } from '../src/delivery/backends/rows.ts'
import { BACKEND_FIELDS } from '../src/plugin/config/backends.ts'
import { HOOKS_FIELDS } from '../src/plugin/config/hooks.ts'
import { KEEP_FIELDS } from '../src/plugin/config/keep.ts'
import { KEY_NAMES, variableOf } from '../src/plugin/config/keys.ts'
import { readExportLine } from '../src/reading/stored-span.ts'
import { buildForest, type TraceTree } from '../src/reading/trace-forest.ts'
import { SERIES } from './observability/prometheus-names.ts'
import { messages, resolved } from './plugin/config/scratch-home.ts'
import { shapeOf } from './support/drawn-shape.ts'
import { blocks, inlineCode, links, PAGES, ROOT, read, script } from './support/pages.ts'

const README = read('README.md')
const { PICTURES } = await script<{
  PICTURES: { readonly readme: readonly string[]; readonly view: readonly string[] }
}>('write-pictures.mjs')
const { renderTreeSvg } = await script<{
  renderTreeSvg(tree: TraceTree, options: { readonly width: number }): string
}>('tree-svg.mjs')
const scratch: string[] = []

afterEach(() => {
  for (const directory of scratch.splice(0)) rmSync(directory, { recursive: true, force: true })
})

test('is read in one go: at most 150 lines', () => {
  expect(README.trimEnd().split('\n').length).toBeLessThanOrEqual(150)
})

/** Every word of the source, the names that Prometheus gives, and what other products call their own. */
const KNOWN = new Set([
  ...['src', 'integrations', 'test/live/locus'].flatMap(room =>
    readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })
      .filter(path => /\.(ts|py)$/.test(path))
      .flatMap(path => read(`${room}/${path}`).match(/\w+/g) ?? []),
  ),
  ...SERIES.map(({ name }) => name),
  // What the page of many machines says of the Collector stands in its configuration, or is why it does not.
  ...(read('observability/collector-gateway.yaml').match(/\w+/g) ?? []),
  ...['tail_sampling', 'decision_wait', 'otelcol_exporter_send_failed_spans', 'target_info'],
  'unknown_metrics',
  ...['before_model_call', 'after_model_call', 'token_budget', 'secret_arguments', 'code_mode'],
])

function scratchHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'hookspan-readme-'))
  scratch.push(home)
  return home
}

/** What Node prints with these arguments, in the environment of nobody. */
function printed(args: readonly string[], home: string): string {
  const env = { PATH: process.env['PATH'], HOME: home, XDG_STATE_HOME: home, COLUMNS: '100' }
  return execFileSync(process.execPath, args, { cwd: ROOT, env, encoding: 'utf8', stdio: 'pipe' })
}

/** Each program of README.md that has a tree below it, before the next one. */
function programsWithTrees(): [program: string, tree: string][] {
  return README.split('```js\n')
    .slice(1)
    .flatMap(part => {
      const [program = ''] = part.split('```')
      return blocks(part.slice(part.indexOf('\n```\n') + 5), 'text').map(tree => [program, tree] as [string, string])
    })
}

function allCode(page: string): string[] {
  return [...inlineCode(page), ...blocks(page).flatMap(body => body.split('\n'))]
}

/** `hookspan COMMAND …`, as it is named in a piece of code. */
function calls(code: string): { readonly name: string; readonly options: readonly string[] }[] {
  return [...code.matchAll(/(?<![\w/.-])hookspan ([a-z]+)([^|&]*)/g)].map(([, name = '', rest = '']) => ({
    name,
    options: rest.match(/--[a-z][a-z-]*/g) ?? [],
  }))
}

/** The options of each command. Loaded before the tests: on a busy machine it takes longer than a test may. */
const OPTIONS = new Map(
  await Promise.all(COMMANDS.map(async row => [row.name, Object.keys((await row.load()).options)] as const)),
)

describe.each(PAGES.filter(path => !path.startsWith('observability/')))('%s', path => {
  const page = read(path)

  test('names only commands and options that there are', () => {
    const meant = page.replace(/^<!-- exits with 2 -->\n(?:```[\s\S]*?^```\s+){2}/gm, '')
    for (const { name, options } of allCode(meant).flatMap(calls)) {
      expect([...OPTIONS.keys()]).toContain(name)
      const known = OPTIONS.get(name) ?? []
      for (const option of options) expect([...known, 'help'], `hookspan ${name} ${option}`).toContain(option.slice(2))
    }
  })

  test('names only keys and variables that there are', () => {
    const keys = new Set([
      ...KEY_NAMES,
      ...Object.keys(BACKEND_FIELDS),
      ...Object.values(BACKENDS).flatMap(row => Object.keys(row.options)),
      ...Object.keys(HOOKS_FIELDS),
      ...Object.keys(KEEP_FIELDS),
      ...['isolate', 'required'],
    ])
    const said = inlineCode(page).flatMap(code => /^([a-z]+(?:_[a-z]+)*): \S/.exec(code)?.[1] ?? [])
    expect(said.filter(key => !keys.has(key) && !keys.has(key.replace(/_env$/, '')))).toEqual([])
    const variables = new Set([
      'HOOKSPAN_CONFIG',
      'HOOKSPAN_GUARDS',
      'HOOKSPAN_TEST_SEED',
      ...KEY_NAMES.map(variableOf),
    ])
    const named = allCode(page).flatMap(code => code.match(/\bHOOKSPAN_[A-Z_]*[A-Z]\b/g) ?? [])
    expect(named.filter(name => !variables.has(name))).toEqual([])
  })
})

describe.each(PAGES.filter(path => !read(path).startsWith('<!-- Generated')))('%s', path => {
  test('names nothing that the code does not know', () => {
    const names = inlineCode(read(path)).filter(code => /^[a-z][a-z0-9]*(?:_[a-z0-9]+)+$/.test(code))
    expect(names.filter(name => !KNOWN.has(name))).toEqual([])
  })
})

describe('README.md', () => {
  test('has a valid configuration', () => {
    const [yaml = ''] = blocks(README, 'yaml')
    expect(yaml.trimEnd().split('\n').length).toBeLessThanOrEqual(12)
    expect(messages(resolved({ yaml, env: { COLLECTOR_TOKEN: 'x' } }))).toEqual([])
  })

  test.each(blocks(README, 'js'))('has a program that runs and prints nothing:\n%s', program => {
    expect(printed(['--input-type=module', '-e', program], scratchHome())).toBe('')
  })

  test.each(programsWithTrees())("shows a program's tree below it:\n%s", (program, tree) => {
    const home = scratchHome()
    printed(['--input-type=module', '-e', program], home)
    expect(shapeOf(printed(['dist/cli/main.js', 'tree'], home))).toBe(shapeOf(tree))
  })

  test('shows the second turn of the demo as its picture, as drawn by a run', () => {
    const home = scratchHome()
    printed(['dist/cli/main.js', 'demo'], home)
    const traces = join(home, 'hookspan', 'traces')
    const lines = readdirSync(traces).flatMap(name => readFileSync(join(traces, name), 'utf8').trimEnd().split('\n'))
    const turn = buildForest(lines.flatMap(readExportLine))[2] as TraceTree
    const texts = (svg: string): string[] =>
      Array.from(svg.matchAll(/<tspan[^>]*>([^<]*)<\/tspan>/g), ([, text = '']) => text).filter(
        text => !text.endsWith(' UTC'),
      )
    expect(texts(read('docs/images/trace-tree.svg'))).toEqual(texts(renderTreeSvg(turn, { width: 1180 })))
  })

  test('has the test command of continuous integration', () => {
    expect(blocks(README, 'sh')).toContain('npm ci && npm test\n')
    expect(read('.ci/run')).toContain('npm ci')
    expect(read('.ci/run')).toContain('npm test')
  })
})

describe('the pictures', () => {
  const named = PAGES.flatMap(path => links(path).map(link => link.path)).filter(path =>
    path.startsWith('docs/images/'),
  )
  const taken = [
    'docs/images/trace-tree.svg',
    'docs/images/architecture.svg',
    ...Object.values(PICTURES)
      .flat()
      .map(name => `docs/images/${name}`),
  ]

  test('includes exactly those that a script takes and pages show', () => {
    const there = readdirSync(join(ROOT, 'docs/images')).map(name => `docs/images/${name}`)
    expect([...new Set(named)].sort()).toEqual(taken.toSorted())
    expect(there.sort()).toEqual(taken.toSorted())
  })

  test('includes those of README.md by its own commands', () => {
    const pictures = [...PICTURES.view, ...PICTURES.readme].map(name => `docs/images/${name}`)
    const own = new Set(['docs/images/trace-tree.svg', ...pictures])
    const shown = links('README.md').flatMap(({ path }) => (path.startsWith('docs/images/') ? [path] : []))
    expect(shown.length).toBeGreaterThan(1)
    expect(shown.filter(path => !own.has(path))).toEqual([])
  })

  test.each(taken)('has a small file: %s', path => {
    expect(statSync(join(ROOT, path)).size).toBeLessThan(150_000)
  })
})

test('runs the test in docs/own-agent.md', () => {
  const [example] = blocks(read('docs/own-agent.md'), 'ts')
  expect(example).toBe(read('test/testing-example.test.ts').replace("'../src/testing.ts'", "'hookspan/testing'"))
})

test('has the area that the bench fills', () => {
  expect(read('docs/performance.md')).toMatch(/<!-- figures -->[\s\S]*<!-- \/figures -->/)
})
