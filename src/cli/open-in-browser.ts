import { spawn } from 'node:child_process'
import type { CommandIo } from './command.ts'

/** What opens an address on this system; of Windows' own, `start` would have the shell read the address. */
const OPENERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}
const ELSEWHERE = ['xdg-open'] as const

/** Where that cannot be done, in a container or by way of SSH, it is said, and the address can be copied. */
export function openInBrowser(url: string, { stderr, env }: Pick<CommandIo, 'stderr' | 'env'>): void {
  const [program, ...args] = OPENERS[process.platform] ?? ELSEWHERE
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true, env })
  child.once('error', () => stderr.write(`hookspan view: ${program} could not be started; open the address by hand\n`))
  child.unref()
}
