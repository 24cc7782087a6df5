import { execFileSync } from 'node:child_process'

/** Tests that start the real program need it compiled, once for the whole run. */
export function setup(): void {
  execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' })
}
