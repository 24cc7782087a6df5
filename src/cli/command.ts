import type { Readable } from 'node:stream'
import { helpText, usageLine } from './help-text.ts'
import { type CommandArguments, type CommandPage, type OptionTable, readOptions, WrongUse } from './options.ts'

export { type CommandPage, WrongUse } from './options.ts'

/** An output of a command. Writing to a closed pipe is ignored. */
export interface Output {
  write(text: string): void
  readonly isTTY: boolean
  /** Width of the terminal in cells; undefined without a terminal. */
  readonly columns: number | undefined
  readonly rows?: number | undefined
}

export interface CommandIo {
  readonly stdout: Output
  readonly stderr: Output
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown }
  readonly env: Readonly<Record<string, string | undefined>>
  /** The user's home directory, absolute. Empty if there is none. */
  readonly home: string
  /** Epoch milliseconds. */
  now(): number
  /**
   * Resolves at the first SIGINT or SIGTERM. After the first call, the first signal does not end the process; the second one
   * does.
   */
  interrupted(): Promise<StopSignal>
  hungUp(): Promise<void>
}

export type StopSignal = 'SIGINT' | 'SIGTERM'

export interface Command extends CommandPage {
  /** Resolves to the exit code: 0 ok, 1 failed, 2 wrong use. Writes its own messages. */
  run(args: string[], io: CommandIo): Promise<number>
}

/** A row of the table of commands. A command's code is loaded only if it runs. */
export interface CommandRow {
  readonly name: string
  readonly summary: string
  load(): Promise<Command>
}

/** Ends a command that the user has interrupted. It has already reported that. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  readonly exitCode: number

  constructor(exitCode: number) {
    super('interrupted')
    this.exitCode = exitCode
  }
}

export const EXIT = { ok: 0, failed: 1, wrongUse: 2 } as const

/**
 * Wraps the common behavior of commands: parse options by table, print `--help`, and report wrong use as one line with a hint
 * and other errors as one line.
 */
export function command<Options extends OptionTable>(
  page: CommandPage<Options>,
  body: (given: CommandArguments<Options>, io: CommandIo) => Promise<number> | number,
): Command {
  return { ...page, run: (args, io) => runPage(page, args, io, body) }
}

async function runPage<Options extends OptionTable>(
  page: CommandPage<Options>,
  args: readonly string[],
  io: CommandIo,
  body: (given: CommandArguments<Options>, io: CommandIo) => Promise<number> | number,
): Promise<number> {
  if (wantsHelp(args)) {
    io.stdout.write(helpText(page))
    return EXIT.ok
  }
  try {
    const given = readOptions(args, page.options)
    if (page.operand === undefined) refuseOperands(given.operands, page.options)
    return await body(given, io)
  } catch (error) {
    if (error instanceof Interrupted) return error.exitCode
    if (!(error instanceof WrongUse)) return reportFailure(page, error, io)
    io.stderr.write(`hookspan ${page.name}: ${error.message}\n`)
    // A suggestion makes the usage hint unnecessary.
    if (!/did you mean/i.test(error.message)) io.stderr.write(`${usageLine(page)}; see --help\n`)
    return EXIT.wrongUse
  }
}

function refuseOperands([first]: readonly string[], options: OptionTable): void {
  if (first === undefined) return
  const meant = Object.hasOwn(options, first) ? `. Did you mean --${first}?` : ''
  throw new WrongUse(`expected no argument, got ${JSON.stringify(first.slice(0, 60))}${meant}`)
}

export function inOneLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ')
}

export function reportFailure(command: { readonly name: string }, error: unknown, io: CommandIo): number {
  io.stderr.write(`hookspan ${command.name}: ${inOneLine(error)}\n`)
  if (io.env['HOOKSPAN_DEBUG'] === '1' && error instanceof Error) io.stderr.write(`${error.stack}\n`)
  return EXIT.failed
}

function wantsHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return (end === -1 ? args : args.slice(0, end)).some(arg => arg === '--help' || arg === '-h')
}
