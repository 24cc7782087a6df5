import { stateHome } from '../../plugin/config/paths.ts'
import { openTurnJson } from '../../reading/open-turns-json.ts'
import { renderTop } from '../../reading/open-turns-text.ts'
import { type Command, type CommandIo, type CommandPage, command, EXIT } from '../command.ts'
import { OpenTraces } from '../open-traces.ts'
import { isRedrawable, lookOf, StatusArea, statusRows, waitABit } from '../terminal.ts'

const PAGE = {
  name: 'top',
  about: `Shows what every agent of this machine is at right now, by the local trace log: which turn, which tool or request, for how
long, with how many tokens so far, and how long nothing has started or ended in it. First what hangs (silent for two minutes),
then what waits for a person, then what is running, and last what a process that is gone has left.

On a terminal it is redrawn in its place until Ctrl-C; in a pipe it is told once.`,
  options: {
    json: { help: 'one JSON object a line and open turn, once' },
  },
} as const satisfies CommandPage

/** Exit code: 0, also if nothing is open, and after Ctrl-C, the regular end. */
export const top: Command = command(PAGE, async ({ values }, io) => {
  const directory = stateHome(io.env, io.home)
  if (directory === undefined) throw new Error('there is no home directory; set XDG_STATE_HOME to a full path')
  const traces = new OpenTraces(directory)
  if (!values.json && isRedrawable(io)) return watchTop(traces, io)
  const [now, look] = [io.now(), lookOf(io)]
  const turns = await traces.look(now)
  const lines = values.json
    ? turns.map(turn => openTurnJson(turn, now))
    : renderTop(turns, { ...look, now, maxLines: Number.POSITIVE_INFINITY })
  for (const line of lines) io.stdout.write(`${line}\n`)
  return EXIT.ok
})

/** Redraws until interrupted. @param pause waits between two polls */
export async function watchTop(
  traces: OpenTraces,
  io: CommandIo,
  pause: (interrupted: Promise<void>) => Promise<void> = waitABit,
): Promise<number> {
  const area = new StatusArea(io.stdout)
  let isStopped = false
  const interrupted = Promise.race([io.interrupted(), io.hungUp()]).then(() => {
    isStopped = true
  })
  while (!isStopped) {
    const now = io.now()
    const { width, color } = lookOf(io)
    area.show(renderTop(await traces.look(now), { width: width - 1, color, now, maxLines: statusRows(io) }))
    await pause(interrupted)
  }
  return EXIT.ok
}
