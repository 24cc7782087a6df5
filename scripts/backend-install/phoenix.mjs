import { join } from 'node:path'
import { virtualEnvironment } from './python.mjs'
import { run } from './run.mjs'

/** Phoenix in a virtual environment, from wheels in exactly the versions of phoenix-requirements.txt. */
export async function install({ folder, version, log }) {
  log('fetching some 150 packages, which takes minutes the first time')
  const pin = `arize-phoenix==${version}`
  const requirements = new URL('phoenix-requirements.txt', import.meta.url)
  const { programs, python } = await virtualEnvironment({ folder, requirements, pin })
  // Compiles what a server loads: without it, each start takes half a minute of one core.
  await run(python, ['-c', 'import phoenix.server.app, phoenix.server.main'], {
    env: {
      PYTHONDONTWRITEBYTECODE: '',
      PHOENIX_WORKING_DIR: join(folder, 'scratch'),
      PHOENIX_TELEMETRY_ENABLED: 'false',
    },
  })
  const found = (await run(python, ['-c', 'import importlib.metadata as m; print(m.version("arize-phoenix"))'])).trim()
  if (found !== version) throw new Error(`it should be ${version}, but is ${found}`)
  return { program: join(programs, 'phoenix'), python }
}
