import { createInterface } from 'node:readline'
import { inTime } from '../guards/in-time.ts'
import { displayWidth } from '../reading/display-width.ts'
import { humanDuration } from '../reading/human-figures.ts'
import type { CommandIo, Output, StopSignal } from './command.ts'

const MAX_COLUMNS = 160
const PIPED_COLUMNS = 120

/** The width and colors for an output. Colors need a terminal or `FORCE_COLOR`. Some terminals report 0 columns. */
export function lookOf({ stdout, env }: Pick<CommandIo, 'stdout' | 'env'>): { width: number; color: boolean } {
  const wantsNone = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb'
  const forced = env['FORCE_COLOR'] ?? ''
  const color = !wantsNone && (stdout.isTTY || (forced !== '' && forced !== '0'))
  const named = env['COLUMNS'] ?? ''
  const columns = stdout.columns || (/^\d{1,6}$/.test(named) && Number(named)) || PIPED_COLUMNS
  return { width: Math.min(MAX_COLUMNS, columns), color }
}

const EVERY_MILLIS = 200
const GUESS_MILLIS = 1000
const CLEAR_LINE = '\r\u001b[K'
/** For a terminal that does not report its width. */
const USUAL_COLUMNS = 80

/** The progress of a long command on one line of a terminal. Silent without a terminal. */
export class Progress {
  readonly #io: CommandIo
  #totalBytes: number
  readonly #startedAt: number
  #bytes = 0
  #shownAt: number
  #isShown = false

  constructor(io: CommandIo, totalBytes?: number) {
    this.#io = io
    this.#totalBytes = totalBytes ?? 0
    this.#startedAt = io.now()
    this.#shownAt = this.#startedAt
  }

  /** @param text called only if the line is drawn @param totalBytes a new total, if more work was found */
  update(bytes: number, text: (seconds: number) => string, totalBytes: number = this.#totalBytes): void {
    this.#bytes = bytes
    this.#totalBytes = totalBytes
    if (!this.#io.stderr.isTTY) return
    const now = this.#io.now()
    if (now - this.#shownAt < EVERY_MILLIS) return
    this.#shownAt = now
    const elapsed = now - this.#startedAt
    const parts = [text(elapsed / 1000), this.share, this.#left(elapsed)]
    this.showStep(parts.filter(part => part !== undefined).join(' · '))
  }

  /** `42 %`; undefined if the total is unknown. */
  get share(): string | undefined {
    return this.#totalBytes > 0 ? `${Math.floor(this.#fraction * 100)} %` : undefined
  }

  showStep(text: string): void {
    if (!this.#io.stderr.isTTY) return
    this.#isShown = true
    const columns = this.#io.stderr.columns || USUAL_COLUMNS
    this.#io.stderr.write(`${CLEAR_LINE}${text.slice(0, columns - 1)}`)
  }

  end(): void {
    if (this.#isShown) this.#io.stderr.write(CLEAR_LINE)
    this.#isShown = false
  }

  get stderr(): Output {
    const { stderr } = this.#io
    const write = (text: string): void => {
      this.end()
      stderr.write(text)
    }
    return { write, isTTY: stderr.isTTY, columns: stderr.columns }
  }

  get #fraction(): number {
    return Math.min(1, this.#bytes / this.#totalBytes)
  }

  #left(elapsed: number): string | undefined {
    if (this.#totalBytes === 0 || elapsed < GUESS_MILLIS || this.#fraction < 0.01 || this.#fraction === 1) return
    const seconds = Math.ceil((elapsed * (1 / this.#fraction - 1)) / 1000)
    return `${seconds < 60 ? `${seconds} s` : humanDuration(seconds * 1000)} left`
  }
}

export function isRedrawable({ stdout, env }: CommandIo): boolean {
  return stdout.isTTY && env['TERM'] !== 'dumb'
}

/** The maximum number of lines: lines scrolled out of the window cannot be redrawn. */
export function statusRows({ stdout }: Pick<CommandIo, 'stdout'>): number {
  return Math.max(1, (stdout.rows ?? Number.POSITIVE_INFINITY) - 2)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what this takes out
const COLOUR = /\u001b\[\d*m/g

export class StatusArea {
  readonly #output: Output
  #lines: readonly string[] = []

  constructor(output: Output) {
    this.#output = output
  }

  show(lines: readonly string[]): void {
    if (lines.join('\n') === this.#lines.join('\n')) return
    this.#output.write(this.#eraser() + lines.map(line => `${line}\n`).join(''))
    this.#lines = lines
  }

  clear(): void {
    this.show([])
  }

  #eraser(): string {
    const rows = this.#lines.reduce((sum, line) => sum + this.#rowsOf(line), 0)
    return rows === 0 ? '' : `\u001b[${rows}A\r\u001b[J`
  }

  /** The rows of a line, which wraps if the user has narrowed the window. */
  #rowsOf(line: string): number {
    const width = displayWidth(line.replace(COLOUR, ''))
    return Math.max(1, Math.ceil(width / (this.#output.columns || width || 1)))
  }
}

/** Asks the user. @param no its `text` is printed unless the answer is yes; `unasked`, with the way out, if there is no terminal */
export async function confirm(
  question: string,
  no: { readonly command: string; readonly text: string; readonly unasked: string },
  io: CommandIo,
): Promise<boolean> {
  if (io.stdin.isTTY !== true) {
    io.stderr.write(`hookspan ${no.command}: ${no.unasked}: no terminal for confirmation; use --yes\n`)
    return false
  }
  io.stderr.write(`\n${question} [y/N] `)
  let answer: string | undefined
  const lines = createInterface({ input: io.stdin })
  for await (const line of lines) {
    answer = line
    break
  }
  // An open reader would keep the process alive.
  lines.close()
  if (answer === undefined) io.stderr.write('\n')
  const isYes = /^\s*y(es)?\s*$/i.test(answer ?? '')
  if (!isYes) io.stderr.write(`${no.text}\n`)
  return isYes
}

const POLL_MILLIS = 500

/** Waits for the poll interval or until interrupted. */
export async function waitForPoll(interrupted: Promise<void>): Promise<void> {
  await inTime(interrupted, POLL_MILLIS)
}

/** Time for requests in flight. Anything not yet sent stays where it is. */
const GRACE_MILLIS = 1000
/** The exit code that shells use for a signal: 128 + number. */
const EXIT_CODES: Readonly<Record<StopSignal, number>> = { SIGINT: 130, SIGTERM: 143 }

export const STOPPING = 'stopping … (Ctrl-C again ends it at once)'

/** On Ctrl-C, a long command starts no more work and reports its progress. A second one ends the process at once. */
export class Interruption {
  readonly #stop = new AbortController()
  readonly #giveUp = new AbortController()
  readonly stop: AbortSignal = this.#stop.signal
  readonly giveUp: AbortSignal = this.#giveUp.signal
  readonly stopped: Promise<void>
  exitCode: number | undefined

  constructor(io: Pick<CommandIo, 'interrupted'>, onStop: () => void = () => undefined) {
    this.stopped = io.interrupted().then(signal => {
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
