import { displayWidth } from '../viewer/display-width.ts'
import type { CommandIo, Output } from './command.ts'

/** Whether lines can be drawn anew in their place. */
export function isRedrawable({ stdout, env }: CommandIo): boolean {
  return stdout.isTTY && env['TERM'] !== 'dumb'
}

/** Lines that can be: what is higher than the window cannot be redrawn, because its first lines are out of reach. */
export function statusRows({ stdout }: Pick<CommandIo, 'stdout'>): number {
  return Math.max(1, (stdout.rows ?? Number.POSITIVE_INFINITY) - 2)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what this takes out
const COLOUR = /\u001b\[\d*m/g

/** Some lines below all others of a terminal, drawn anew in their place when they change. */
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

  /** Takes it away, so that something can be written in its place. */
  clear(): void {
    this.show([])
  }

  #eraser(): string {
    const rows = this.#lines.reduce((sum, line) => sum + this.#rowsOf(line), 0)
    return rows === 0 ? '' : `\u001b[${rows}A\r\u001b[J`
  }

  /** In a window that somebody has made narrower since, a line takes several. */
  #rowsOf(line: string): number {
    const width = displayWidth(line.replace(COLOUR, ''))
    return Math.max(1, Math.ceil(width / (this.#output.columns || width || 1)))
  }
}
