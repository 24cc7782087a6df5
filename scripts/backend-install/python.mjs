import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './run.mjs'

/**
 * A virtual environment of wheels in exactly the versions of a file of requirements.
 *
 * @param requirements URL of the file
 * @param pin the line in it that says what the environment is for
 * @returns the folder of its programs, and its Python
 * @throws when the file does not have the pin: the table of servers says another version then
 */
export async function virtualEnvironment({ folder, requirements, pin }) {
  const path = fileURLToPath(requirements)
  if (!readFileSync(path, 'utf8').split('\n').includes(pin)) throw new Error(`${basename(path)} should say ${pin}`)
  const home = join(folder, 'venv')
  await run('python3', ['-m', 'venv', home])
  const programs = join(home, 'bin')
  const python = join(programs, 'python')
  // Nothing is resolved, nothing is built, and nothing is compiled that is never loaded.
  const options = ['--no-deps', '--only-binary', ':all:', '--no-compile', '--disable-pip-version-check', '--quiet']
  await run(python, ['-m', 'pip', 'install', ...options, '--requirement', path])
  return { programs, python }
}
