/**
 * Asks real servers for what we have sent to them:
 *
 *     npm run test:backends -- jaeger           one suite; several names, or none for all but those of pictures
 *     npm run test:backends -- jaeger -t 'link' other words go to vitest
 *     npm run test:backends -- jaeger --no-build   with the `dist` that is there
 *     npm run test:backends -- --install        only installs the servers
 *
 * The servers are installed once, in the versions of `backend-servers.mjs`, into `$XDG_CACHE_HOME/hookspan-backends`
 * (default `~/.cache/hookspan-backends`); some are Debian packages. A folder may be deleted at any time. One that cannot
 * be installed leaves out the suites that need it; with CI=true or HOOKSPAN_REQUIRE_BACKENDS=1 that is a failure.
 *
 * With HOOKSPAN_UPDATE_PICTURES=1 the pictures in `docs/images` are taken anew: `npm run pictures`.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { CACHE, once } from './backend-install/cache.mjs'
import { BACKEND_SERVERS, BACKEND_SUITES, SUITES_BY_NAME } from './backend-servers.mjs'
import { countedAs } from './test-counts.mjs'

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url))
const OWN_OPTIONS = ['--no-build', '--install']
const VITEST = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/backends/vitest.config.ts']

const words = process.argv.slice(2)
const isSuite = word => Object.hasOwn(BACKEND_SUITES, word)
const chosen = words.filter(isSuite)
const vitestArgs = words.filter(word => !isSuite(word) && !OWN_OPTIONS.includes(word))
const isRequired = ['1', 'true'].includes(process.env.CI) || process.env.HOOKSPAN_REQUIRE_BACKENDS === '1'

process.exitCode = await main()

async function main() {
  // Such a word would only be a filter that nothing passes.
  const unknown = vitestArgs[0]
  if (unknown !== undefined && !unknown.startsWith('-')) {
    console.error(`no suite is called ${unknown}: ${Object.keys(BACKEND_SUITES).join(', ')}`)
    return 2
  }
  const suites =
    chosen.length === 0 ? Object.keys(BACKEND_SUITES).filter(name => !SUITES_BY_NAME.includes(name)) : chosen
  const installed = await installAll(new Set(suites.flatMap(suite => BACKEND_SUITES[suite])))
  const runnable = suites.filter(suite => hasAll(suite, installed))
  if (isRequired && runnable.length < suites.length) return 1
  if (words.includes('--install')) {
    console.log(`${Object.keys(installed).join(', ')}: in ${CACHE}`)
    return 0
  }
  if (runnable.length === 0) return 0
  if (!words.includes('--no-build') && status('npm', ['run', 'build']) !== 0) return 1
  const env = { ...process.env, HOOKSPAN_BACKENDS: JSON.stringify(installed) }
  const counted = countedAs('backends')
  return status(
    process.execPath,
    [...VITEST, ...runnable.map(suite => `test/backends/${suite}/`), ...counted, ...vitestArgs],
    env,
  )
}

/** Two at a time: what is fetched comes while another one is compiled. More would want more memory than machines have. */
async function installAll(names) {
  const installed = {}
  const waiting = [...names]
  const installNext = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      try {
        installed[name] = await installServer(name)
      } catch (error) {
        console.error(`${name} cannot be installed: ${error.message}`)
      }
    }
  }
  await Promise.all([installNext(), installNext()])
  return installed
}

/** @returns its version, and what its installer has said: where its program is, and the like */
async function installServer(name) {
  const row = BACKEND_SERVERS[name]
  if (row === undefined) throw new Error('it has no row in backend-servers.mjs')
  const { version, installer = name } = row
  const log = text => console.error(`${name}: ${text}`)
  const started = Date.now()
  const fill = async folder => {
    log(`installing ${version}`)
    const { install } = await import(`./backend-install/${installer}.mjs`)
    const paths = await install({ folder, version, row, log })
    log(`installed in ${Math.round((Date.now() - started) / 1000)} s`)
    return paths
  }
  const made = await once(`${name}@${version}`, fill, row)
  return { version, ...made }
}

function hasAll(suite, installed) {
  const missing = BACKEND_SUITES[suite].filter(name => installed[name] === undefined)
  if (missing.length > 0) console.error(`${suite} is left out, without ${missing.join(', ')}`)
  return missing.length === 0
}

function status(program, args, env = process.env) {
  return spawnSync(program, args, { cwd: REPOSITORY, env, stdio: 'inherit' }).status ?? 1
}
