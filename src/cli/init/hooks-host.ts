import { createServer } from 'node:net'
import { join } from 'node:path'
import { isRecord } from '../../reading/attribute-value.ts'
import { ensureToken, lastPort, readToken, receiverFiles, rememberPort } from '../../receiver/receiver-files.ts'
import { shellQuoted } from '../command.ts'
import { packageFile } from '../package-folder.ts'
import type { JsonChange, JsonPath } from './json-config.ts'
import { about, editJson, exactUndo, FRESH, planEdit, readConfig, valueAt } from './json-config.ts'
import type { HostSetup, InitContext, Plan } from './plan.ts'

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
export function commandFor(agent: string, folder: string, options: readonly string[] = []): string {
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

export function unlessUp(agent: string, receiver: { readonly folder: string; readonly pidFile: string }): string {
  return `${['sh', '-c', UNLESS_UP, 'sh', receiver.pidFile].map(quoted).join(' ')} ${commandFor(agent, receiver.folder)}`
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

function guardsOfCommand(command: unknown): Guards {
  if (typeof command !== 'string') return undefined
  return / --closed /.test(command) ? 'closed' : / --decide\b/.test(command) ? 'open' : undefined
}

/** On Windows, a backslash is no reason for quotes: Codex runs `cmd /C` in a way that breaks with any. */
export function quoted(word: string): string {
  if (process.platform !== 'win32') return shellQuoted(word)
  return /^[\w@+=:,.\\/-]+$/.test(word) ? word : `"${word}"`
}

/** On Windows, for PowerShell: without `&`, a quoted program is a text and not a call. */
export function powerShellCall(command: string): string {
  return process.platform === 'win32' ? `& ${command}` : command
}

/** The first port to try for a receiver that has never run. Below the ephemeral ports of operating systems. */
const FIRST_PORT = 27_640
const PORTS = 20
const PRIVATE = 'The file contains the token of the receiver on this machine, so only your user can read it now.'

export interface ReceiverAccess {
  readonly port: number
  readonly token: string
  readonly guards: Guards
  readonly folder: string
  readonly pidFile: string
}

/** An agent that reads its hooks from a JSON file in its own folder: `{hooks: {<event>: [<entry>]}}`. */
export interface HooksHost {
  readonly name: string
  readonly title: string
  folder(surroundings: InitContext): string
  readonly file: string
  /** The file holds nothing but hooks, so it may be blank. */
  readonly isHooksFile?: true
  /** The agent posts its hooks itself, so the file contains address and token. */
  readonly isByHttp?: true
  readonly canGuard?: boolean
  /** The next steps of the user. Default: to start the agent again. */
  readonly notes?: readonly string[]
  readonly head?: readonly JsonChange[]
  /** The entry by event: a hook, or a group of hooks, `{hooks: [<hook>]}`. */
  entriesOf(receiver: ReceiverAccess): ReadonlyMap<string, object>
  /** Default: it runs our command. If `guardsOf` finds none, the options of that command count. */
  isOurs?(hook: object): boolean
  guardsOf?(hook: object): Guards
  /** @throws Error in one line if the agent would run none of the hooks */
  check?(root: unknown, receiver: ReceiverAccess): void
}

export function hooksHost(host: HooksHost): HostSetup {
  return {
    title: host.title,
    canGuard: host.canGuard === true,
    folder: host.folder,
    enable: surroundings => enable(host, surroundings),
    undo: surroundings => undo(host, surroundings),
    print: surroundings => print(host, surroundings),
  }
}

async function enable(host: HooksHost, surroundings: InitContext): Promise<Plan> {
  const config = await readConfig(fileOf(host, surroundings), host.isHooksFile)
  const { title, notes, isByHttp } = host
  const guards = guardsFor(host, surroundings, config.value)
  const known = isByHttp ? (lastPort(placeFor(surroundings)) ?? portIn(host, config.value)) : FIRST_PORT
  const receiver = receiverOf(host, surroundings, known ?? (await surroundings.freshPort()), guards)
  const changes = about(config, root => enabling(host, root, receiver))
  const forUser = [...(notes ?? []), ...aboutGuards(title, guards)]
  const why = `${title} sends its hooks to hookspan already`
  const unchanged = notes === undefined ? { why } : { why, notes: forUser }
  if (!isByHttp) return planEdit(config, changes, unchanged, { notes: [...forUser, ...restart(host)] })
  const prepare = (): void => settle(surroundings, receiver)
  const listens = `The receiver listens at 127.0.0.1:${receiver.port}.`
  const forAll = [listens, ...forUser, PRIVATE, ...restart(host)]
  return planEdit(config, changes, unchanged, { isPrivate: true, prepare, notes: forAll })
}

async function undo(host: HooksHost, surroundings: InitContext): Promise<Plan> {
  const config = await readConfig(fileOf(host, surroundings), host.isHooksFile)
  const changes = about(config, root => hookChanges(host, root, new Map()))
  const unchanged = { why: `${host.title} does not send its hooks to hookspan` }
  if (changes.length === 0) return planEdit(config, changes, unchanged, { notes: [] })
  const port = portIn(host, config.value) ?? FIRST_PORT
  const receiver = receiverOf(host, surroundings, port, guardsIn(host, config.value))
  const restored = await exactUndo(config, root => enabling(host, root, receiver))
  return planEdit(config, changes, unchanged, { notes: restart(host), isUndo: true, ...restored })
}

function print(host: HooksHost, surroundings: InitContext): ReturnType<HostSetup['print']> {
  const place = host.isByHttp && placeFor(surroundings)
  const [token, port] = place ? [readToken(place), lastPort(place)] : ['']
  const guards = guardsFor(host, surroundings, {})
  const receiver = { ...receiverOf(host, surroundings, port ?? FIRST_PORT, guards), token: token ?? '<token>' }
  const none = token === undefined ? '; the receiver has no token yet: npx hookspan serve --detach makes one' : ''
  return {
    file: fileOf(host, surroundings),
    content: editJson(FRESH, enabling(host, {}, receiver)),
    note: [`to be merged into that file${none}`, ...(host.notes ?? [])].join('. '),
  }
}

/** Stores port and token for the receiver before the settings refer to them. */
function settle(surroundings: InitContext, { token, port }: ReceiverAccess): void {
  const place = placeFor(surroundings)
  if (ensureToken(place, () => undefined, token) !== token || (lastPort(place) ?? port) !== port) {
    throw new Error('the receiver has another port or token by now; run this again')
  }
  if (lastPort(place) === undefined) rememberPort(place, port)
}

function guardsFor(host: HooksHost, { guards }: InitContext, root: unknown): Guards {
  if (!host.canGuard || guards === 'off') return undefined
  return guards ?? guardsIn(host, root)
}

function receiverOf(host: HooksHost, surroundings: InitContext, port: number, guards: Guards): ReceiverAccess {
  const { folder, freshToken } = surroundings
  packageFile(folder, 'dist', 'hook.cjs')
  if (!host.isByHttp) return { port, token: '', folder, pidFile: '', guards }
  const place = placeFor(surroundings)
  return { port, token: readToken(place) ?? freshToken, folder, pidFile: place.pid, guards }
}

export async function freePort(): Promise<number> {
  for (let port = FIRST_PORT; port < FIRST_PORT + PORTS; port++) if (await isFree(port)) return port
  const last = FIRST_PORT + PORTS - 1
  throw new Error(`no port from ${FIRST_PORT} to ${last} is free; npx hookspan serve --detach --port N`)
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise(resolve => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

function placeFor({ env, home }: InitContext): ReturnType<typeof receiverFiles> {
  return receiverFiles(env, home)
}

function restart({ title, notes }: HooksHost): string[] {
  return notes === undefined ? [`A ${title} that runs has read its hooks already: start it again.`] : []
}

function fileOf(host: HooksHost, surroundings: InitContext): string {
  return join(host.folder(surroundings), host.file)
}

export function aboutGuards(title: string, guards: Guards): string[] {
  if (guards === undefined) return []
  const then = guards === 'open' ? 'continues' : 'blocks tools and prompts'
  const waits = `${title} waits up to a second for the decision of guards (docs/receiver.md).`
  return [`${waits} If the receiver does not answer, it ${then}.`]
}

function enabling(host: HooksHost, root: unknown, receiver: ReceiverAccess): JsonChange[] {
  if (!isRecord(root)) throw new Error(`it holds no object; ${host.title} reads nothing of it`)
  host.check?.(root, receiver)
  const head = (host.head ?? []).filter(({ path }) => valueAt(root, path) === undefined)
  return [...head, ...hookChanges(host, root, host.entriesOf(receiver))]
}

function portIn(host: HooksHost, root: unknown): number | undefined {
  const urls = ourHooks(host, root).map(hook => valueAt(hook, ['url']))
  const url = urls.find(each => typeof each === 'string')
  return url === undefined ? undefined : Number(new URL(url).port)
}

function guardsIn(host: HooksHost, root: unknown): Guards {
  const said = ourHooks(host, root).map(hook => host.guardsOf?.(hook) ?? guardsOfCommand(valueAt(hook, ['command'])))
  return said.includes('closed') ? 'closed' : said.find(guards => guards !== undefined)
}

function ourHooks(host: HooksHost, root: unknown): object[] {
  const hooks = valueAt(root, ['hooks'])
  const entries = isRecord(hooks) ? Object.values(hooks).flat() : []
  const all = entries.flatMap(entry => [entry, valueAt(entry, ['hooks'])].flat())
  return all.filter(hook => isOurs(host, hook))
}

function isOurs({ name, isOurs: isOurHook }: HooksHost, hook: unknown): hook is object {
  if (!isRecord(hook)) return false
  return isOurHook?.(hook) ?? ['command', 'bash'].some(key => isCommandFor(name, valueAt(hook, [key])))
}

/** Replaces our first entry in place, removes others, and keeps entries and comments of the user. @throws Error in one line */
function hookChanges(host: HooksHost, root: unknown, wanted: ReadonlyMap<string, object>): JsonChange[] {
  const hooks = valueAt(root, ['hooks']) ?? {}
  if (!isRecord(hooks)) throw new Error(`hooks there is no object; ${host.title} reads nothing of it`)
  return [...new Set([...wanted.keys(), ...Object.keys(hooks)])].flatMap(event => {
    const path = ['hooks', event]
    const list = valueAt(root, path)
    const entry = wanted.get(event)
    if (list === undefined) return [{ path, value: [entry] }]
    if (!Array.isArray(list)) throw new Error(`hooks.${event} there is no list; ${host.title} reads nothing of it`)
    const kept = entry === undefined ? -1 : list.findIndex(each => isOursAlone(each, host))
    const removals = list.flatMap((each, index) => (index === kept ? [] : removalsOf(each, [...path, index], host)))
    if (entry === undefined || JSON.stringify(list[kept]) === JSON.stringify(entry)) return removals.reverse()
    const at = kept < 0 ? list.length : kept
    return [{ path: [...path, at], value: entry }, ...removals.reverse()]
  })
}

/** The user may have added hooks to our group, which stay in it. */
function removalsOf(entry: unknown, path: JsonPath, host: HooksHost): JsonChange[] {
  if (isOursAlone(entry, host)) return [{ path }]
  const hooks = valueAt(entry, ['hooks'])
  if (!Array.isArray(hooks)) return []
  return hooks.flatMap((hook, index) => (isOurs(host, hook) ? [{ path: [...path, 'hooks', index] }] : []))
}

function isOursAlone(entry: unknown, host: HooksHost): boolean {
  const hooks = valueAt(entry, ['hooks'])
  return Array.isArray(hooks) ? hooks.length > 0 && hooks.every(hook => isOurs(host, hook)) : isOurs(host, entry)
}
