import { packageFile } from './package-folder.ts'

/** How an agent behaves if guards cannot answer. Undefined: it does not wait for guards. */
export type Guards = 'open' | 'closed' | undefined

/**
 * The shell command line that forwards a hook to the receiver. Usually `/bin/sh …/hook.sh /usr/bin/node codex`, which posts by
 * curl and starts Node only without a receiver or curl. For a decision and on Windows, `/usr/bin/node …/hook.cjs codex`. Uses
 * the current Node binary, because the agent's PATH may have another one or none.
 *
 * @param options for the program
 * @throws Error if this copy of hookspan lacks the program
 */
export function commandFor(
  agent: string,
  { folder }: { readonly folder: string },
  options: readonly string[] = [],
): string {
  const program = packageFile(folder, 'dist', 'hook.cjs')
  const decides = options.some(option => option !== '--up')
  const words =
    decides || process.platform === 'win32'
      ? [process.execPath, program]
      : ['/bin/sh', packageFile(folder, 'dist', 'hook.sh'), process.execPath]
  return [...words, agent, ...options].map(quoted).join(' ')
}

/**
 * A shell script that runs a program only if the receiver's process is gone. `$1` is the file with its process id, the rest is
 * the program. It takes 1 to 2 ms, while starting Node takes 50 ms. A killed process may remain a zombie, for example in a
 * container whose first process does not reap. Input is read to its end: an agent may report a broken pipe.
 */
export const UNLESS_UP: string = [
  'state=',
  '{ read -r pid <"$1" && kill -0 "$pid" && { read -r _ _ state _ <"/proc/$pid/stat" || :; } && [ "$state" != Z ]; } 2>/dev/null && exec cat >/dev/null',
  'shift',
  'exec "$@"',
].join('; ')

/** The `commandFor` line, run only if the receiver's process is gone. */
export function unlessUp(agent: string, receiver: { readonly folder: string; readonly pidFile: string }): string {
  return `${['sh', '-c', UNLESS_UP, 'sh', receiver.pidFile].map(quoted).join(' ')} ${commandFor(agent, receiver)}`
}

/** Matches commands of any copy of hookspan, with options and with `|| true`. */
export function isCommandFor(agent: string, command: unknown): boolean {
  const ours = new RegExp(
    `[/\\\\]dist[/\\\\]hook\\.(?:cjs['"]?|sh['"]? .{1,4096}) ${agent}(?: --[a-z]+(?: [a-z0-9]+)?)*(?: \\|\\| true)?$`,
  )
  return typeof command === 'string' && ours.test(command)
}

export interface GuardedEvents {
  readonly asked: ReadonlySet<string>
  readonly closed: ReadonlySet<string>
  /** The first event of a session. Its program waits for the receiver, so that all later hooks find it. */
  readonly first: string
}

export function guardOptions(event: string, guards: Guards, { asked, closed, first }: GuardedEvents): string[] {
  if (event === first) return ['--up']
  if (guards === undefined || !asked.has(event)) return []
  return guards === 'closed' && closed.has(event) ? ['--closed', 'exit2'] : ['--decide']
}

export function guardsOfCommand(command: unknown): Guards {
  if (typeof command !== 'string') return undefined
  return / --closed /.test(command) ? 'closed' : / --decide\b/.test(command) ? 'open' : undefined
}

/** On Windows, a backslash is no reason for quotes: Codex runs `cmd /C` in a way that breaks with any. */
export function quoted(word: string): string {
  const isWindows = process.platform === 'win32'
  if ((isWindows ? /^[\w@+=:,.\\/-]+$/ : /^[\w@%+=:,./-]+$/).test(word)) return word
  return isWindows ? `"${word}"` : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** On Windows, for PowerShell: without `&`, a quoted program is a text and not a call. */
export function powerShellCall(command: string): string {
  return process.platform === 'win32' ? `& ${command}` : command
}
