import type { CommandIo, StopSignal } from './command.ts'
import type { Progress } from './progress.ts'

/** What is in flight may arrive; what is not on its way by then is left where it is. */
const GRACE_MILLIS = 1000
/** As shells say of a process that a signal ended: 128 and its number. */
const EXIT_CODES: Readonly<Record<StopSignal, number>> = { SIGINT: 130, SIGTERM: 143 }

/** On the line of a terminal, until it has stopped. */
export const STOPPING = 'stopping … (Ctrl-C again ends it at once)'

/**
 * Ctrl-C in a command that would end by itself: it takes up no more work, tells what it has done, and its exit code says that
 * it was interrupted. A second Ctrl-C ends the process at once, as that is told by `CommandIo`.
 */
export class Interruption {
  readonly #stop = new AbortController()
  readonly #giveUp = new AbortController()
  #code: number | undefined

  /** @param onStop is told at once, to say that it was heard */
  constructor(io: Pick<CommandIo, 'interrupted'>, onStop: () => void = () => undefined) {
    void io.interrupted().then(signal => {
      this.#code = EXIT_CODES[signal]
      this.#stop.abort()
      setTimeout(() => this.#giveUp.abort(), GRACE_MILLIS).unref()
      onStop()
    })
  }

  /** Aborted at the signal: take up nothing more. */
  get stop(): AbortSignal {
    return this.#stop.signal
  }

  /** Aborted a moment later: wait for nothing any more. */
  get giveUp(): AbortSignal {
    return this.#giveUp.signal
  }

  /** Undefined while nobody has interrupted. */
  get exitCode(): number | undefined {
    return this.#code
  }
}

/** What a summary begins with: `Interrupted at 42 %: `, or nothing when nobody has interrupted. */
export function interruptedAt({ exitCode }: Interruption, progress?: Progress): string {
  if (exitCode === undefined) return ''
  return progress?.share === undefined ? 'Interrupted: ' : `Interrupted at ${progress.share}: `
}
