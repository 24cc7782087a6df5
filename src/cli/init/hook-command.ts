import type { Guards } from './hook-settings.ts'
import { packageFile } from './package-folder.ts'

/**
 * As a line of a shell: the program that hands a hook to the receiver. By the Node that runs this: agents may have another one,
 * or none, on their PATH.
 *
 * @param options as the program reads them
 * @throws Error when this copy of hookspan lacks it
 */
export function commandFor(
  agent: string,
  { folder }: { readonly folder: string },
  options: readonly string[] = [],
): string {
  return [process.execPath, packageFile(folder, 'dist', 'hook.cjs'), agent, ...options].map(quoted).join(' ')
}

/**
 * A shell script that runs a program only if the receiver's process is gone. `$1` is the file with its process id, the rest is the
 * program. It takes a millisecond or two, where starting Node takes fifty. A killed process may stay as a zombie for long, as in a
 * container whose first process collects none. Input is read to its end: an agent may report a broken pipe.
 */
export const UNLESS_UP: string = [
  'state=',
  '{ read -r pid <"$1" && kill -0 "$pid" && { read -r _ _ state _ <"/proc/$pid/stat" || :; } && [ "$state" != Z ]; } 2>/dev/null && exec cat >/dev/null',
  'shift',
  'exec "$@"',
].join('; ')

/** As a line of a shell: `commandFor`, only if the receiver's process is gone. */
export function unlessUp(agent: string, receiver: { readonly folder: string; readonly pidFile: string }): string {
  return `${['sh', '-c', UNLESS_UP, 'sh', receiver.pidFile].map(quoted).join(' ')} ${commandFor(agent, receiver)}`
}

/** The same without Node where a receiver listens and there is curl: `/bin/sh …/hook.sh /usr/bin/node codex`. On Windows as above. */
export function lightCommandFor(
  agent: string,
  { folder }: { readonly folder: string },
  options: readonly string[] = [],
): string {
  if (process.platform === 'win32') return commandFor(agent, { folder }, options)
  packageFile(folder, 'dist', 'hook.cjs')
  const script = packageFile(folder, 'dist', 'hook.sh')
  return ['/bin/sh', script, process.execPath, agent, ...options].map(quoted).join(' ')
}

/** Also that of another copy of hookspan, with options, and one that ends well whatever happens. */
export function isCommandFor(agent: string, command: unknown): boolean {
  const ours = new RegExp(
    `[/\\\\]dist[/\\\\]hook\\.(?:cjs['"]?|sh['"]? .{1,4096}) ${agent}(?: --[a-z]+(?: [a-z0-9]+)?)*(?: \\|\\| true)?$`,
  )
  return typeof command === 'string' && ours.test(command)
}

/** Events at which an agent waits for what hooks decide. */
export interface GuardedEvents {
  readonly asked: ReadonlySet<string>
  /** Those of them that something can still be kept from. */
  readonly closed: ReadonlySet<string>
  /** The first of a session. Its program waits for the receiver, so that all later hooks find it. */
  readonly first: string
}

/** The program's options for one event. */
export function guardOptions(event: string, guards: Guards, { asked, closed, first }: GuardedEvents): string[] {
  if (event === first) return ['--up']
  if (guards === undefined || !asked.has(event)) return []
  return guards === 'closed' && closed.has(event) ? ['--closed', 'exit2'] : ['--decide']
}

/** What a command of ours says of that. */
export function guardsOfCommand(command: unknown): Guards {
  if (typeof command !== 'string') return undefined
  return / --closed /.test(command) ? 'closed' : / --decide\b/.test(command) ? 'open' : undefined
}

/** A word of a line for the shell. */
export function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word
  return process.platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
