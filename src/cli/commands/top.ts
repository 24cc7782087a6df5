import { stateHome } from '../../plugin/config/paths.ts'
import { openTurnJson } from '../../reading/open-turns.ts'
import { renderTop } from '../../reading/open-turns-text.ts'
import { type Command, type CommandIo, type CommandPage, command, EXIT } from '../command.ts'
import { OpenTraces } from '../open-traces.ts'
import { isRedrawable, lookOf, StatusArea, statusRows, waitForPoll } from '../terminal.ts'

const PAGE = {
  name: 'top',
  about: `Shows what every agent on this machine is doing, from the local trace log: turn, current tool or request, duration, tokens
so far, and time since the last activity. Stalled turns (no activity for two minutes) come first, then those waiting for
approval, then running ones, and last those whose process has ended.

On a terminal it refreshes until Ctrl-C; in a pipe it prints once.`,
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

export async function watchTop(
  traces: OpenTraces,
  io: CommandIo,
  pause: (interrupted: Promise<void>) => Promise<void> = waitForPoll,
): Promise<number> {
  const area = new StatusArea(io.stdout)
  let isStopped = false
  const interrupted = Promise.race([io.interrupted(), io.hungUp()]).then(() => {
    isStopped = true
  })
  while (!isStopped) {
    const now = io.now()
    const { width, color } = lookOf(io)
    area.show(renderTop(await traces.readOpenTurns(now), { width: width - 1, color, now, maxLines: statusRows(io) }))
    await pause(interrupted)
  }
  return EXIT.ok
}
