import { execFileSync } from 'node:child_process'
import { build, type Plugin } from 'esbuild'
import { script } from './pages.ts'

/** For processes of tests, each of which would find and read hundreds of modules, each a file. */
const PROGRAMS = {
  'receiver-program': 'test/receiver/receiver-program.mjs',
  'serving-program': 'test/receiver/serving-program.mjs',
  pipeline: 'build/delivery/pipeline/index.js',
}

/** As in the published package, the SDK is one file: as files of their own they take five times as long to load. */
const LOAD = `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
const isSdk = name => name.startsWith('@opentelemetry/') && name !== '@opentelemetry/api'
export const load = name => (isSdk(name) ? require('../../dist/plugin/opentelemetry.cjs')(name) : require(name))`
const SDK_IN_ONE_FILE: Plugin = {
  name: 'the SDK in one file',
  setup({ onLoad }) {
    onLoad({ filter: /\/build\/delivery\/load-package\.js$/ }, () => ({ contents: LOAD, loader: 'js' }))
  },
}

/** Tests that start the real program need it compiled, once for the whole run, and not again if nothing has changed since. */
export async function setup(): Promise<void> {
  const { isBuilt } = await script<{ isBuilt(): boolean }>('build-stamp.mjs')
  if (process.env['HOOKSPAN_TEST_BUILD'] !== '0' && !isBuilt()) {
    execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' })
  }
  await build({
    entryPoints: PROGRAMS,
    outdir: 'build/test',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    packages: 'external',
    plugins: [SDK_IN_ONE_FILE],
    logLevel: 'error',
  })
}
