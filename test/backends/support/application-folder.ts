import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installedPath } from './installed.ts'

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url))
const NPM_MILLIS = 170_000

/** An application as its developer has it: with its packages, and hookspan as npm installs it beside them. */
export interface ApplicationFolder {
  readonly path: string
  readonly node: string
  remove(): void
}

/**
 * @param packages the row of `backend-servers.mjs` that has its packages
 * @param programs a folder, what is in it comes beside them
 */
export function installApplication(packages: string, programs: URL): ApplicationFolder {
  const scratch = mkdtempSync(join(tmpdir(), `hookspan-${packages}-`))
  const remove = (): void => rmSync(scratch, { recursive: true, force: true })
  try {
    const path = join(scratch, 'application')
    cpSync(installedPath(packages, 'application'), path, { recursive: true, verbatimSymlinks: true })
    cpSync(fileURLToPath(programs), path, { recursive: true })
    const node = installedPath(packages, 'node')
    npm(['pack', '--ignore-scripts', '--pack-destination', scratch], REPOSITORY, process.execPath)
    const archive = readdirSync(scratch).find(name => name.endsWith('.tgz')) ?? ''
    npm(
      ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', join(scratch, archive)],
      path,
      node,
    )
    return { path, node, remove }
  } catch (error) {
    remove()
    throw error
  }
}

/** With the Node that the application runs on: npm chooses by it. */
function npm(args: readonly string[], cwd: string, node: string): void {
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env['PATH'] ?? ''}` }
  const { status, stderr } = spawnSync('npm', ['--loglevel=error', ...args], {
    cwd,
    env,
    encoding: 'utf8',
    timeout: NPM_MILLIS,
  })
  if (status !== 0) throw new Error(`npm ${args[0]} ended with ${status}: ${stderr.slice(-2000)}`)
}
