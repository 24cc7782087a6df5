import { stateHome } from '../../plugin/config/paths.ts'
import { openTurnJson } from '../../reading/open-turns.ts'
import { renderTop } from '../../reading/open-turns-text.ts'
import type { TraceTree } from '../../reading/trace-forest.ts'
import { type Command, type CommandIo, type CommandPage, command, EXIT } from '../command.ts'
import { OpenTraces } from '../open-traces.ts'
import { isRedrawable, lookOf, StatusArea, statusRows, waitForPoll } from '../terminal.ts'
import { TopScreen } from '../top-screen.ts'

const PAGE = {
  name: 'top',
  about: `Shows what every agent on this machine is doing, from the local trace log: turn, current tool or request, duration, tokens
so far, and time since the last activity. Stalled turns (no activity for two minutes) come first, then those waiting for
approval, then running ones, and last those whose process has ended.

On a terminal it refreshes until q or Ctrl-C, lists the last five ended turns below, and has keys: arrows select a turn, Enter
opens its tree, / searches, e goes to the next error, w shows only waiting turns. In a pipe it prints once.`,
  options: {
    json: { help: 'one JSON object per open turn and line, once' },
  },
} as const satisfies CommandPage

export const top: Command = command(PAGE, async ({ values }, io) => {
  const directory = stateHome(io.env, io.home)
  if (directory === undefined) throw new Error('there is no home directory; set XDG_STATE_HOME to a full path')
  const traces = new OpenTraces(directory)
  if (!values.json && isRedrawable(io)) return watchTop(traces, io)
  const [now, look] = [io.now(), lookOf(io)]
  const turns = await traces.readOpenTurns(now)
  const lines = values.json
    ? turns.map(turn => openTurnJson(turn, now))
    : renderTop(turns, { ...look, now, maxLines: Number.POSITIVE_INFINITY })
  for (const line of lines) io.stdout.write(`${line}\n`)
  return EXIT.ok
})

const ENDED_SHOWN = 5

export async function watchTop(
  traces: OpenTraces,
  io: CommandIo,
  pause: (interrupted: Promise<void>) => Promise<void> = waitForPoll,
): Promise<number> {
  const area = new StatusArea(io.stdout)
  const keys = io.stdin.isTTY === true ? new KeyInput(io) : undefined
  let isStopped = false
  const interrupted = Promise.race([io.interrupted(), io.hungUp()]).then(() => {
    isStopped = true
  })
  const screen = new TopScreen()
  let ended: readonly TraceTree[] = []
  let openIds: string | undefined
  const showEnded = (trees: readonly TraceTree[]): void => {
    ended = trees
  }
  try {
    while (!isStopped) {
      const now = io.now()
      const { width, color } = lookOf(io)
      const look = { width: width - 1, color, now, maxLines: statusRows(io) }
      const open = await traces.readOpenTurns(now)
      if (keys === undefined) area.show(renderTop(open, look))
      else {
        const ids = open.map(({ traceId }) => traceId).join()
        // A turn has ended, or begun. Reading must not delay a key.
        if (ids !== openIds) void traces.readEnded(ENDED_SHOWN).then(showEnded, () => undefined)
        openIds = ids
        if (!screen.press(keys.drain())) break
        area.show(screen.render({ open, ended }, look))
      }
      await pause(keys === undefined ? interrupted : Promise.race([interrupted, keys.pressed()]))
    }
  } finally {
    keys?.close()
  }
  return EXIT.ok
}

/** The keys of a terminal. In raw mode, Ctrl-C is a key, too. */
class KeyInput {
  readonly #stdin: CommandIo['stdin']
  #input = ''
  #notify: () => void = () => undefined

  constructor({ stdin }: CommandIo) {
    this.#stdin = stdin
    stdin.setRawMode?.(true)
    stdin.on('data', this.#receive)
  }

  /** Resolves at the next key, or at once if there is one. */
  pressed(): Promise<void> {
    return new Promise(resolve => {
      this.#notify = resolve
      if (this.#input !== '') resolve()
    })
  }

  drain(): string {
    const input = this.#input
    this.#input = ''
    return input
  }

  close(): void {
    this.#stdin.off('data', this.#receive)
    this.#stdin.setRawMode?.(false)
    // A stream that flows would keep the process alive.
    this.#stdin.pause()
  }

  readonly #receive = (chunk: Buffer | string): void => {
    this.#input += String(chunk)
    this.#notify()
  }
}
