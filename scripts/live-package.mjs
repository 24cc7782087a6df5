import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from './build.mjs'
import { install, npm } from './live-npm.mjs'

/**
 * Builds the package, packs it and installs it into a folder, as a user would have it. Not by way of `dist`: whatever
 * else uses that at the same time keeps it.
 *
 * @param isChecked false = with what the compiler made in spite of errors
 * @returns the folder of the installed package
 */
export async function installPackage(repository, scratch, isChecked = true) {
  const staged = join(scratch, 'staged')
  mkdirSync(staged)
  await stage(repository, staged, isChecked)
  npm(['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', scratch], staged)
  const archive = readdirSync(scratch).find(name => name.endsWith('.tgz'))
  const folder = join(scratch, 'installed')
  mkdirSync(folder)
  install(folder, [join(scratch, archive)], { options: ['--prefer-offline'] })
  return join(folder, 'node_modules', 'hookspan')
}

async function stage(repository, staged, isChecked) {
  const { files } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
  for (const name of ['package.json', ...files]) {
    if (name !== 'dist' && existsSync(join(repository, name))) {
      cpSync(join(repository, name), join(staged, name), { recursive: true })
    }
  }
  await build(join(staged, 'build'), join(staged, 'dist'), isChecked)
}
