import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PAGES, read, script } from './support/pages.ts'

const SRC = new URL('../src', import.meta.url).pathname
/**
 * The modules of `src`, lower ones first: who may import whom (`docs/design.md` has the reasons), and which outside packages.
 * `node:*` is `node`; `surface` is `index.ts` and `testing.ts`.
 */
const MODULES: Record<string, { modules: readonly string[]; packages: readonly string[] }> = {
  contract: { modules: [], packages: [] },
  'contract/semconv': { modules: [], packages: [] },
  content: { modules: ['contract'], packages: [] },
  'tracker/spans': { modules: ['contract', 'contract/semconv', 'content'], packages: ['@opentelemetry/api'] },
  tracker: { modules: ['contract', 'contract/semconv', 'content', 'tracker/spans'], packages: ['@opentelemetry/api'] },
  'delivery/load-package.ts': { modules: [], packages: ['node:module'] },
  'delivery/terminal.ts': { modules: [], packages: ['node:stream'] },
  'delivery/backends': { modules: [], packages: [] },
  'delivery/trace-log': { modules: ['delivery/load-package.ts'], packages: ['@opentelemetry/*', 'node'] },
  'delivery/pipeline': {
    modules: [
      'contract/semconv',
      'delivery/backends',
      'delivery/trace-log',
      'delivery/load-package.ts',
      'delivery/terminal.ts',
    ],
    packages: ['@opentelemetry/*', 'node'],
  },
  reading: { modules: [], packages: ['node'] },
  'plugin/config': { modules: ['delivery/backends', 'delivery/load-package.ts'], packages: ['yaml', 'node'] },
  'plugin/prices': {
    modules: ['tracker/spans', 'reading', 'plugin/config', 'delivery/load-package.ts'],
    packages: ['@pydantic/genai-prices', 'node'],
  },
  'plugin/wrappers': { modules: ['contract'], packages: ['node'] },
  'plugin/mcp': { modules: ['contract', 'contract/semconv', 'content', 'tracker'], packages: ['@opentelemetry/api'] },
  plugin: {
    modules: [
      'contract',
      'contract/semconv',
      'content',
      'tracker/spans',
      'tracker',
      'plugin/config',
      'plugin/prices',
      'delivery/trace-log',
      'delivery/pipeline',
      'plugin/wrappers',
      'delivery/load-package.ts',
      'delivery/terminal.ts',
    ],
    packages: ['@opentelemetry/api', 'node'],
  },
  surface: {
    modules: [
      'contract',
      'delivery/backends',
      'plugin/config',
      'delivery/pipeline',
      'reading',
      'plugin',
      'plugin/wrappers',
    ],
    packages: [],
  },
  'plugin/pino': { modules: ['surface', 'plugin'], packages: ['node:stream'] },
  guards: {
    modules: ['contract', 'content', 'plugin/config', 'delivery/trace-log', 'delivery/terminal.ts'],
    packages: ['unbash', 'node'],
  },
  agents: {
    modules: ['contract', 'surface', 'guards', 'delivery/terminal.ts'],
    packages: ['node:async_hooks', 'node:fs', 'node:fs/promises', 'node:os', 'node:path', 'node:timers/promises'],
  },
  'receiver/forwarder': { modules: ['plugin/config', 'delivery/trace-log'], packages: ['node'] },
  'receiver/loopback': { modules: ['delivery/trace-log'], packages: ['node'] },
  receiver: {
    modules: [
      'contract',
      'tracker',
      'plugin/config',
      'delivery/trace-log',
      'receiver/loopback',
      'reading',
      'plugin',
      'agents',
      'guards',
    ],
    packages: ['node'],
  },
  'viewer/trace-index': {
    modules: ['reading', 'delivery/trace-log', 'plugin/config', 'plugin/prices'],
    packages: ['node'],
  },
  'viewer/server': {
    modules: ['reading', 'viewer/trace-index', 'delivery/trace-log', 'plugin/config', 'receiver/loopback'],
    packages: ['node'],
  },
  'viewer/page': {
    modules: ['reading', 'viewer/server'],
    packages: ['preact', 'preact/hooks', '@preact/signals'],
  },
  cli: {
    modules: [
      'contract',
      'delivery/backends',
      'agents',
      'contract/semconv',
      'tracker/spans',
      'tracker',
      'plugin/config',
      'plugin/prices',
      'delivery/trace-log',
      'delivery/pipeline',
      'reading',
      'viewer/trace-index',
      'viewer/server',
      'plugin',
      'guards',
      'receiver/forwarder',
      'receiver',
      'surface',
    ],
    packages: ['yaml', 'jsonc-parser', 'json5', 'node'],
  },
}

