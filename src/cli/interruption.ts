import type { CommandIo, StopSignal } from './command.ts'
import type { Progress } from './terminal.ts'

/** Time for requests in flight. Anything not yet sent stays where it is. */
const GRACE_MILLIS = 1000
/** The exit code that shells use for a signal: 128 + number. */
const EXIT_CODES: Readonly<Record<StopSignal, number>> = { SIGINT: 130, SIGTERM: 143 }

export const STOPPING = 'stopping … (Ctrl-C again ends it at once)'

/**
 * Handles Ctrl-C in a long command: it starts no more work, reports its progress, and exits with the code of an interruption. A
 * second Ctrl-C ends the process at once (see `CommandIo`).
 */
export class Interruption {
  readonly #stop = new AbortController()
  readonly #giveUp = new AbortController()
  readonly stop: AbortSignal = this.#stop.signal
  readonly giveUp: AbortSignal = this.#giveUp.signal
  exitCode: number | undefined

  constructor(io: Pick<CommandIo, 'interrupted'>, onStop: () => void = () => undefined) {
    void io.interrupted().then(signal => {
      this.exitCode = EXIT_CODES[signal]
      this.#stop.abort()
      setTimeout(() => this.#giveUp.abort(), GRACE_MILLIS).unref()
      onStop()
    })
  }
}

/** The start of a summary: `Interrupted at 42 %: `, or empty if not interrupted. */
export function interruptedAt({ exitCode }: Interruption, progress?: Progress): string {
  if (exitCode === undefined) return ''
  return progress?.share === undefined ? 'Interrupted: ' : `Interrupted at ${progress.share}: `
}
