import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './run.mjs'

/** What the pinned wheels ask for. */
const LEAST_PYTHON = [3, 11]

/**
 * A virtual environment of wheels in exactly the versions of a file of requirements.
 *
 * @param requirements URL of the file
 * @param pin the line in it that says what the environment is for
 * @param pipOptions more of them
 * @returns the folder of its programs, and its Python
 * @throws when the file does not have the pin, for then a table says another version; when there is no such Python
 */
export async function virtualEnvironment({ folder, requirements, pin, pipOptions = [] }) {
  const path = fileURLToPath(requirements)
  if (!readFileSync(path, 'utf8').split('\n').includes(pin)) throw new Error(`${basename(path)} should say ${pin}`)
  await checkPython()
  const home = join(folder, 'venv')
  await run('python3', ['-m', 'venv', home])
  const programs = join(home, 'bin')
  const python = join(programs, 'python')
  // Nothing is resolved, nothing is built, and nothing is compiled that is never loaded.
  const options = ['--no-deps', '--only-binary', ':all:', '--no-compile', '--disable-pip-version-check', '--quiet']
  await run(python, ['-m', 'pip', 'install', ...options, ...pipOptions, '--requirement', path])
  return { programs, python }
}

async function checkPython() {
  const said = await run('python3', ['-c', 'import sys; print(*sys.version_info[:2])'])
  const [major = 0, minor = 0] = said.trim().split(' ').map(Number)
  const [leastMajor, leastMinor] = LEAST_PYTHON
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return
  throw new Error(`it takes Python ${LEAST_PYTHON.join('.')} or later, and python3 is ${major}.${minor}`)
}
