import { createServer } from 'node:net'
import { join } from 'node:path'
import {
  createReceiverFolders,
  ensureToken,
  lastPort,
  readToken,
  receiverFiles,
  rememberPort,
} from '../../receiver/receiver-files.ts'
import {
  about,
  byHand,
  edited,
  editJson,
  exactUndo,
  FRESH,
  type JsonChange,
  type JsonConfig,
  readConfig,
  valueAt,
} from './json-config.ts'
import { packageFile } from './package-folder.ts'
import type { FileChange, HostSetup, InitContext, Plan } from './plan.ts'
import { folderFrom } from './plugin-file.ts'

/** The first port to try for a receiver that has never run. Below the ephemeral ports of operating systems. */
const FIRST_PORT = 27_640
const PORTS = 20
const PRIVATE = 'The file contains the token of the receiver on this machine, so only your user can read it now.'

/** An agent that reads its hooks from a `settings.json` in its own folder. */
interface HookAgent {
  readonly settings: AgentHookSettings
  readonly folder: string
  readonly variable: string
  readonly below?: string
  /** The agent posts its hooks itself, so the file contains address and token. */
  readonly isByHttp: boolean
}

export function hookAgent(agent: HookAgent): HostSetup {
  return {
    title: agent.settings.title,
    canGuard: agent.settings.guardsOf !== undefined,
    folder: surroundings => folderOf(agent, surroundings),
    enable: surroundings => enable(agent, surroundings),
    undo: surroundings => undo(agent, surroundings),
    print: surroundings => print(agent, surroundings),
  }
}

async function enable(agent: HookAgent, surroundings: InitContext): Promise<Plan> {
  const settings = await readConfig(fileOf(agent, surroundings))
  const { file, value } = settings
  const port = agent.isByHttp ? await portFor(surroundings, portIn(agent.settings, value)) : FIRST_PORT
  const guards = guardsFor(agent, surroundings, value)
  const receiver = receiverOf(surroundings, port, guards)
  const changes = about(settings, () => enabling(agent.settings, value, receiver))
  const { title } = agent.settings
  if (changes.length === 0) return { kind: 'nothing', file, why: `${title} sends its hooks to hookspan already` }
  const manual = byHand(settings, changes)
  if (manual !== undefined) return manual
  const change = edited(settings, changes)
  if (!agent.isByHttp) return { kind: 'change', ...change, notes: [...aboutGuards(title, guards), restart(agent)] }
  const listens = `The receiver listens at 127.0.0.1:${receiver.port}.`
  const notes = [listens, ...aboutGuards(title, guards), PRIVATE, restart(agent)]
  return { kind: 'change', ...change, isPrivate: true, prepare: () => settle(surroundings, receiver), notes }
}

async function undo(agent: HookAgent, surroundings: InitContext): Promise<Plan> {
  const settings = await readConfig(fileOf(agent, surroundings))
  const { file, value } = settings
  const changes = about(settings, () => disabling(agent.settings, value))
  if (changes.length === 0)
    return { kind: 'nothing', file, why: `${agent.settings.title} does not send its hooks to hookspan` }
  const manual = byHand(settings, changes)
  if (manual !== undefined) return manual
  const restored = await exactly(agent, settings, surroundings)
  return { kind: 'change', ...edited(settings, changes), notes: [restart(agent)], ...restored }
}

function print(agent: HookAgent, surroundings: InitContext): ReturnType<HostSetup['print']> {
  const [token, port] = [readToken(placeFor(surroundings)), lastPort(placeFor(surroundings))]
  const guards = guardsFor(agent, surroundings, {})
  const receiver = { ...receiverOf(surroundings, port ?? FIRST_PORT, guards), token: token ?? '<token>' }
  const none =
    token === undefined && agent.isByHttp
      ? '; the receiver has no token yet: npx hookspan serve --detach makes one'
      : ''
  return {
    file: fileOf(agent, surroundings),
    content: editJson(FRESH, enabling(agent.settings, {}, receiver)),
    note: `to be merged into that file${none}`,
  }
}