const MODULES_DEEPEST_FIRST = Object.keys(MODULES).sort((one, other) => other.length - one.length)

/** The hot path catches in one place; besides it only where a foreign value is read, or an answer is a throw. */
const MAY_CATCH = new Set([
  'tracker/guard.ts',
  'content/bounded-json.ts',
  'contract/foreign.ts',
  'tracker/spans/tool.ts',
  'content/redact-patterns.ts',
])
const HOT_MODULES = new Set(['contract', 'contract/semconv', 'content', 'tracker/spans', 'tracker'])

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

function moduleOf(path: string): string {
  const found = MODULES_DEEPEST_FIRST.find(module => path === module || path.startsWith(`${module}/`))
  return found ?? (path.includes('/') ? path : 'surface')
}

function importsOf(path: string): string[] {
  const statements = code(path).matchAll(
    /(?:^|[};\n])\s*(?:import|export)[^'"`;]*?\sfrom '([^']+)'|\nimport '([^']+)'/g,
  )
  const calls = code(path).matchAll(/\b(?:import|load|require)(?:<[^>]*>)?\(\s*'([^']+)'/g)
  return [...statements, ...calls].map(match => (match[1] ?? match[2]) as string)
}

function allows(packages: readonly string[], name: string): boolean {
  return packages.some(allowed => {
    if (allowed === 'node') return name.startsWith('node:')
    return allowed.endsWith('/*') ? name.startsWith(allowed.slice(0, -1)) : name === allowed
  })
}

test.each(files)('has only allowed imports: %s', path => {
  const module = moduleOf(path)
  const rules = MODULES[module]
  expect(rules, `${module} is not a module`).toBeDefined()
  const wrong = importsOf(path).filter(specifier => {
    if (!specifier.startsWith('.')) return !allows(rules!.packages, specifier)
    const target = posix.normalize(posix.join(posix.dirname(path), specifier))
    if (target.startsWith('..')) return !/^\.\.\/(?:package|build\/payload-fields)\.json$/.test(target)
    return moduleOf(target) !== module && !rules!.modules.includes(moduleOf(target))
  })
  expect(wrong).toEqual([])
})

// What runs in a host's process: a reader that is gone must not end it.
test('writes to standard output and error through terminal alone', () => {
  const direct = files.filter(
    path => !/^(?:cli|receiver\/forwarder)\//.test(path) && /process\.std(?:out|err)\.write/.test(code(path)),
  )
  expect(direct).toEqual([])
})

test('has at most twelve folders in src, and none of them needs one above it', () => {
  const folders = [...new Set(Object.keys(MODULES).map(module => module.split('/')[0] as string))]
  expect(folders.filter(folder => folder !== 'surface').length).toBeLessThanOrEqual(12)
  const upward = Object.entries(MODULES).flatMap(([module, { modules }]) =>
    modules
      .filter(needed => folders.indexOf(needed.split('/')[0]!) > folders.indexOf(module.split('/')[0]!))
      .map(needed => `${module} -> ${needed}`),
  )
  // `plugin/pino` imports what a program imports, as its users do.
  expect(upward).toEqual(['plugin/pino -> surface'])
})

test('draws every folder of src in the picture of the design', async () => {
  const { BOXES } = await script<{ BOXES: Readonly<Record<string, { readonly lines: readonly string[] }>> }>(
    'architecture-picture.mjs',
  )
  const drawn = Object.values(BOXES).flatMap(({ lines: [title = ''] }) => title.match(/\w+(?=\/)/g) ?? [])
  const folders = new Set(files.flatMap(path => (path.includes('/') ? [path.split('/')[0]] : [])))
  expect(drawn.sort()).toEqual([...folders].sort())
})

test('reaches files of the own module without leaving it', () => {
  const roundabout = files.flatMap(path =>
    importsOf(path).filter(specifier => {
      const target = posix.join(posix.dirname(path), specifier)
      // `load` resolves a file from its own folder.
      if (specifier.endsWith('.cjs')) return false
      return specifier.startsWith('.') && moduleOf(target) === moduleOf(path) && specifier !== directly(path, target)
    }),
  )
  expect(roundabout).toEqual([])
})

