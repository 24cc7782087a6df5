import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { moduleFolder } from './go.mjs'
import { MODULE } from './prometheus.mjs'
import { run } from './run.mjs'

/** Where a Prometheus without a page of its own looks for one when it is started in `web`. */
const PAGE = join('web', 'ui', 'static', 'mantine-ui')

/** Prometheus' page, for pictures of it: nothing else needs it, so it is built when pictures are asked for. */
export async function install({ folder, row, log }) {
  const module = await moduleFolder(MODULE, row.moduleVersion)
  log('building it')
  await buildPage(join(module, 'web', 'ui'), folder, row.pnpmVersion)
  return { page: join(folder, PAGE, 'index.html'), web: join(folder, 'web') }
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
