import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { isatty } from 'node:tty'
import type { CommandIo } from '../command.ts'

export type Ended =
  | { readonly how: 'exit'; readonly code: number }
  | { readonly how: 'signal'; readonly signal: NodeJS.Signals }
  /** `ENOENT` and the like */
  | { readonly how: 'not started'; readonly code: string }

const HANDED_ON: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGUSR2']
/** A terminal sends these to the program as well, so forwarding would duplicate them. */
const OF_TERMINALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT']
const NOT_FOUND = 127
const NOT_RUN = 126
const SIGNALLED = 128

/** Runs a program with our own standard streams and forwards signals to it. Never rejects. */
export async function runProgram(program: string, args: readonly string[], env: CommandIo['env']): Promise<Ended> {
  let kill: (signal: NodeJS.Signals) => void = () => undefined
  const handOn = (signal: NodeJS.Signals): void => kill(signal)
  const handler = (signal: NodeJS.Signals): (() => void) => {
    // `process.stdin` would open the input, which belongs to the program.
    const isToldAlready = OF_TERMINALS.includes(signal) && isatty(0)
    return () => !isToldAlready && handOn(signal)
  }
  const handlers = [...HANDED_ON, ...OF_TERMINALS].map(signal => [signal, handler(signal)] as const)
  for (const [signal, handle] of handlers) process.on(signal, handle)
  try {
    return await new Promise<Ended>(resolve => {
      const child = spawn(program, [...args], { env, stdio: 'inherit' })
      kill = signal => void child.kill(signal)
      child.on('error', (error: NodeJS.ErrnoException) => {
        // An error of sending a signal does not end the program.
        if (child.pid === undefined) resolve(notStarted(error))
      })
      child.on('exit', (code, signal) =>
        resolve(signal === null ? { how: 'exit', code: code ?? 1 } : { how: 'signal', signal }),
      )
    })
  } catch (error) {
    return notStarted(error as NodeJS.ErrnoException)
  } finally {
    for (const [signal, handle] of handlers) process.off(signal, handle)
  }
}

function notStarted({ code = 'ERROR' }: NodeJS.ErrnoException): Ended {
  return { how: 'not started', code }
}

/** The exit code that shells use. */
export function exitCodeOf(ended: Ended): number {
  if (ended.how === 'exit') return ended.code
  if (ended.how === 'signal') return SIGNALLED + constants.signals[ended.signal]
  return ended.code === 'ENOENT' ? NOT_FOUND : NOT_RUN
}