/** How one file of a module names another: from where it stands, without a step out and back in. */
function directly(path: string, target: string): string {
  const way = posix.relative(posix.dirname(path), target)
  return way.startsWith('.') ? way : `./${way}`
}

/** The front, and what the start of a plugin needs of the module without the rest of it. */
const OF_TRACE_LOG = new Set(['delivery/trace-log/index.ts', 'delivery/trace-log/private-file.ts'])

test('uses the trace log through its index alone, which fits on a screen', () => {
  const outsiders = files.filter(path => moduleOf(path) !== 'delivery/trace-log')
  const past = outsiders.flatMap(path =>
    (neighbours.get(path) ?? []).filter(
      target => moduleOf(target) === 'delivery/trace-log' && !OF_TRACE_LOG.has(target),
    ),
  )
  expect(past).toEqual([])
  expect(readFileSync(join(SRC, 'delivery/trace-log/index.ts'), 'utf8').split('\n').length).toBeLessThanOrEqual(60)
})

test('needs nothing but events in a machine: no file, no clock, nothing of its agent', () => {
  const machines = files.filter(path => /^agents\/[^/]+\/events\.ts$/.test(path))
  const needed = new Set(machines.flatMap(path => [path, ...reachedFrom(path)]))
  const outside = [...needed].filter(path => importsOf(path).some(specifier => !specifier.startsWith('.')))
  expect(machines.length).toBeGreaterThan(5)
  expect(outside).toEqual([])
})

