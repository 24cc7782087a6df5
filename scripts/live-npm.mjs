import { spawnSync } from 'node:child_process'
import { existsSync, realpathSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

const NPM_MILLIS = 20 * 60_000

/**
 * Installs packages into a folder of their own. Not by `--prefix`: npm would look for its global configuration there, too.
 *
 * @param node the Node that they are for: under an older one npm does not fail, it takes an older version of them
 * @param allowScripts packages whose install scripts may run
 * @throws when npm fails; what it had to say is on standard error
 */
export function install(folder, packages, { node = process.execPath, allowScripts = {}, options = [] } = {}) {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', allowScripts }))
  npm(['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error', ...options, ...packages], folder, node)
}

/** @throws when npm fails */
export function npm(args, folder, node = process.execPath) {
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }
  // Standard output is for what the tests say.
  const stdio = ['ignore', 2, 2]
  const { status, error } = spawnSync(node, [npmCli(), ...args], { cwd: folder, env, stdio, timeout: NPM_MILLIS })
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed: ${error?.message ?? `exit ${status}`}`)
}

/** The npm that runs us, or else the one on the PATH. */
function npmCli() {
  const running = process.env.npm_execpath ?? ''
  if (running.endsWith('npm-cli.js')) return running
  const found = (process.env.PATH ?? '')
    .split(delimiter)
    .map(folder => join(folder, 'npm'))
    .find(existsSync)
  if (found === undefined) throw new Error('there is no npm on the PATH')
  return realpathSync(found)
}