function exactly(
  { settings }: HookAgent,
  config: JsonConfig,
  surroundings: InitContext,
): Promise<Partial<FileChange> | undefined> {
  const { value } = config
  const receiver = receiverOf(surroundings, portIn(settings, value) ?? FIRST_PORT, guardsIn(settings, value))
  return exactUndo(config, root => enabling(settings, root, receiver))
}

/** Stores port and token for the receiver before the settings refer to them. */
function settle(surroundings: InitContext, { token, port }: ReceiverAccess): void {
  const place = placeFor(surroundings)
  createReceiverFolders(place, () => undefined)
  if (ensureToken(place, () => undefined, token) !== token || (lastPort(place) ?? port) !== port) {
    throw new Error('the receiver has another port or token by now; run this again')
  }
  if (lastPort(place) === undefined) rememberPort(place, port)
}

/** Without an explicit choice, the existing setting is kept. */
function guardsFor({ settings }: HookAgent, { guards }: InitContext, value: unknown): Guards {
  if (settings.guardsOf === undefined || guards === 'off') return undefined
  return guards ?? guardsIn(settings, value)
}

function receiverOf(surroundings: InitContext, port: number, guards: Guards): ReceiverAccess {
  packageFile(surroundings.folder, 'dist', 'hook.cjs')
  const token = readToken(placeFor(surroundings)) ?? surroundings.freshToken
  return { port, token, folder: surroundings.folder, pidFile: placeFor(surroundings).pid, guards }
}

/** The port of the receiver, which is stable; for one that has never run, a free port. */
async function portFor(surroundings: InitContext, named: number | undefined): Promise<number> {
  return lastPort(placeFor(surroundings)) ?? named ?? surroundings.freshPort()
}

