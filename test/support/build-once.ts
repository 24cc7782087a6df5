import { execFileSync } from 'node:child_process'

/** Tests that start the real program need it compiled, once for the whole run. */
export function setup(): void {
  if (process.env['HOOKSPAN_TEST_BUILD'] === '0') return
  execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' })
}
