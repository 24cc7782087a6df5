import { createInterface } from 'node:readline'
import { displayWidth } from '../reading/display-width.ts'
import { humanDuration } from '../reading/human-figures.ts'
import type { CommandIo, Output } from './command.ts'

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

  /**
   * Updates the progress. @param text called only if the line is drawn @param totalBytes a new total, if more work was found
   */
  update(bytes: number, text: (seconds: number) => string, totalBytes: number = this.#totalBytes): void {
    this.#bytes = bytes
    this.#totalBytes = totalBytes
    if (!this.#io.stderr.isTTY) return
    const now = this.#io.now()
    if (now - this.#shownAt < EVERY_MILLIS) return
    this.#shownAt = now
    const elapsed = now - this.#startedAt
    this.showStep(
      [text(elapsed / 1000), this.share, this.#left(elapsed)].filter(part => part !== undefined).join(' · '),
    )
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

/** Waits for the poll interval or until interrupted. Clears the timer, so that it does not keep the process alive. */
export async function waitForPoll(interrupted: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>(resolve => {
    timer = setTimeout(resolve, POLL_MILLIS)
  })
  await Promise.race([timeout, interrupted])
  clearTimeout(timer)
}
