/**
 * Runs the adapters with the real hosts, against a model server of our own on loopback:
 *
 *     npm run test:live -- pi                   one host; several names, or none for all, two at a time
 *     npm run test:live -- pi -t 'parallel'     other words go to vitest
 *     npm run test:live -- pi --no-build        with the `dist` that is there, not with the package built and installed anew
 *     npm run test:live -- pi --unchecked       built in spite of the compiler's errors, while others are at work
 *     npm run test:live -- --install            only installs the hosts
 *     npm run test:live -- pi --guards          the hooks that act in it, and nothing else: `guards.live.ts`; minutes for a host
 *
 * The hosts are installed once, in the versions of `live-hosts.mjs`, into `$XDG_CACHE_HOME/hookspan-live` (default
 * `~/.cache/hookspan-live`): 3 GB for all. A folder may be deleted at any time. One that
 * cannot be installed is left out; with CI=true that is a failure.
 *
 * To record fixtures:
 *
 *     HOOKSPAN_UPDATE_FIXTURES=1 npm run test:live -- pi -t 'parallel'
 *     npx vitest run test/agents/fixtures.test.ts -t pi -u
 *
 * The first writes `test/fixtures/pi/*.jsonl` for the tests that call `capture`, without the paths of this machine; the
 * second writes the tree beside each. Read both before you check them in. With HOOKSPAN_LIVE_KEEP=1 the homes of the
 * hosts, with their logs and traces, are left in the folder for temporary files.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LIVE_CACHE } from './backend-install/cache.mjs'
import { LIVE_HOSTS } from './live-hosts.mjs'
import { installHost } from './live-install.mjs'
import { installPackage } from './live-package.mjs'
import { countedAs } from './test-counts.mjs'

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url))
const OWN_OPTIONS = ['--no-build', '--unchecked', '--install', '--guards']
/** Their tests wait for programs more than half of the time. */
const HOSTS_AT_ONCE = 2

const words = process.argv.slice(2)
const isHost = word => Object.hasOwn(LIVE_HOSTS, word)
const chosen = words.filter(isHost)
const vitestArgs = words.filter(word => !isHost(word) && !OWN_OPTIONS.includes(word))
const guards = host => `test/live/${host}/guards.live.ts`
const isGuarded = host => existsSync(join(REPOSITORY, guards(host)))
const all = Object.keys(LIVE_HOSTS).filter(host => !words.includes('--guards') || isGuarded(host))
const hosts = chosen.length === 0 ? all : chosen
const isRequired = ['1', 'true'].includes(process.env.CI)

process.exitCode = await main()

async function main() {
  // Such a word would only be a filter that nothing passes.
  const unknown = vitestArgs[0]
  if (unknown !== undefined && !unknown.startsWith('-')) {
    console.error(`no host is called ${unknown}: ${Object.keys(LIVE_HOSTS).join(', ')}`)
    return 2
  }
  const installed = await installAll()
  if (isRequired && installed.length < hosts.length) return 1
  if (words.includes('--install')) {
    console.log(`${installed.map(({ host }) => host).join(', ')}: in ${LIVE_CACHE}`)
    return 0
  }
  if (installed.length === 0) return 0
  const scratch = mkdtempSync(join(tmpdir(), 'hookspan-live-'))
  try {
    const isChecked = !words.includes('--unchecked')
    const hookspan = words.includes('--no-build') ? REPOSITORY : await installPackage(REPOSITORY, scratch, isChecked)
    const failed = await failedHosts(installed, hookspan)
    if (failed.length > 0) console.error(`failed: ${failed.join(', ')}`)
    return failed.length === 0 ? 0 : 1
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

async function installAll() {
  const installed = []
  for (const host of hosts) {
    try {
      installed.push({ host, ...(await installHost(host)) })
    } catch (error) {
      console.error(`${host} is left out, it cannot be installed: ${error.message}`)
    }
  }
  return installed
}

async function failedHosts(installed, hookspan) {
  const failed = []
  const waiting = [...installed]
  const testNext = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (!(await passes(next, hookspan))) failed.push(next.host)
    }
  }
  await Promise.all(Array.from({ length: HOSTS_AT_ONCE }, testNext))
  return failed
}

/** The output of one of several hosts is printed when its tests are over. */
async function passes({ host, folder, node, command }, hookspan) {
  const { name, version } = LIVE_HOSTS[host]
  const heading = `\n== ${name}@${version}`
  const isOnly = hosts.length === 1
  if (isOnly) console.log(heading)
  const env = {
    ...process.env,
    HOOKSPAN_LIVE_DIR: folder,
    HOOKSPAN_LIVE_NODE: node,
    HOOKSPAN_LIVE_COMMAND: JSON.stringify(command),
    HOOKSPAN_LIVE_PACKAGE: `${name}@${version}`,
    HOOKSPAN_LIVE_HOOKSPAN: hookspan,
  }
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'test/live/vitest.config.ts',
    ...(words.includes('--guards') ? [guards(host)] : [`test/live/${host}/`, '--exclude', '**/guards.live.ts']),
    ...countedAs(`live-${host}`),
    ...vitestArgs,
  ]
  const stdio = isOnly ? 'inherit' : ['ignore', 'pipe', 'pipe']
  const vitest = spawn(process.execPath, args, { cwd: REPOSITORY, env, stdio })
  const output = []
  for (const stream of [vitest.stdout, vitest.stderr]) stream?.on('data', part => output.push(part))
  const [status] = await once(vitest, 'close')
  if (!isOnly) process.stdout.write(`${heading}\n${Buffer.concat(output)}`)
  return status === 0
}
