import { displayWidth } from '../viewer/display-width.ts'
import { renderOpenTurns } from '../viewer/open-turns.ts'
import { TraceFollower } from '../viewer/trace-follower.ts'
import type { TraceTree } from '../viewer/trace-forest.ts'
import type { TraceQuery } from '../viewer/trace-log.ts'
import { type CommandIo, EXIT, type Output } from './command.ts'
import { readWatched } from './log-reading.ts'
import { lookOf } from './look.ts'
import type { TracesPlace } from './tree-place.ts'

const POLL_MILLIS = 500
/** More than this is no status but a list. */
const MOST_LINES = 8

export interface FollowOptions {
  readonly query: TraceQuery
  draw(tree: TraceTree): string
  /** What is running is shown below the traces, on a terminal. */
  readonly showsRunning: boolean
  /** Between two looks; ends early when `interrupted` does. */
  readonly pause?: (interrupted: Promise<void>) => Promise<void>
}

/** Draws each trace as its root ends, until interrupted. Resolves to the exit code. */
export async function followTraces(place: TracesPlace, options: FollowOptions, io: CommandIo): Promise<number> {
  const { query, draw, showsRunning, pause = waitABit } = options
  const follower = new TraceFollower(place.listFiles, query)
  const area = showsRunning && isRedrawable(io) ? new StatusArea(io.stdout) : undefined
  let isStopped = false
  const interrupted = Promise.race([io.interrupted(), io.hungUp()]).then(() => {
    isStopped = true
  })
  for (let isFirst = true; !isStopped; isFirst = false) {
    const trees = isFirst ? await firstPoll(follower, place, io) : await follower.poll()
    if ('exitCode' in trees) return trees.exitCode
    if (trees.length > 0) area?.clear()
    for (const each of trees) io.stdout.write(`${draw(each)}\n`)
    const lines = area === undefined ? [] : openLines(follower, io)
    if (isFirst && trees.length === 0 && lines.length === 0) {
      io.stderr.write(`Waiting for traces in ${place.path} (Ctrl-C ends this).\n`)
    }
    area?.show(lines)
    await pause(interrupted)
  }
  area?.clear()
  return EXIT.ok
}

/** It reads everything that there is. */
async function firstPoll(
  follower: TraceFollower,
  place: TracesPlace,
  io: CommandIo,
): Promise<TraceTree[] | { readonly exitCode: number }> {
  return readWatched(await place.listFiles(), onRead => follower.poll(onRead), io)
}

function isRedrawable({ stdout, env }: CommandIo): boolean {
  return stdout.isTTY && env['TERM'] !== 'dumb'
}

function openLines(follower: TraceFollower, io: CommandIo): string[] {
  const { width, color } = lookOf(io)
  // What is higher than the window cannot be redrawn: its first lines are out of reach.
  const maxLines = Math.min(MOST_LINES, Math.max(1, (io.stdout.rows ?? Number.POSITIVE_INFINITY) - 2))
  return renderOpenTurns(follower.open(), { width: width - 1, color, now: io.now(), maxLines })
}

/** Whatever comes first; the timer goes, too, so that nothing holds the process afterwards. */
async function waitABit(interrupted: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>(resolve => {
    timer = setTimeout(resolve, POLL_MILLIS)
  })
  await Promise.race([timeout, interrupted])
  clearTimeout(timer)
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
