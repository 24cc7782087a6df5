import { spawn } from 'node:child_process'
import type { CommandIo } from './command.ts'

/** The program that opens a URL. On Windows not `start`, because the shell would interpret the URL. */
const OPENERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}
const ELSEWHERE = ['xdg-open'] as const

/** Opens a URL. If that fails, for example in a container or over SSH, prints a hint; the URL can still be copied. */
export function openInBrowser(url: string, { stderr, env }: Pick<CommandIo, 'stderr' | 'env'>): void {
  const [program, ...args] = OPENERS[process.platform] ?? ELSEWHERE
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true, env })
  child.once('error', () => stderr.write(`hookspan view: ${program} could not be started; open the address by hand\n`))
  child.unref()
}