/** @throws Error in one line if there is none */
export async function freePort(): Promise<number> {
  for (let port = FIRST_PORT; port < FIRST_PORT + PORTS; port++) if (await isFree(port)) return port
  throw new Error(
    `no port from ${FIRST_PORT} to ${FIRST_PORT + PORTS - 1} is free; npx hookspan serve --detach --port N`,
  )
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

function restart({ settings: { title } }: HookAgent): string {
  return `A ${title} that runs has read its hooks already: start it again.`
}

function fileOf(agent: HookAgent, surroundings: InitContext): string {
  return join(folderOf(agent, surroundings), 'settings.json')
}

/** @throws Error if there is no home directory */
function folderOf({ variable, below, folder }: HookAgent, surroundings: InitContext): string {
  const { env, home } = surroundings
  const own = env[variable]?.trim() ?? ''
  const named = below === undefined || own === '' ? env[variable] : join(own, below)
  return folderFrom(named, join(home, folder), surroundings)
}

/** How the agent behaves if guards cannot answer. Undefined: it does not wait for guards. */
export type Guards = 'open' | 'closed' | undefined

export function aboutGuards(title: string, guards: Guards): string[] {
  if (guards === undefined) return []
  const waits = `${title} waits up to a second for the decision of guards (docs/receiver.md).`
  if (guards === 'open') return [`${waits} If the receiver does not answer, it continues.`]
  return [`${waits} If the receiver does not answer, it blocks tools and prompts.`]
}

export interface ReceiverAccess {
  readonly port: number
  readonly token: string
  readonly guards?: Guards
  readonly folder: string
  readonly pidFile: string
}

/** The form of hooks in an agent's settings, below `hooks` in a JSON file. */
export interface AgentHookSettings {
  readonly title: string
  hooksOf(receiver: ReceiverAccess): ReadonlyMap<string, readonly object[]>
  isOurs(hook: object): boolean
  guardsOf?(hook: object): Guards
  /** @throws Error in one line if the agent would run none of the hooks */
  check(root: unknown, receiver: ReceiverAccess): void
}

/** The changes that enable all hooks; empty if nothing is missing. @throws Error in one line */
function enabling(settings: AgentHookSettings, root: unknown, receiver: ReceiverAccess): JsonChange[] {
  settings.check(root, receiver)
  return changes(settings, root, settings.hooksOf(receiver))
}

function disabling(settings: AgentHookSettings, root: unknown): JsonChange[] {
  return changes(settings, root, new Map())
}

function portIn(settings: AgentHookSettings, root: unknown): number | undefined {
  for (const hook of ourHooks(settings, root)) {
    const { url } = hook as { url?: unknown }
    if (typeof url === 'string') return Number(new URL(url).port)
  }
  return undefined
}

function guardsIn(settings: AgentHookSettings, root: unknown): Guards {
  const said = ourHooks(settings, root).map(hook => settings.guardsOf?.(hook))
  return said.includes('closed') ? 'closed' : said.find(guards => guards !== undefined)
}

function ourHooks(settings: AgentHookSettings, root: unknown): object[] {
  const hooks = valueAt(root, ['hooks'])
  const all = isObject(hooks)
    ? Object.keys(hooks).flatMap(event => groupsOf(settings, root, event).flatMap(hooksIn))
    : []
  return all.filter((hook): hook is object => isObject(hook) && settings.isOurs(hook))
}

/** True if the list of allowed URLs matches this one; `*` matches anything. */
export function allows(list: unknown, url: string): boolean {
  return !Array.isArray(list) || list.some(one => typeof one === 'string' && covers(one, url))
}

function covers(allowed: string, url: string): boolean {
  const pattern = allowed.split('*').map(part => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${pattern.join('.*')}$`).test(url)
}

/** Changes by event. Our hooks form one group and keep its position; other hooks are unchanged. */
function changes(
  settings: AgentHookSettings,
  root: unknown,
  wanted: ReadonlyMap<string, readonly object[]>,
): JsonChange[] {
  const hooks = valueAt(root, ['hooks'])
  if (hooks !== undefined && !isObject(hooks))
    throw new Error(`hooks there is no object; ${settings.title} reads nothing of it`)
  const events = new Set([...wanted.keys(), ...Object.keys(hooks ?? {})])
  return [...events].flatMap(event => changesOf(settings, root, event, wanted.get(event)))
}

function changesOf(
  settings: AgentHookSettings,
  root: unknown,
  event: string,
  wanted: readonly object[] | undefined,
): JsonChange[] {
  const path = ['hooks', event]
  const isOurs = (hook: unknown): boolean => isObject(hook) && settings.isOurs(hook)
  const groups = groupsOf(settings, root, event)
  const own = groups.findIndex(group => hooksIn(group).some(isOurs))
  const group = wanted === undefined ? [] : [{ hooks: wanted }]
  if (own < 0) return group.length === 0 ? [] : [{ path, value: [...groups, ...group] }]
  // The user may have added hooks to our group.
  const kept = groups.flatMap((each, index) => {
    const others = hooksIn(each).filter(hook => !isOurs(hook))
    const isAll = others.length === hooksIn(each).length
    const rest = isAll ? [each] : others.length > 0 ? [{ ...(each as object), hooks: others }] : []
    return index === own ? [...rest, ...group] : rest
  })
  if (JSON.stringify(kept) === JSON.stringify(groups)) return []
  return [{ path, value: kept.length === 0 ? undefined : kept }]
}

/** @throws Error in one line */
function groupsOf({ title }: AgentHookSettings, root: unknown, event: string): readonly unknown[] {
  const groups = valueAt(root, ['hooks', event]) ?? []
  if (Array.isArray(groups)) return groups
  throw new Error(`hooks.${event} there is no list; ${title} reads nothing of it`)
}

function hooksIn(group: unknown): readonly unknown[] {
  const hooks = isObject(group) ? (group as { hooks?: unknown }).hooks : undefined
  return Array.isArray(hooks) ? hooks : []
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
