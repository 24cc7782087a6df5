import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './run.mjs'

const REQUIREMENTS = fileURLToPath(new URL('mlflow-requirements.txt', import.meta.url))

/** MLflow's server in a virtual environment, from wheels in exactly the versions of mlflow-requirements.txt. */
export async function install({ folder, version, log }) {
  const pin = `mlflow-skinny==${version}`
  if (!readFileSync(REQUIREMENTS, 'utf8').split('\n').includes(pin)) {
    throw new Error(`mlflow-requirements.txt should say ${pin}`)
  }
  const home = join(folder, 'venv')
  await run('python3', ['-m', 'venv', home])
  const python = join(home, 'bin', 'python')
  log('fetching some 70 packages')
  // Nothing is resolved, nothing is built, and nothing is compiled that is never loaded.
  const options = ['--no-deps', '--only-binary', ':all:', '--no-compile', '--disable-pip-version-check', '--quiet']
  await run(python, ['-m', 'pip', 'install', ...options, '--requirement', REQUIREMENTS])
  // Compiles what a server loads, so that its first start is not the slow one.
  await run(python, ['-c', 'import mlflow.server, mlflow.server.fastapi_app'], {
    env: { MLFLOW_DISABLE_TELEMETRY: 'true' },
  })
  return { program: join(home, 'bin', 'mlflow') }
}
