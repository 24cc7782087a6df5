// The files of `dist/chunks` that are loaded late, and the two modules that load them: one for Node, one for bundlers.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build as bundle } from 'esbuild'
import { licensesOf } from './licenses.mjs'

const REPOSITORY = fileURLToPath(new URL('../', import.meta.url))
const SOURCE = join(REPOSITORY, 'src')
const LATE_MODULE = 'plugin/core-and-pipeline.ts'
const LATE_FILE = './core-and-pipeline.cjs'
/** `load('yaml')`, `load<Yaml>('yaml')` */
const LOAD_CALL = /\bload(?:<[^()]*>)?\('([^']+)'\)/g
const PACKAGE_JSON = /\bload<[^()]*>\('..\/..\/package.json'\)/

/** Modules that import `plugin/late.ts` do not import core and pipeline with it, and leave to `#load` how it is loaded. */
export const loadedLate = {
  name: 'loaded late',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /\/load-package\.ts$/ }, () => ({ path: '#load', external: true }))
    onLoad({ filter: /\/src\/plugin\/late\.ts$/ }, ({ path }) => {
      const [before, between, after, ...more] = readFileSync(path, 'utf8').split(
        /import \* as coreAndPipeline from '\.\/core-and-pipeline\.ts'|return coreAndPipeline$/m,
      )
      if (after === undefined || more.length > 0) throw new Error(`${path} is not what the build expects`)
      return { contents: `${before}${between}return load('${LATE_FILE}')${after}`, loader: 'ts' }
    })
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

/** Each `load('name')` is a `require('name')`, which esbuild bundles, and runs when it is reached. */
const loadedFromInside = {
  name: 'loaded from inside',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      if (path.endsWith('/load-package.ts')) return { contents: 'export const load = undefined', loader: 'ts' }
      if (path.endsWith('/plugin/package-facts.ts')) return undefined
      return { contents: readFileSync(path, 'utf8').replace(LOAD_CALL, "require('$1')"), loader: 'ts' }
    })
  },
}

/** @param folder gets the files; a `require` from it finds the dependencies of the package */
export async function loadFiles(folder, common) {
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
  const cases = loadedNames().map(name => `case ${JSON.stringify(name)}: return require(${JSON.stringify(name)})`)
  const { metafile } = await bundle({
    ...common,
    packages: 'bundle',
    stdin: {
      contents: `exports.load = name => {
        switch (name) {
          case '${LATE_FILE}': return require('./src/${LATE_MODULE}')
          ${cases.join('\n')}
        }
      }`,
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

/** What the files of `src` load, but for core and pipeline. */
function loadedNames() {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter(path => path.endsWith('.ts'))
  const names = files.flatMap(path =>
    [...readFileSync(join(SOURCE, path), 'utf8').matchAll(LOAD_CALL)].map(([, name]) => name),
  )
  return [...new Set(names)].filter(name => !name.startsWith('.')).sort()
}
