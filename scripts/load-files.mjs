// The files of `dist/chunks` that are loaded late, and the two modules that load them: one for Node, one for bundlers.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build as bundle } from 'esbuild'
import { licensesOf } from './licenses.mjs'

const REPOSITORY = fileURLToPath(new URL('../', import.meta.url))
const SOURCE = join(REPOSITORY, 'src')
const LATE_MODULE = 'plugin/core-and-pipeline.ts'
/** As `plugin/load-core.ts` names it: relative to a module folder of `src`, `build` or `dist`. */
const LATE_FILE = '../plugin/core-and-pipeline.cjs'
/** `load('yaml')`, `load<Yaml>('yaml')` */
const LOAD_CALL = /\bload(?:<[^()]*>)?\('([^']+)'\)/g
const PACKAGE_JSON = /\bload<[^()]*>\('..\/..\/package.json'\)/

/** Published modules load packages and core through `#load`: Node and bundlers resolve it to files of their own. */
export const loadedLate = {
  name: 'loaded late',
  setup({ onResolve }) {
    onResolve({ filter: /\/load-package\.ts$/ }, () => ({ path: '#load', external: true }))
  },
}

/** No file of `dist` reads `package.json`. */
export const withPackageFacts = {
  name: 'package facts',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/plugin\/package-facts\.ts$/ }, ({ path }) => {
      const { name, version, engines } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'))
      const source = readFileSync(path, 'utf8')
      if (!PACKAGE_JSON.test(source)) throw new Error(`${path} is not what the build expects`)
      return { contents: source.replace(PACKAGE_JSON, JSON.stringify({ name, version, engines })), loader: 'ts' }
    })
  },
}

/** In a CommonJS file, `load` is Node's own `require`. */
const loadedByRequire = {
  name: 'loaded by require',
  setup({ onLoad }) {
    onLoad({ filter: /\/load-package\.ts$/ }, () => ({ contents: 'export const load = require', loader: 'ts' }))
  },
}

/** `load` has everything inside: esbuild bundles each `require`, and runs it when it is reached. */
const loadedFromInside = {
  name: 'loaded from inside',
  setup({ onLoad }) {
    onLoad({ filter: /\/load-package\.ts$/ }, () => {
      const cases = loadedNames().map(name => {
        const module = name === LATE_FILE ? `./src/${LATE_MODULE}` : name
        return `case ${JSON.stringify(name)}: return require(${JSON.stringify(module)})`
      })
      return {
        contents: `export function load(name) { switch (name) { ${cases.join('\n')} } }`,
        resolveDir: REPOSITORY,
      }
    })
  },
}

/** Files of `build` load core by the name that it has in `dist`. */
export function writeLateFile(compiled) {
  writeFileSync(join(compiled, 'plugin', LATE_FILE), "module.exports = require('./core-and-pipeline.js')\n")
}

/** @param published a `require` from it finds the dependencies of the package */
export async function loadFiles(published, common) {
  const folder = join(published, 'chunks')
  await bundle({
    ...common,
    entryPoints: [`src/${LATE_MODULE}`],
    outfile: join(folder, LATE_FILE),
    format: 'cjs',
    plugins: [withPackageFacts, loadedByRequire],
    // It is given on, and not called by that name.
    logOverride: { 'indirect-require': 'silent' },
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
    packages: 'bundle',
    stdin: {
      contents: "exports.load = require('./src/delivery/load-package.ts').load",
      resolveDir: REPOSITORY,
    },
    outfile: join(folder, 'load-bundled.js'),
    format: 'cjs',
    // The ES modules of a package, of which esbuild leaves out what is not used.
    mainFields: ['module', 'main'],
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    sourcemap: false,
    metafile: true,
    plugins: [withPackageFacts, loadedFromInside],
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

/** The names in the `load` calls of `src`, except for `package.json`. */
function loadedNames() {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter(path => path.endsWith('.ts'))
  const names = files.flatMap(path =>
    [...readFileSync(join(SOURCE, path), 'utf8').matchAll(LOAD_CALL)].map(([, name]) => name),
  )
  return [...new Set(names)].filter(name => !name.endsWith('.json')).sort()
}
