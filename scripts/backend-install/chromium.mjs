import { debianVersion, findProgram, installDebian } from './debian.mjs'
import { run } from './run.mjs'

const PACKAGES = ['chromium', 'fonts-dejavu-core']

/** Debian's browser, in whatever version Debian has: it changes with every security update. */
export async function install() {
  if (findProgram('chromium') === undefined) await installDebian(PACKAGES)
  const program = findProgram('chromium')
  if (program === undefined) throw new Error('the package chromium has no program of that name')
  await run(program, ['--version'], { timeoutMillis: 60_000 })
  return { program, version: await debianVersion('chromium') }
}
