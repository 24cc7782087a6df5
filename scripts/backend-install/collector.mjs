import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from './go.mjs'
import { run } from './run.mjs'

const CORE = 'go.opentelemetry.io/collector'
const CONTRIB = 'github.com/open-telemetry/opentelemetry-collector-contrib'
const CONFIGURATION = fileURLToPath(new URL('../../observability/collector.yaml', import.meta.url))
const FETCH_MILLIS = 15 * 60_000

/**
 * The OpenTelemetry Collector with the components that the configurations in `observability/` name and no others: the whole
 * contrib distribution takes an hour to build. Its own builder writes the program's source.
 */
export async function install({ folder, version, row, log }) {
  const source = join(folder, 'source')
  const manifest = join(folder, 'manifest.yaml')
  mkdirSync(source, { recursive: true })
  writeFileSync(manifest, manifestOf(source, version, row))
  log('fetching and building, which takes minutes the first time')
  const env = { CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false', GOWORK: 'off' }
  const builder = `${CORE}/cmd/builder@v${version}`
  const args = ['run', builder, `--config=${manifest}`, '--skip-compilation']
  await run('go', args, { cwd: folder, env, timeoutMillis: FETCH_MILLIS })
  const program = await build(source, { target: join(folder, 'otelcol') })
  const said = await run(program, ['--version'], { timeoutMillis: 60_000 })
  if (!said.includes(version)) throw new Error(`it should say that it is ${version}, but: ${said}`)
  await run(program, ['validate', `--config=${CONFIGURATION}`], { timeoutMillis: 60_000 })
  rmSync(source, { recursive: true, force: true })
  return { program }
}

/** JSON is YAML. */
function manifestOf(source, version, { components, confmapVersion }) {
  const dist = { name: 'otelcol', module: 'hookspan.test/otelcol', output_path: source, version }
  const gomods = ([section, parts]) => [section, Object.values(parts).map(path => ({ gomod: gomod(path, version) }))]
  // It does not start without the second one, which is for `${env:…}` in a configuration.
  const providers = ['file', 'env'].map(what => ({
    gomod: `${CORE}/confmap/provider/${what}provider v${confmapVersion}`,
  }))
  return JSON.stringify({ dist, ...Object.fromEntries(Object.entries(components).map(gomods)), providers }, null, 2)
}

function gomod(path, version) {
  const [home, ...rest] = path.split('/')
  return `${home === 'core' ? CORE : CONTRIB}/${rest.join('/')} v${version}`
}
