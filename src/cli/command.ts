import type { Readable } from 'node:stream'

/** Where a command writes. Writing to a pipe that was closed does nothing. */
export interface Output {
  write(text: string): void
  readonly isTTY: boolean
  /** Cells of a line; undefined when it is no terminal. */
  readonly columns: number | undefined
  /** Lines of the terminal, where they are known. */
  readonly rows?: number | undefined
}

/** All that a command knows of its process, so that a test can be one. */
export interface CommandIo {
  readonly stdout: Output
  readonly stderr: Output
  readonly stdin: Readable
  readonly env: Readonly<Record<string, string | undefined>>
  /** The user's home directory, absolute; empty where the system knows of none. */
  readonly home: string
  /** Epoch milliseconds. */
  now(): number
  /**
   * For commands that run until somebody ends them: resolves at the first SIGINT or SIGTERM, or when nobody reads the
   * output any more. From the first call on these signals no longer end the process by themselves.
   */
  interrupted(): Promise<void>
}

export interface Command {
  readonly name: string
  /** What it does, in a few words, for the list of commands. */
  readonly summary: string
  /** What `--help` prints; its first line starts with `Usage: hookspan`. */
  readonly usage: string
  /** Resolves to the exit code: 0 ok, 1 failed, 2 wrong use. Writes its own messages. */
  run(args: string[], io: CommandIo): Promise<number>
}

export const EXIT = { ok: 0, failed: 1, wrongUse: 2 } as const

/** The command was called in a way that it does not know; the message says what was wrong. */
export class WrongUse extends Error {
  override readonly name = 'WrongUse'
}

/**
 * Runs a command's body with the manners that all commands share: `--help` prints the usage, wrong use (a `WrongUse`,
 * or what `parseArgs` of node:util throws) is one line and a hint, and any other error one line.
 */
export async function runCommand(
  command: Command,
  args: string[],
  io: CommandIo,
  body: () => Promise<number>,
): Promise<number> {
  if (wantsHelp(args)) {
    io.stdout.write(`${command.usage.trimEnd()}\n`)
    return EXIT.ok
  }
  try {
    return await body()
  } catch (error) {
    if (!isWrongUse(error)) return reportFailure(command, error, io)
    const [usage = ''] = command.usage.split('\n')
    io.stderr.write(`hookspan ${command.name}: ${firstSentence(error.message)}\n${usage}\n`)
    return EXIT.wrongUse
  }
}

/** One line; the stack only for those who debug us. */
export function reportFailure(command: { readonly name: string }, error: unknown, io: CommandIo): number {
  const message = error instanceof Error ? error.message : String(error)
  io.stderr.write(`hookspan ${command.name}: ${message.replace(/\s+/g, ' ')}\n`)
  if (io.env['HOOKSPAN_DEBUG'] === '1' && error instanceof Error) io.stderr.write(`${error.stack}\n`)
  return EXIT.failed
}

function wantsHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return (end === -1 ? args : args.slice(0, end)).some(arg => arg === '--help' || arg === '-h')
}

function isWrongUse(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  return error instanceof WrongUse || ('code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'))
}

/** `parseArgs` goes on to explain how to pass a positional that starts with a dash. */
function firstSentence(message: string): string {
  return message.split(/\. (?=[A-Z])/)[0] ?? message
}
