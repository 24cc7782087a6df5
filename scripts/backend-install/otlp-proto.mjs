import { join } from 'node:path'
import { run } from './run.mjs'

/** OTLP's own definitions, compiled for Python: a reader of what we send that others have made. */
export async function install({ folder, version }) {
  const python = join(folder, 'bin', 'python3')
  await run('python3', ['-m', 'venv', folder])
  const package_ = `opentelemetry-proto==${version}`
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', package_])
  return { python }
}
