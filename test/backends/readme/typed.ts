import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { blocks, ROOT, read } from '../../support/pages.ts'

/**
 * What README.md has a person type for one profile of the compose file, after the line that starts it: a server of the
 * tests stands in for that one.
 *
 * @throws when it says nothing of the profile
 */
export function typedAfterStart(profile: string): string[] {
  const start = `docker compose -f node_modules/hookspan/docker-compose.yml --profile ${profile} up -d`
  for (const block of blocks(read('README.md'), 'sh')) {
    const [first, ...others] = block.trimEnd().split('\n')
    if (first === start) return others
  }
  throw new Error(`README.md has no block that begins with: ${start}`)
}

/**
 * Runs a line as it is typed in a clone, with a configuration of nobody.
 *
 * @param home an empty folder
 * @returns what it has printed
 * @throws when it fails
 */
export async function type(line: string, home: string): Promise<string> {
  const env = { PATH: process.env['PATH'], HOME: home, npm_config_update_notifier: 'false' }
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', line], { cwd: ROOT, env })
  return stdout + stderr
}
