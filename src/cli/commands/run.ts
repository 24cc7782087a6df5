import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { constants } from 'node:os'
import { basename } from 'node:path'
import { isatty } from 'node:tty'
import { createPluginIn } from '../../plugin/create-plugin.ts'
import type { Plugin } from '../../plugin/plugin.ts'
import { type Command, type CommandIo, command, shellQuoted, WrongUse } from '../command.ts'

/** Exit code: that of the program. If a signal ended the program, this process ends by the same signal. */
export const run: Command = command({
  name: 'run',
  operand: { placeholder: '-- COMMAND [ARGUMENT…]', offers: 'files' },
  about: `Runs a program inside a span with its name, duration and exit status. The program receives the span context in the variable
TRACEPARENT, so that a traced program, another "hookspan run", or an agent with "parent: nest" becomes its child.

If TRACEPARENT is already set, as in the tools of many agents, the span becomes a child of that one. Otherwise it starts a
new trace.`,
  options: {},
  closing: `Input, output, exit code and signals are those of the program. Exits with 127 if the program is not found, and 126 if it
cannot be run.`,
  async run({ operands: [program, ...args] }, io) {
    if (program === undefined) throw new WrongUse('expected a program: hookspan run -- COMMAND')
    const surroundings = { env: io.env, home: io.home, isReplay: false }
    const plugin = createPluginIn({ host: 'run', parent: 'nest', handle_signals: false }, surroundings)
    const turn = beginTurn(plugin, program, args)
    const ended = await runProgram(program, args, environmentBelow(turn.traceparent, io.env))
    if (ended.how === 'not started') io.stderr.write(`hookspan run: ${startError(program, ended.code)}\n`)
    turn.end(ended)
    await plugin.shutdown()
    if (ended.how === 'signal') process.kill(process.pid, ended.signal)
    return exitCodeOf(ended)
  },
})

function startError(program: string, code: string): string {
  const named = JSON.stringify(program.slice(0, 200))
  if (code !== 'ENOENT') return `${named} cannot be run (${code})`
  const hint = process.platform === 'win32' ? ' A .cmd, such as npm, needs a shell: cmd /c' : ''
  return `there is no program ${named}; is it on the PATH?${hint}`
}

export type ProgramEnd =
  | { readonly how: 'exit'; readonly code: number }
  | { readonly how: 'signal'; readonly signal: NodeJS.Signals }
  /** `ENOENT` and the like */
  | { readonly how: 'not started'; readonly code: string }

const HANDED_ON: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGUSR2']
/** A terminal sends these to the program as well, so forwarding would duplicate them. */
const OF_TERMINALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT']

/** Runs a program with our own standard streams and forwards signals to it. Never rejects. */
export async function runProgram(program: string, args: readonly string[], env: CommandIo['env']): Promise<ProgramEnd> {
  let kill: (signal: NodeJS.Signals) => void = () => undefined
  const handler = (signal: NodeJS.Signals): (() => void) => {
    // `process.stdin` would open the input, which belongs to the program.
    const isToldAlready = OF_TERMINALS.includes(signal) && isatty(0)
    return () => !isToldAlready && kill(signal)
  }
  const handlers = [...HANDED_ON, ...OF_TERMINALS].map(signal => [signal, handler(signal)] as const)
  for (const [signal, handle] of handlers) process.on(signal, handle)
  try {
    return await new Promise<ProgramEnd>(resolve => {
      const child = spawn(program, [...args], { env, stdio: 'inherit' })
      kill = signal => void child.kill(signal)
      child.on('error', (error: NodeJS.ErrnoException) => {
        // An error of sending a signal does not end the program.
        if (child.pid === undefined) resolve(notStarted(error))
      })
      child.on('exit', (code, signal) =>
        resolve(signal === null ? { how: 'exit', code: code ?? 1 } : { how: 'signal', signal }),
      )
    })
  } catch (error) {
    return notStarted(error as NodeJS.ErrnoException)
  } finally {
    for (const [signal, handle] of handlers) process.off(signal, handle)
  }
}

function notStarted({ code = 'ERROR' }: NodeJS.ErrnoException): ProgramEnd {
  return { how: 'not started', code }
}

function exitCodeOf(ended: ProgramEnd): number {
  if (ended.how === 'exit') return ended.code
  // Shells use these codes, too.
  if (ended.how === 'signal') return 128 + constants.signals[ended.signal]
  return ended.code === 'ENOENT' ? 127 : 126
}

/** Signals by which a user or supervisor ends a program. They are no failure. */
const STOPPING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

function beginTurn(plugin: Plugin, program: string, args: readonly string[]) {
  const id = randomUUID()
  const ids = { session_id: id, turn_id: id }
  const call = { ...ids, tool_call_id: id, tool_name: basename(program) }
  // The detector of secrets expects the form of a shell.
  const command = [program, ...args].map(shellQuoted).join(' ')
  void plugin.emit('on_session_start', { ...ids, platform: 'cli' })
  void plugin.emit('pre_tool_call', { ...call, args: { command } })
  return {
    /** The parent context for the program. Undefined if `propagate_context` is off or nothing is recorded. */
    traceparent: plugin.traceparent(call),
    end(ended: ProgramEnd): void {
      const { how, fields } = outcomeOf(ended)
      void plugin.emit('post_tool_call', { ...call, ...fields })
      void plugin.emit('on_session_end', { ...ids, [how]: true })
    },
  }
}

function outcomeOf(ended: ProgramEnd): { how: 'completed' | 'failed' | 'interrupted'; fields: object } {
  if (ended.how === 'not started') return { how: 'failed', fields: { status: 'error', error_type: ended.code } }
  if (ended.how === 'signal') {
    if (STOPPING.includes(ended.signal)) return { how: 'interrupted', fields: { status: 'cancelled' } }
    return { how: 'failed', fields: { status: 'error', error_type: ended.signal } }
  }
  const result = { exit_code: ended.code }
  if (ended.code === 0) return { how: 'completed', fields: { status: 'ok', result } }
  return { how: 'failed', fields: { status: 'error', error_type: `exit_${ended.code}`, result } }
}

/** A `tracestate` is passed on within its own trace only. Without a `traceparent`, the context of the caller is kept. */
export function environmentBelow(traceparent: string | undefined, env: CommandIo['env']): CommandIo['env'] {
  if (traceparent === undefined) return env
  const { TRACESTATE, ...rest } = env
  const isSameTrace = traceIdIn(traceparent) === traceIdIn(env['TRACEPARENT'])
  return { ...rest, TRACEPARENT: traceparent, ...(isSameTrace && TRACESTATE !== undefined && { TRACESTATE }) }
}

/** No validation: ours is valid, and another one cannot match it by chance. */
function traceIdIn(traceparent: string | undefined): string | undefined {
  return traceparent?.trim().split('-')[1]
}
