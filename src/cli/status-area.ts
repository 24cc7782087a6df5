import { displayWidth } from '../reading/display-width.ts'
import type { CommandIo, Output } from './command.ts'

/** True if lines can be redrawn in place. */
export function isRedrawable({ stdout, env }: CommandIo): boolean {
  return stdout.isTTY && env['TERM'] !== 'dumb'
}

/** The maximum number of lines: lines scrolled out of the window cannot be redrawn. */
export function statusRows({ stdout }: Pick<CommandIo, 'stdout'>): number {
  return Math.max(1, (stdout.rows ?? Number.POSITIVE_INFINITY) - 2)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what this takes out
const COLOUR = /\u001b\[\d*m/g

/** Lines at the bottom of a terminal that are redrawn in place. */
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
