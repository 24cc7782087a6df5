import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { LIVE_HOSTS, NODE_VERSION } from './live-hosts.mjs'
import { install } from './live-npm.mjs'

/** Written last: a folder without it is not finished. */
const MARKER = '.finished'
/** The largest host needs some seconds to say its version, on a busy machine many. */
const VERSION_MILLIS = 2 * 60_000

export const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'hookspan-live')

/**
 * Installs a host, and the Node that it needs, where they are not there yet.
 *
 * @returns where it is, the Node to run it with, and what a user starts: nothing, where it is a library
 */
export function installHost(host) {
  const { name, version, also = [], omitsOptional = false, script, program, node: wanted } = LIVE_HOSTS[host]
  const node = wanted === undefined ? process.execPath : installNode()
  const folder = once(`${host}@${version}`, building => {
    const options = ['--ignore-scripts', ...(omitsOptional ? ['--omit=optional'] : [])]
    install(building, [`${name}@${version}`, ...also], { node, options })
    verify(host, building, node)
  })
  const command = script === undefined ? [] : [node, join(folder, script)]
  return { folder, node, command: program === undefined ? command : [join(folder, program)] }
}

/** A Node of npm's `node` package, whose install script fetches the binary for this machine. */
function installNode() {
  const binary = join('node_modules', 'node', 'bin', 'node')
  const folder = once(`node@${NODE_VERSION}`, building => {
    install(building, [`node@${NODE_VERSION}`], { allowScripts: { node: true } })
    expectOutput([join(building, binary), '--version'], building, `v${NODE_VERSION}`)
  })
  return join(folder, binary)
}

/** Makes a folder of the cache: all of it, or nothing. Of two who make the same one the first wins. */
function once(name, fill) {
  const folder = join(CACHE, name)
  if (existsSync(join(folder, MARKER))) return folder
  mkdirSync(CACHE, { recursive: true })
  const building = mkdtempSync(join(CACHE, `.${name}-`))
  try {
    fill(building)
    writeFileSync(join(building, MARKER), '')
    renameSync(building, folder)
  } catch (error) {
    rmSync(building, { recursive: true, force: true })
    if (!existsSync(join(folder, MARKER))) throw error
  }
  return folder
}

/** That it is the version that was asked for, and that it can be started here. */
function verify(host, folder, node) {
  const { name, version, script, program, prints = version } = LIVE_HOSTS[host]
  const installed = JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version
  if (installed !== version) throw new Error(`${name}@${version} was asked for, ${installed} was installed`)
  const imports = `import('${name}').then(() => console.log('${version}'))`
  if (program !== undefined) expectOutput([program, '--version'], folder, prints)
  else if (script !== undefined) expectOutput([node, script, '--version'], folder, prints)
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
