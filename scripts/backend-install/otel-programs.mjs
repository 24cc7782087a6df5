import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { npm } from '../live-npm.mjs'
import { run } from './run.mjs'

/** The packages of an application with OpenTelemetry of its own, and the Node that they need. hookspan is added by the test. */
export async function install({ folder, row, log }) {
  const node = row.node === undefined ? process.execPath : await installNode(join(folder, 'node'), row.node, log)
  const application = packageFolder(join(folder, 'application'), { dependencies: row.packages })
  npm(['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], application, node)
  return { application, node }
}

/** A Node of npm's `node` package, whose install script fetches the binary for this machine. */
async function installNode(folder, version, log) {
  log(`with Node ${version}`)
  packageFolder(folder, { dependencies: { node: version }, allowScripts: { node: true } })
  npm(['install', '--no-audit', '--no-fund', '--loglevel=error'], folder)
  const node = join(folder, 'node_modules', 'node', 'bin', 'node')
  const said = await run(node, ['--version'], { cwd: dirname(node), timeoutMillis: 60_000 })
  if (said.trim() !== `v${version}`) throw new Error(`Node ${version} was asked for, ${said.trim()} was installed`)
  return node
}

function packageFolder(folder, fields) {
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ private: true, ...fields }, null, 2)}\n`)
  return folder
}
