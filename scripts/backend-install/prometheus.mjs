import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build, moduleFolder } from './go.mjs'
import { run } from './run.mjs'

const MODULE = 'github.com/prometheus/prometheus'
/** Discovery in clouds would double the time of the build. Files and fixed targets are always in it. */
const TAGS = ['netgo', 'remove_all_sd']
/** Where a Prometheus without a page of its own looks for one when it is started in `web`. */
const PAGE = join('web', 'ui', 'static', 'mantine-ui')

/** Prometheus and promtool, built in their own module: exactly the versions that they were released with. */
export async function install({ folder, version, row, log }) {
  const source = await moduleFolder(MODULE, row.moduleVersion)
  log('building, which takes minutes the first time')
  const made = name =>
    build(source, {
      target: join(folder, name),
      packagePath: `./cmd/${name}`,
      variables: { 'github.com/prometheus/common/version.Version': version },
      tags: TAGS,
    })
  const program = await made('prometheus')
  const promtool = await made('promtool')
  for (const each of [program, promtool]) {
    const said = await run(each, ['--version'], { timeoutMillis: 60_000 })
    if (!said.includes(`version ${version} `)) throw new Error(`${each} should say that it is ${version}, but: ${said}`)
  }
  log('building its page')
  await buildPage(join(source, 'web', 'ui'), folder, row.pnpmVersion)
  return { program, promtool, page: join(folder, PAGE, 'index.html') }
}

/** The module holds the source of the page, and says which packages it is built with. */
async function buildPage(module, folder, pnpmVersion) {
  const source = join(folder, 'page-source')
  // Files of the module cache are read-only. The page of Prometheus 2 is left out.
  cpSync(module, source, { recursive: true, filter: from => !from.startsWith(join(module, 'react-app')) })
  await run('chmod', ['-R', 'u+w', source])
  const pnpm = (...args) =>
    run('npx', ['--yes', `pnpm@${pnpmVersion}`, ...args], { cwd: source, env: { CI: '1', ...storeIn(folder) } })
  await pnpm('install', '--frozen-lockfile', '--filter', '@prometheus-io/mantine-ui...')
  await pnpm('--filter', '@prometheus-io/lezer-promql', 'run', 'build')
  await pnpm('--filter', '@prometheus-io/codemirror-promql', 'run', 'build')
  await pnpm('--filter', '@prometheus-io/mantine-ui', 'exec', 'vite', 'build')
  cpSync(join(source, 'mantine-ui', 'dist'), join(folder, PAGE), { recursive: true })
  for (const left of [source, join(folder, 'pnpm-store')]) rmSync(left, { recursive: true, force: true })
}

/** Half a gigabyte of packages for 2 MB of page: they go when it is built. */
function storeIn(folder) {
  return { npm_config_store_dir: join(folder, 'pnpm-store') }
}
