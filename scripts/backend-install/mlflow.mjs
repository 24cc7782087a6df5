import { join } from 'node:path'
import { virtualEnvironment } from './python.mjs'
import { run } from './run.mjs'

/** MLflow's server in a virtual environment, from wheels in exactly the versions of mlflow-requirements.txt. */
export async function install({ folder, version, log }) {
  log('fetching some 70 packages')
  const pin = `mlflow-skinny==${version}`
  const requirements = new URL('mlflow-requirements.txt', import.meta.url)
  const { programs, python } = await virtualEnvironment({ folder, requirements, pin })
  // Compiles what a server loads, so that its first start is not the slow one.
  await run(python, ['-c', 'import mlflow.server, mlflow.server.fastapi_app'], {
    env: { MLFLOW_DISABLE_TELEMETRY: 'true' },
  })
  return { program: join(programs, 'mlflow') }
}
