import { join } from 'node:path'
import { build, moduleFolder } from './go.mjs'
import { run } from './run.mjs'

export const MODULE = 'github.com/prometheus/prometheus'
/** Discovery in clouds would double the time of the build. Files and fixed targets are always in it. */
const TAGS = ['netgo', 'remove_all_sd']

/** Prometheus without its page, and promtool, built in their own module: exactly the versions that they were released with. */
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
  return { program, promtool }
}
