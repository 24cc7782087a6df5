import { execFileSync } from 'node:child_process'

/** Tests that start the real program need it compiled, once for the whole run. */
export function setup(): void {
  execFileSync(process.execPath, ['scripts/clean.mjs'], { stdio: 'inherit' })
  execFileSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json'], { stdio: 'inherit' })
}