// That nothing of Node is in it, its build sees to.
test('imports only types of the server into the page', () => {
  const page = files.filter(path => moduleOf(path) === 'viewer/page')
  const asked = page.flatMap(path =>
    [...code(path).matchAll(/import ([^;']*?) from '(\.\.\/server\/[^']+)'/g)].map(
      ([, what, from]) => `${what} ${from}`,
    ),
  )
  expect(asked.filter(each => !/^type .* \.\.\/server\/api\.ts$/s.test(each))).toEqual([])
})

test('has each file that a measurement loads', () => {
  const bench = new URL('../bench/', import.meta.url)
  const loaded = readdirSync(bench)
    .filter(name => name.endsWith('.mjs'))
    .flatMap(name => [...readFileSync(new URL(name, bench), 'utf8').matchAll(/\bload\('([^']+)\.js'\)/g)])
    .map(([, path]) => `${path}.ts`)
  expect(loaded.length).toBeGreaterThan(10)
  expect(loaded.filter(path => !files.includes(path))).toEqual([])
})

test('has no import cycle, neither at run time nor of types', () => {
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

test('needs every file for a published one: files for scripts and tests alone lie with them', () => {
  const published = files.filter(path =>
    /^(?:index|testing|plugin\/(?:mcp|pino)\/index|guards\/(?:(?:builtin\/)?index|isolated-thread)|cli\/main|receiver\/forwarder\/main|viewer\/trace-index\/index-thread|agents\/[^/]+\/(?:index|hooks)|viewer\/page\/main)\.tsx?$/.test(
      path,
    ),
  )
  const needed = new Set(published.flatMap(path => [path, ...reachedFrom(path)]))
  expect(files.filter(path => !needed.has(path))).toEqual([])
})

test('catches only in the guard on the hot path', () => {
  const catching = files.filter(path => HOT_MODULES.has(moduleOf(path)) && /\bcatch\b\s*[({]/.test(code(path)))
  expect(catching.filter(path => !MAY_CATCH.has(path))).toEqual([])
})

/** The type with what keeps it safe, and the policy that cuts and masks. */
const MAY_MAKE_SAFE_TEXT = ['content/capture-policy.ts', 'content/safe-text.ts']

test('casts no text to safe text outside the capture', () => {
  // Also as a part of a longer type (`as SafeText | undefined`). The viewer's values are what has been stored.
  const CAST = /\bas\b[^=;\n]*\b(SafeText|CapturedContent|SpanAttributeValue)\b/
  const casting = files.filter(path => !path.startsWith('reading/') && CAST.test(code(path)))
  expect(casting.sort()).toEqual(MAY_MAKE_SAFE_TEXT)
})

test('has no module and no file with an empty name', () => {
  expect(files.filter(path => /(^|\/)(utils?|helpers?|common|misc)(\/|\.ts$)/.test(path))).toEqual([])
})

test('touches no global of OpenTelemetry', () => {
  const touching = files.filter(path => /\bsetGlobal\w+|\bdiag\.setLogger|\.register\(\)/.test(code(path)))
  expect(touching).toEqual([])
})

function code(path: string): string {
  return readFileSync(join(SRC, path), 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}

test('replaces no module in tests: the next file in the same process would get the replacement', () => {
  const tests = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter(path =>
    /\.(test|deep)\.ts$/.test(path),
  )
  expect(tests.filter(path => /^\s*vi\.(?:do)?[mM]ock\(/m.test(readFileSync(join('test', path), 'utf8')))).toEqual([])
})

describe('plain words', () => {
  // A sentence says its subject first: "The queue of spans …", not "What waits …".
  const FREE_RELATIVE =
    /^(?:What|Of|Who|Whose|Whom|Whoever|Whatever|As|That|Whether|In|Where|Wherever|By|To whom|Nobody|Somebody|Anybody|Nothing|Those|Such)\b/
  const IDIOM =
    /^(?:As of|In (?:Node|JSON|HTTP|POSIX|bash|full mode|seconds|milliseconds)|By default|Where possible|In order|As in)\b/
  const PEOPLE = /\b(?:somebody|nobody|anybody|someone else's|a stranger|strangers|whoever)\b/i
  const SPEECH =
    /\b(?:is told|are told|was told|been told|tells|says no|is said|are said|was said|is owed|owes|is taken up|taken up|is let go|let go|works? off|worked off)\b/i
  const RIDDLE =
    /^(?:Told|Asked|Said|Taken|Waiting|Standing|Telling|Listening|Answering|Deciding|Outgoing|Incoming|Fired|Drawn|Undrawn|Able|Traced|Belongings|Slips|Inlet|Outside|World|Life|Draw|Custody|Remark|Place|Inside)$/

  const comments = files.flatMap(path =>
    [...readFileSync(join(SRC, path), 'utf8').matchAll(/\/\*\*[\s\S]*?\*\/|(?:^|\s)\/\/[^\n]*/g)]
      .map(([whole]) =>
        whole
          .replace(/^\s*\/\*\*|\*\/$|^\s*\/\/|^\s*\*/gm, '')
          .replace(/\s+/g, ' ')
          .trim(),
      )
      .filter(words => words !== '' && !/^(?:biome-ignore|@ts-|#__)/.test(words))
      .map(words => `${path}: ${words}`),
  )
  const wordsOf = (comment: string): string => comment.slice(comment.indexOf(': ') + 2)

  /** Exported classes, interfaces and types: the name, and where it is defined. */
  const types = files.flatMap(path =>
    [...code(path).matchAll(/^export (?:abstract )?(?:class|interface|type) (\w+)/gm)].map(
      ([, name]) => [name as string, path] as const,
    ),
  )

  test('begins comments with their subject, except for one in a hundred', () => {
    const wrong = comments.filter(comment => FREE_RELATIVE.test(wordsOf(comment)) && !IDIOM.test(wordsOf(comment)))
    expect(wrong.length, wrong.slice(0, 20).join('\n')).toBeLessThanOrEqual(comments.length / 100)
  })

  test('names components in comments, not people, and no data that speaks', () => {
    expect(comments.filter(comment => PEOPLE.test(comment) || SPEECH.test(comment))).toEqual([])
  })

  test('names limits MAX_ or MIN_', () => {
    expect(files.filter(path => /\bconst (?:MOST|LEAST|LONGEST|SHORTEST|FEWEST)_\w+/.test(code(path)))).toEqual([])
  })

  test('names each exported type once, with a noun', () => {
    const seen = new Map<string, string>()
    const doubled = types.flatMap(([name, path]) => {
      const first = seen.get(name)
      if (first === undefined) seen.set(name, path)
      return first === undefined ? [] : [`${name}: ${first}, ${path}`]
    })
    expect(doubled).toEqual([])
    expect(types.filter(([name]) => RIDDLE.test(name))).toEqual([])
  })

  test.each(PAGES)('names components, not people, in %s', path => {
    const sentences = read(path)
      .replace(/```[\s\S]*?```/g, '')
      .split(/(?<=[.:;!?|])\s+|\n/)
    expect(sentences.filter(sentence => PEOPLE.test(sentence) || SPEECH.test(sentence))).toEqual([])
  })
})
