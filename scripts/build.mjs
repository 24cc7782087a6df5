// npm run build: what the compiler makes of each file of `src` goes into `build`, for our own programs and tests; what is
// published goes into `dist`.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build as bundle, transform } from 'esbuild'
import { rollup } from 'rollup'
import { buildPage } from './build-page.mjs'
import { writeStamp } from './build-stamp.mjs'
import { writeWords } from './declarations.mjs'
import { jsonInside, loadedLate, loadFiles, writeLateFile, writePayloadFields } from './load-files.mjs'

const REPOSITORY = fileURLToPath(new URL('../', import.meta.url))
const { exports, bin, version } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'))
/** A user imports these. */
const ENTRIES = new Set(Object.values(exports).flatMap(({ default: entry }) => (entry ? [moduleOf(entry)] : [])))
const PROGRAM = moduleOf(bin.hookspan)
/** Each is loaded by an agent at its start. */
const ADAPTER = /^(agents\/[\w-]+\/)?index$/
/** One file, for programs that have nothing else of ours: what it shares would be a chunk more for every other entry. */
const ALONE = 'plugin/mcp/index'
/** What runs in a thread of its own has a file of its own: `viewer/trace-index/trace-index.ts` and `guards/isolated.ts` name them. */
const THREADS = {
  'trace-index/index-thread': 'viewer/trace-index/index-thread',
  'guards/isolated-thread': 'guards/isolated-thread',
}

/** `./dist/agents/pi/index.js` → `agents/pi/index` */
function moduleOf(path) {
  return path.replace(/^\.\/dist\/|\.js$/g, '')
}

/**
 * @param compiled the folder that gets a module and its declarations for each file of `src`
 * @param published the folder that gets what is published
 * @param isChecked false = with what the compiler made in spite of errors
 */
export async function build(compiled, published, isChecked = true) {
  // Neither deletes what it does not write: a source file that was renamed would live on.
  for (const folder of [compiled, published]) rmSync(folder, { recursive: true, force: true })
  const compiler = join(REPOSITORY, 'node_modules', '.bin', 'tsc')
  const args = ['-p', 'tsconfig.build.json', '--outDir', compiled]
  const { status } = spawnSync(compiler, args, { cwd: REPOSITORY, stdio: ['ignore', 2, 2] })
  if (status !== 0 && isChecked) throw new Error('the compiler refuses it')
  await writeWords(compiled)
  writeLateFile(compiled)
  writePayloadFields(compiled)
  await bundleInto(compiled, published)
  await buildPage(join(published, 'page'))
  for (const path of declarationsFrom(compiled)) {
    mkdirSync(dirname(join(published, path)), { recursive: true })
    copyFileSync(join(compiled, path), join(published, path))
  }
}

const LOOKS = {
  platform: 'node',
  target: 'node20.19',
  charset: 'utf8',
  minifySyntax: true,
  minifyWhitespace: true,
  // A stack trace has a line that is short enough to find.
  lineLimit: 120,
  logLevel: 'warning',
}
const COMMON = { ...LOOKS, absWorkingDir: REPOSITORY, bundle: true, packages: 'external' }

/**
 * A file for each entry, and chunks of what several of them need: an import opens a handful of files, because each costs an agent
 * a millisecond at its start. Nothing of ours is renamed, so a stack trace has our functions by their names. There are no source
 * maps: they would be a quarter of the package, and lead to files that it does not have.
 */
async function bundleInto(compiled, published) {
  const moduleFile = module => join(compiled, `${module}.js`)
  const graph = await rollup({
    input: {
      ...Object.fromEntries(
        [...ENTRIES, PROGRAM].filter(entry => entry !== ALONE).map(entry => [entry, moduleFile(entry)]),
      ),
      ...Object.fromEntries(Object.entries(THREADS).map(([out, module]) => [out, moduleFile(module)])),
    },
    external: id => !(id.startsWith('.') || isAbsolute(id)),
    // As `sideEffects` in `package.json` says.
    treeshake: { moduleSideEffects: false },
    plugins: [loadedLate, jsonInside],
    // The compiler's helpers look for themselves in `this`.
    onwarn: ({ code, message }) => code === 'THIS_IS_UNDEFINED' || console.warn(message),
  })
  const { output } = await graph.generate({
    format: 'esm',
    // As deep as a module folder of `src`: `cli/package-folder.ts` and others look for the package from where they are.
    chunkFileNames: 'chunks/[name].js',
    manualChunks: sharedBy([...ENTRIES].filter(entry => ADAPTER.test(entry)).map(moduleFile)),
    hoistTransitiveImports: false,
    minifyInternalExports: false,
  })
  for (const { fileName, code } of output) {
    mkdirSync(dirname(join(published, fileName)), { recursive: true })
    writeFileSync(join(published, fileName), (await transform(code, LOOKS)).code)
  }
  await bundle({
    ...COMMON,
    entryPoints: [`src/${ALONE}.ts`],
    outfile: join(published, `${ALONE}.js`),
    format: 'esm',
  })
  // What agents start for each hook is one file, and no ES module: to load either would be most of what it costs.
  await bundle({
    ...COMMON,
    entryPoints: ['src/receiver/forwarder/main.ts'],
    outfile: join(published, 'hook.cjs'),
    format: 'cjs',
    define: { 'import.meta.dirname': '__dirname' },
  })
  const script = readFileSync(join(REPOSITORY, 'src', 'receiver', 'forwarder', 'hook.sh'), 'utf8').replace(
    '@VERSION@',
    version,
  )
  writeFileSync(join(published, 'hook.sh'), script)
  await loadFiles(published, COMMON)
}

/** One chunk for the modules that more than one of these entries loads at once. */
function sharedBy(entries) {
  let counts
  return (id, { getModuleInfo }) => {
    counts ??= entries.map(entry => loadedBy(entry, getModuleInfo)).reduce(countAll, new Map())
    return counts.get(id) > 1 ? 'plugin' : undefined
  }
}

function loadedBy(entry, getModuleInfo) {
  const modules = new Set([entry])
  for (const id of modules) for (const imported of getModuleInfo(id)?.importedIds ?? []) modules.add(imported)
  return modules
}

function countAll(counts, ids) {
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}

/** The declarations that those of an entry lead to. */
function declarationsFrom(compiled) {
  const paths = new Set([...ENTRIES].map(entry => `${entry}.d.ts`))
  for (const path of paths) {
    const text = readFileSync(join(compiled, path), 'utf8')
    for (const [, name] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)\.[jt]s['"]/g)) {
      paths.add(`${join(dirname(path), name)}.d.ts`)
    }
  }
  return paths
}

if (argv[1] && import.meta.url === pathToFileURL(argv[1]).href) {
  await build(join(REPOSITORY, 'build'), join(REPOSITORY, 'dist'))
  writeStamp()
}
