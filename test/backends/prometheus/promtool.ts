import { execFile } from 'node:child_process'
import { installedPath } from '../support/installed.ts'

export interface Checked {
  readonly code: number
  /** Both streams: a complaint is one wherever it is printed. */
  readonly output: string
}

/** Runs the promtool of the same version to its end. */
export function promtool(args: readonly string[], input = ''): Promise<Checked> {
  return new Promise(resolve => {
    const child = execFile(installedPath('prometheus', 'promtool'), args, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? 1 : 0, output: stdout + stderr })
    })
    child.stdin?.end(input)
  })
}
