import { basename } from 'node:path'
import { createPluginIn } from '../../plugin/create-plugin.ts'
import { type Command, type CommandIo, type CommandPage, command, WrongUse } from '../command.ts'
import { environmentBelow } from '../run/environment.ts'
import { type Ended, exitCodeOf, runProgram } from '../run/run-program.ts'
import { RunTurn } from '../run/run-turn.ts'

const PAGE = {
  name: 'run',
  operand: { placeholder: '-- COMMAND [ARGUMENT…]', offers: 'files' },
  about: `Runs a program inside a span of its own: its name, how long it took, how it ended. The program finds the span in its
environment, as TRACEPARENT, so that a program that is traced itself, another "hookspan run", or an agent with "parent: nest"
stands below it.

Where TRACEPARENT is in the environment already, as in the tools of many agents, the span is below that one; else it is
a trace of its own.`,
  options: {},
  closing: `Input, output, exit code and signals are the program's own: it is as if it had been started alone. Exits with 127 when
there is no such program, 126 when it cannot be run.`,
} as const satisfies CommandPage

/** Exit code: that of the program. If a signal ended the program, this process ends by the same signal. */
export const run: Command = command(PAGE, ({ operands }, io) => runIn(operands, io))

async function runIn([program, ...args]: readonly string[], io: CommandIo): Promise<number> {
  if (program === undefined) throw new WrongUse('which program? hookspan run -- COMMAND')
  const surroundings = { env: io.env, home: io.home, isReplay: false }
  const plugin = createPluginIn({ host: 'run', parent: 'nest', handle_signals: false }, surroundings)
  const turn = new RunTurn(plugin, basename(program), [program, ...args])
  const ended = await runProgram(program, args, environmentBelow(turn.traceparent, io.env))
  if (ended.how === 'not started') io.stderr.write(`hookspan run: ${sayWhy(program, ended.code)}\n`)
  turn.end(ended)
  await plugin.shutdown()
  return handOn(ended)
}

function sayWhy(program: string, code: string): string {
  const named = JSON.stringify(program.slice(0, 200))
  if (code === 'ENOENT') return `there is no program ${named}; is it on the PATH?`
  return `${named} cannot be run (${code})`
}

/** The parent process sees how the program itself ended. */
function handOn(ended: Ended): number {
  if (ended.how === 'signal') process.kill(process.pid, ended.signal)
  return exitCodeOf(ended)
}
