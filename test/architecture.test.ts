import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { expect, test } from 'vitest'

const SRC = new URL('../src', import.meta.url).pathname
const CLI_ROOMS = [
  'contract',
  'backends',
  'hosts',
  'semconv',
  'spans',
  'core',
  'config',
  'trace-log',
  'pipeline',
  'viewer',
  'trace-index',
  'view',
  'wiring',
  'hooks',
  'forwarder',
  'receiver',
  'surface',
]

/** Who may import whom (`docs/design.md` has the reasons), and which outside packages. `node:*` is `node`. */
const ROOMS: Record<string, { rooms: readonly string[]; packages: readonly string[] }> = {
  packages: { rooms: [], packages: ['node:module'] },
  contract: { rooms: [], packages: [] },
  semconv: { rooms: [], packages: [] },
  content: { rooms: ['contract'], packages: [] },
  spans: { rooms: ['contract', 'semconv', 'content'], packages: ['@opentelemetry/api'] },
  core: { rooms: ['contract', 'semconv', 'content', 'spans'], packages: ['@opentelemetry/api'] },
  backends: { rooms: [], packages: [] },
  config: { rooms: ['backends', 'packages'], packages: ['yaml', 'node'] },
  prices: { rooms: ['spans', 'config', 'packages'], packages: ['@pydantic/genai-prices', 'node'] },
  'trace-log': { rooms: ['packages'], packages: ['@opentelemetry/*', 'node'] },
  terminal: { rooms: [], packages: ['node:stream'] },
  pipeline: {
    rooms: ['semconv', 'backends', 'trace-log', 'packages', 'terminal'],
    packages: ['@opentelemetry/*', 'node'],
  },
  viewer: { rooms: [], packages: ['node'] },
  'trace-index': { rooms: ['viewer', 'trace-log'], packages: ['node-sqlite3-wasm', 'node'] },
  wrappers: { rooms: ['contract'], packages: ['node'] },
  wiring: {
    rooms: [
      'contract',
      'semconv',
      'content',
      'spans',
      'core',
      'config',
      'prices',
      'trace-log',
      'pipeline',
      'wrappers',
      'packages',
      'terminal',
    ],
    packages: ['@opentelemetry/api', 'node'],
  },
  hooks: { rooms: ['contract', 'content', 'config', 'trace-log', 'terminal'], packages: ['unbash', 'node'] },
  hosts: {
    rooms: ['contract', 'surface', 'hooks', 'terminal'],
    packages: ['node:async_hooks', 'node:fs', 'node:fs/promises', 'node:os', 'node:path', 'node:timers/promises'],
  },
  mcp: { rooms: ['contract', 'semconv', 'content', 'core'], packages: ['@opentelemetry/api'] },
  pino: { rooms: ['surface', 'wiring'], packages: ['node:stream'] },
  forwarder: { rooms: ['config', 'trace-log'], packages: ['node'] },
  loopback: { rooms: ['trace-log'], packages: ['node'] },
  receiver: {
    rooms: ['contract', 'core', 'config', 'trace-log', 'loopback', 'wiring', 'hosts', 'hooks'],
    packages: ['node'],
  },
  view: { rooms: ['viewer', 'trace-index', 'trace-log', 'config', 'loopback'], packages: ['node'] },
  page: { rooms: ['viewer', 'view'], packages: ['preact', 'preact/hooks', '@preact/signals', 'uplot'] },
  surface: { rooms: ['contract', 'backends', 'config', 'pipeline', 'viewer', 'wiring', 'wrappers'], packages: [] },
  cli: { rooms: CLI_ROOMS, packages: ['yaml', 'node'] },
}

/** The hot path catches in one place; besides it only where a foreign value is read, or an answer is a throw. */
const MAY_CATCH = new Set([
  'core/guard.ts',
  'content/bounded-json.ts',
  'contract/foreign.ts',
  'spans/tool-outcome.ts',
  'content/redact-patterns.ts',
])
const HOT_ROOMS = new Set(['contract', 'semconv', 'content', 'spans', 'core'])

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(path => /\.tsx?$/.test(path))

/** The files that a file names, by their paths in `src`. */
const neighbours: ReadonlyMap<string, readonly string[]> = new Map(
  files.map(path => [
    path,
    importsOf(path).flatMap(specifier => {
      const target = posix.join(posix.dirname(path), specifier)
      return specifier.startsWith('.') && files.includes(target) ? [target] : []
    }),
  ]),
)

function roomOf(path: string): string {
  const [first = '', ...rest] = path.split('/')
  return rest.length === 0 ? 'surface' : first
}

function importsOf(path: string): string[] {
  const statements = code(path).matchAll(
    /(?:^|[};\n])\s*(?:import|export)[^'"`;]*?\sfrom '([^']+)'|\nimport '([^']+)'/g,
  )
  const calls = code(path).matchAll(/\b(?:import|load|require)(?:<[^()]*>)?\(\s*'([^']+)'/g)
  return [...statements, ...calls].map(match => (match[1] ?? match[2]) as string)
}

function allows(packages: readonly string[], name: string): boolean {
  return packages.some(allowed => {
    if (allowed === 'node') return name.startsWith('node:')
    return allowed.endsWith('/*') ? name.startsWith(allowed.slice(0, -1)) : name === allowed
  })
}

test.each(files)('%s imports only what its room may', path => {
  const room = roomOf(path)
  const rules = ROOMS[room]
  expect(rules, `${room} is not a room`).toBeDefined()
  const wrong = importsOf(path).filter(specifier => {
    if (!specifier.startsWith('.')) return !allows(rules!.packages, specifier)
    const target = posix.normalize(posix.join(posix.dirname(path), specifier))
    if (target.startsWith('..')) return !target.endsWith('package.json')
    return roomOf(target) !== room && !rules!.rooms.includes(roomOf(target))
  })
  expect(wrong).toEqual([])
})

