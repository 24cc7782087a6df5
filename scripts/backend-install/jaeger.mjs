import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { build, moduleFolder } from './go.mjs'
import { run } from './run.mjs'

/** Jaeger 2, built in its own module: with exactly the versions that it was released with. */
export async function install({ folder, version, row, log }) {
  const source = await moduleFolder(row.module, row.moduleVersion, row.moduleSum)
  log('building, which takes minutes the first time')
  const program = await build(source, {
    target: join(folder, 'jaeger'),
    packagePath: './cmd/jaeger',
    variables: { [`${row.module}/internal/version.latestVersion`]: `v${version}` },
  })
  const said = await run(program, ['version'], { timeoutMillis: 60_000 })
  if (!said.includes(`v${version}`)) throw new Error(`it should say that it is ${version}, but: ${said}`)
  const ui = join(folder, 'ui')
  unpack(join(await moduleFolder(row.uiModule, row.uiModuleVersion, row.uiModuleSum), 'public'), ui)
  return { program, ui, uiVersion: row.uiVersion }
}

/** Every file of it is compressed, and has the name that it had before. */
function unpack(from, to) {
  const files = readdirSync(from, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  for (const file of files) {
    const source = join(file.parentPath, file.name)
    const target = join(to, source.slice(from.length))
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, gunzipSync(readFileSync(source)))
  }
}
