import { execFileSync } from 'node:child_process'
import { buildSync } from 'esbuild'
import { script } from './pages.ts'

/** Programs that start a receiver. Each of the hundreds of modules that they import would be a file to find and to read. */
const PROGRAMS = ['test/receiver/receiver-program.mjs', 'test/receiver/serving-program.mjs']

/** Tests that start the real program need it compiled, once for the whole run, and not again if nothing has changed since. */
export async function setup(): Promise<void> {
  const { isBuilt } = await script<{ isBuilt(): boolean }>('build-stamp.mjs')
  if (process.env['HOOKSPAN_TEST_BUILD'] !== '0' && !isBuilt()) {
    execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' })
  }
  buildSync({
    entryPoints: PROGRAMS,
    outdir: 'build/test',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    packages: 'external',
    logLevel: 'error',
  })
}