// What runs in a host's process: a reader that is gone must not end it.
test('standard output and error are written to through terminal alone', () => {
  const direct = files.filter(
    path => !/^(?:cli|forwarder)\//.test(path) && /process\.std(?:out|err)\.write/.test(code(path)),
  )
  expect(direct).toEqual([])
})

test('files reach their own room without leaving it', () => {
  const roundabout = files.flatMap(path =>
    importsOf(path).filter(specifier => {
      const target = posix.join(posix.dirname(path), specifier)
      return specifier.startsWith('.') && roomOf(target) === roomOf(path) && specifier !== directly(path, target)
    }),
  )
  expect(roundabout).toEqual([])
})

/** How one file of a room names another: from where it stands, without a step out and back in. */
function directly(path: string, target: string): string {
  const way = posix.relative(posix.dirname(path), target)
  return way.startsWith('.') ? way : `./${way}`
}

/** The front, and what the start of a plugin needs of the room without the rest of it. */
const OF_TRACE_LOG = new Set(['trace-log/index.ts', 'trace-log/private-place.ts'])

test('the trace log is used by its front alone, which fits on a screen', () => {
  const outsiders = files.filter(path => roomOf(path) !== 'trace-log')
  const past = outsiders.flatMap(path =>
    (neighbours.get(path) ?? []).filter(target => roomOf(target) === 'trace-log' && !OF_TRACE_LOG.has(target)),
  )
  expect(past).toEqual([])
  expect(readFileSync(join(SRC, 'trace-log/index.ts'), 'utf8').split('\n').length).toBeLessThanOrEqual(60)
})

test('a machine needs nothing but events: no file, no clock, nothing of its agent', () => {
  const machines = files.filter(path => /^hosts\/[^/]+\/events\.ts$/.test(path))
  const needed = new Set(machines.flatMap(path => [path, ...reachedFrom(path)]))
  const outside = [...needed].filter(path => importsOf(path).some(specifier => !specifier.startsWith('.')))
  expect(machines.length).toBeGreaterThan(5)
  expect(outside).toEqual([])
})

// That nothing of Node is in it, its build sees to.
test('the page knows types of the server alone', () => {
  const page = files.filter(path => roomOf(path) === 'page')
  const asked = page.flatMap(path =>
    [...code(path).matchAll(/import ([^;']*?) from '(\.\.\/view\/[^']+)'/g)].map(([, what, from]) => `${what} ${from}`),
  )
  expect(asked.filter(each => !/^type .* \.\.\/view\/api\.ts$/s.test(each))).toEqual([])
})

test('no file needs itself, neither for what runs nor for types', () => {
  expect(circles()).toEqual([])
})

/** The groups of files of which each leads to each other, by imports of any kind; a group at a time, sorted. */
function circles(): string[][] {
  const reached = new Map(files.map(path => [path, reachedFrom(path)]))
  const groups = files
    .filter(path => reached.get(path)?.has(path))
    .map(path => files.filter(other => reached.get(path)?.has(other) && reached.get(other)?.has(path)).sort())
  return [...new Map(groups.map(group => [group.join(' '), group])).values()]
}

function reachedFrom(path: string): Set<string> {
  const reached = new Set<string>()
  const open = [path]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const target of neighbours.get(next) ?? []) {
      if (reached.has(target)) continue
      reached.add(target)
      open.push(target)
    }
  }
  return reached
}

test('what is published needs every file: what scripts and tests alone use lies with them', () => {
  const published = files.filter(path =>
    /^(?:index|testing|mcp\/index|pino\/index|hooks\/(?:(?:builtin\/)?index|isolated-thread)|cli\/main|forwarder\/main|trace-index\/index-thread|hosts\/[^/]+\/(?:index|hooks)|page\/main)\.tsx?$/.test(
      path,
    ),
  )
  const needed = new Set(published.flatMap(path => [path, ...reachedFrom(path)]))
  expect(files.filter(path => !needed.has(path))).toEqual([])
})

test('only the guard catches on the hot path', () => {
  const catching = files.filter(path => HOT_ROOMS.has(roomOf(path)) && /\bcatch\b\s*[({]/.test(code(path)))
  expect(catching.filter(path => !MAY_CATCH.has(path))).toEqual([])
})

/** The type with what keeps it safe, and the policy that cuts and masks. */
const MAY_MAKE_SAFE_TEXT = ['content/capture-policy.ts', 'content/capture.ts']

test('no text is cast to safe text outside the capture', () => {
  // Also as a part of a longer type (`as SafeText | undefined`). The viewer's values are what has been stored.
  const CAST = /\bas\b[^=;\n]*\b(SafeText|CapturedContent|AttributeValue)\b/
  const casting = files.filter(path => !path.startsWith('viewer/') && CAST.test(code(path)))
  expect(casting.sort()).toEqual(MAY_MAKE_SAFE_TEXT)
})

test('it has no module and no file that is named for nothing', () => {
  expect(files.filter(path => /(^|\/)(utils?|helpers?|common|misc)(\/|\.ts$)/.test(path))).toEqual([])
})

test('no global of OpenTelemetry is touched', () => {
  const touching = files.filter(path => /\bsetGlobal\w+|\bdiag\.setLogger|\.register\(\)/.test(code(path)))
  expect(touching).toEqual([])
})

function code(path: string): string {
  return readFileSync(join(SRC, path), 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}
