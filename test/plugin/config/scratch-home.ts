import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ConfigInput } from '../../../src/plugin/config/resolve.ts'
import { resolveConfig } from '../../../src/plugin/config/resolve.ts'
import type { Resolution } from '../../../src/plugin/config/types.ts'
import { afterwards } from '../../support/afterwards.ts'

/** An empty home directory, removed after the test. */
export function scratchHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'hookspan-config-'))
  afterwards(() => rmSync(home, { recursive: true, force: true }))
  return home
}

/** Writes a file under a directory, private by default. */
export function put(directory: string, path: string, text: string, mode = 0o600): string {
  const full = join(directory, path)
  mkdirSync(dirname(full), { recursive: true })
  writeFileSync(full, text)
  // Not as an option of the line above: the process's umask would take bits off it.
  chmodSync(full, mode)
  return full
}

/** A home directory with this `config.yaml`. */
export function homeWith(yaml: string, mode?: number): string {
  const home = scratchHome()
  put(home, '.config/hookspan/config.yaml', yaml, mode)
  return home
}

/** What comes out of a file, an environment and options, and nothing else of this machine. */
export function resolved(input: Omit<ConfigInput, 'home'> & { yaml?: string }): Resolution {
  const { yaml, ...rest } = input
  return resolveConfig({ env: {}, home: yaml === undefined ? scratchHome() : homeWith(yaml), ...rest })
}

/** The lines that a person would read. */
export function messages(resolution: Resolution): string[] {
  return resolution.problems.map(problem => problem.message)
}
