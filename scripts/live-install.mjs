import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LIVE_CACHE, once } from './backend-install/cache.mjs'
import { virtualEnvironment } from './backend-install/python.mjs'
import { LIVE_HOSTS, NODE_VERSION } from './live-hosts.mjs'
import { install } from './live-npm.mjs'

/** The largest host needs some seconds to say its version, on a busy machine many. */
const VERSION_MILLIS = 2 * 60_000

/**
 * Installs a host, and the Node that it needs, where they are not there yet.
 *
 * @returns where it is, the Node to run it with, and what a user starts: nothing, where it is a library
 * @throws when it cannot be installed, or is not what was asked for
 */
export async function installHost(host) {
  const row = LIVE_HOSTS[host]
  const node = row.node === undefined ? process.execPath : await installNode()
  const fill = async folder => {
    await (row.requirements === undefined ? installFromNpm(row, folder, node) : installFromPyPi(row, folder))
    verify(row, folder, node)
    return { folder }
  }
  const { folder } = await once(`${host}@${row.version}`, fill, row, LIVE_CACHE)
  return { folder, node, command: commandOf(row, folder, node) }
}

function installFromNpm({ name, version, also = [], omitsOptional = false }, folder, node) {
  const options = ['--ignore-scripts', ...(omitsOptional ? ['--omit=optional'] : [])]
  install(folder, [`${name}@${version}`, ...also], { node, options })
  const installed = JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version
  if (installed !== version) throw new Error(`${name}@${version} was asked for, ${installed} was installed`)
}

function installFromPyPi({ name, version, requirements }, folder) {
  const pin = `${name}==${version}`
  return virtualEnvironment({ folder, requirements: new URL(requirements, import.meta.url), pin })
}

/** A Node of npm's `node` package, whose install script fetches the binary for this machine. */
async function installNode() {
  const fill = folder => {
    const node = join(folder, 'node_modules', 'node', 'bin', 'node')
    install(folder, [`node@${NODE_VERSION}`], { allowScripts: { node: true } })
    expectOutput([node, '--version'], folder, `v${NODE_VERSION}`)
    return { node }
  }
  return (await once(`node@${NODE_VERSION}`, fill, {}, LIVE_CACHE)).node
}

function commandOf({ script, program }, folder, node) {
  if (program !== undefined) return [join(folder, program)]
  return script === undefined ? [] : [node, join(folder, script)]
}

/** That it can be started here, and is the version that was asked for. */
function verify(row, folder, node) {
  const { name, version, prints = version } = row
  const command = commandOf(row, folder, node)
  const imports = `import('${name}').then(() => console.log('${version}'))`
  if (command.length > 0) expectOutput([...command, '--version'], folder, prints)
  else expectOutput([node, '--eval', imports], folder, prints)
}

/** In a home of its own: some write into it as soon as they start. */
function expectOutput([command, ...args], folder, expected) {
  const home = mkdtempSync(join(folder, '.home-'))
  const env = { PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`, HOME: home }
  const { stdout, stderr, error } = spawnSync(command, args, {
    cwd: folder,
    env,
    encoding: 'utf8',
    timeout: VERSION_MILLIS,
  })
  rmSync(home, { recursive: true, force: true })
  if (stdout?.includes(expected)) return
  const said = error?.message ?? `${stdout}${stderr}`.trim().slice(-2000)
  throw new Error(`${command} ${args.join(' ')} should print ${expected}, but: ${said}`)
}
