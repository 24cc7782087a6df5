// The files of `dist/chunks` that are loaded late, and the two modules that load them: one for Node, one for bundlers.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build as bundle } from 'esbuild'
import { payloadFields } from './contract-types.mjs'
import { licensesOf } from './licenses.mjs'

const REPOSITORY = fileURLToPath(new URL('../', import.meta.url))
const SOURCE = join(REPOSITORY, 'src')
const LATE_MODULE = 'plugin/core-and-pipeline.ts'
/** As `plugin/load-core.ts` names it: relative to a module folder of `src`, `build` or `dist`. */
const LATE_FILE = '../plugin/core-and-pipeline.cjs'
/** As core names it. */
const SDK_FILE = './opentelemetry.cjs'
/** `load('yaml')`, `load<Yaml>('yaml')` */
const LOAD_CALL = /\bload(?:<[^>]*>)?\('([^']+)'\)/g
/** `load<PackageFacts>('../../package.json')` */
const JSON_CALL = /\bload(?:<[^()]*>)?\('..\/..\/((?:build\/)?[\w-]+\.json)'\)/
/** The modules of `plugin` that load one. */
const LOADS_JSON = /\/plugin\/(?:package-facts|core-and-pipeline)\.[jt]s$/

const WITH_PACKAGES = {
  packages: 'bundle',
  format: 'cjs',
  // The ES modules of a package, of which esbuild leaves out what is not used.
  mainFields: ['module', 'main'],
}
/** Files that are mostly packages; a bundler renames what is in the second anyway. */
const SQUEEZED = { minify: true, lineLimit: 0, legalComments: 'none' }

/** Published modules load packages and core through `#load`: Node and bundlers resolve it to files of their own. */
export const loadedLate = {
  name: 'loaded late',
  resolveId: source => (source.endsWith('/load-package.js') ? { id: '#load', external: true } : undefined),
}

/** No file of `dist` reads `package.json`, or what the build derives. */
export const jsonInside = {
  name: 'JSON inside',
  transform: (code, id) => (LOADS_JSON.test(id) ? withJson(code, id) : undefined),
}

const withJsonInside = {
  name: 'JSON inside',
  setup({ onLoad }) {
    onLoad({ filter: LOADS_JSON }, ({ path }) => ({
      contents: withJson(readFileSync(path, 'utf8'), path),
      loader: 'ts',
    }))
  },
}

function withJson(source, path) {
  const [call, file] = JSON_CALL.exec(source) ?? []
  if (call === undefined) throw new Error(`${path} is not what the build expects`)
  return source.replace(call, () => JSON.stringify(file === 'package.json' ? packageFacts() : payloadFields()))
}

function packageFacts() {
  const { name, version, engines, repository } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'))
  return { name, version, engines, repository }
}

/** Programs of the repository load it by the name that `plugin/core-and-pipeline.ts` gives. */
export function writePayloadFields(compiled) {
  writeFileSync(join(compiled, 'payload-fields.json'), JSON.stringify(payloadFields()))
}

/** `load` becomes literal calls, one for each name, so that esbuild bundles what they load. Each runs when it is reached. */
const loadedBy = callOf => ({
  name: 'loaded by literal calls',
  setup({ onLoad }) {
    onLoad({ filter: /\/load-package\.ts$/ }, () => ({
      contents: `export function load(name) { switch (name) { ${loadedNames()
        .map(name => `case ${JSON.stringify(name)}: return ${callOf(name)}`)
        .join('\n')} } }`,
      resolveDir: REPOSITORY,
    }))
  },
})

const requireOf = name => `require(${JSON.stringify(name)})`
/** Everything is inside. */
const loadedFromInside = loadedBy(name => requireOf(name === LATE_FILE ? `./src/${LATE_MODULE}` : name))
/** The SDK is in a file beside core, and the API in core. */
const loadedFromBeside = loadedBy(name =>
  isSdk(name) ? `${requireOf(SDK_FILE)}(${JSON.stringify(name)})` : requireOf(name),
)

function isSdk(name) {
  return name.startsWith('@opentelemetry/') && name !== '@opentelemetry/api'
}

/** Files of `build` load core by the name that it has in `dist`. */
export function writeLateFile(compiled) {
  writeFileSync(join(compiled, 'plugin', LATE_FILE), "module.exports = require('./core-and-pipeline.js')\n")
}

/**
 * OpenTelemetry's API is inside of core, and its SDK is one file beside it: as two hundred files of their own they take five times
 * as long to load, while the agent waits. Copies of the API work together.
 *
 * @param published a `require` from it finds the dependencies of the package
 */
export async function loadFiles(published, common) {
  const folder = join(published, 'chunks')
  await bundle({
    ...common,
    ...WITH_PACKAGES,
    external: [SDK_FILE, LATE_FILE, ...dependencies().filter(name => !name.startsWith('@opentelemetry/'))],
    entryPoints: [`src/${LATE_MODULE}`],
    outfile: join(folder, LATE_FILE),
    plugins: [withJsonInside, loadedFromBeside],
  })
  const cases = loadedNames()
    .filter(isSdk)
    .map(name => `case ${JSON.stringify(name)}: return ${requireOf(name)}`)
  await bundle({
    ...common,
    ...WITH_PACKAGES,
    ...SQUEEZED,
    stdin: {
      contents: `module.exports = name => { switch (name) { ${cases.join('\n')} } }`,
      resolveDir: REPOSITORY,
    },
    outfile: join(published, 'plugin', SDK_FILE),
  })
  await bundle({
    ...common,
    entryPoints: ['src/delivery/load-package.ts'],
    outfile: join(folder, 'load.js'),
    format: 'esm',
  })
  await bundleForBundlers(folder, common)
}

/**
 * `load-bundled.js`: an ES module that has core, pipeline and every package inside, as a function that is called on first use. It asks
 * nothing of the bundler that takes it: no file beside it, no package, and no `require`, which an ES module does not have. The
 * built-in modules come from the process.
 */
async function bundleForBundlers(folder, common) {
  const { metafile } = await bundle({
    ...common,
    ...WITH_PACKAGES,
    ...SQUEEZED,
    stdin: {
      contents: "exports.load = require('./src/delivery/load-package.ts').load",
      resolveDir: REPOSITORY,
    },
    outfile: join(folder, 'load-bundled.js'),
    metafile: true,
    plugins: [withJsonInside, loadedFromInside],
    banner: {
      js: `let loadInside
export function load(name) {
  loadInside ??= open(id => process.getBuiltinModule(id))
  return loadInside(name)
}
function open(require) {
const module = { exports: {} }
let exports = module.exports`,
    },
    footer: { js: 'return module.exports.load\n}' },
  })
  writeFileSync(join(folder, 'licenses.txt'), licensesOf(REPOSITORY, Object.keys(metafile.inputs)))
}

function dependencies() {
  return Object.keys(JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')).dependencies)
}

/** The names in the `load` calls of `src`, except for JSON, which is inside. */
function loadedNames() {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter(path => path.endsWith('.ts'))
  const names = files.flatMap(path =>
    [...readFileSync(join(SOURCE, path), 'utf8').matchAll(LOAD_CALL)].map(([, name]) => name),
  )
  return [...new Set(names)].filter(name => !name.endsWith('.json')).sort()
}
