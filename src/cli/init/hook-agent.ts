import { createServer } from 'node:net'
import { join } from 'node:path'
import { lastPort, rememberPort, createReceiverFolders, receiverFiles, readToken, ensureToken } from '../../receiver/receiver-files.ts'
import {
  aboutGuards,
  disabling,
  enabling,
  type Guards,
  guardsIn,
  type HookSettings,
  portIn,
  type Receiver,
} from './hook-settings.ts'
import { editJson } from './json-change.ts'
import { about, byHand, edited, exactUndo, FRESH, type JsonConfig, readConfig } from './json-config.ts'
import { packageFile } from './package-folder.ts'
import type { Change, HostSetup, Plan, Surroundings } from './plan.ts'
import { folderFrom } from './plugin-file.ts'

/** The first port to try for a receiver that has never run. Below the ephemeral ports of operating systems. */
const FIRST_PORT = 27_640
const PORTS = 20
const PRIVATE =
  'The token in it lets in whoever reads it: the file is for you alone now. It opens nothing but the receiver of this machine.'

/** An agent that reads its hooks from a `settings.json` in its own folder. */
export interface HookAgent {
  readonly settings: HookSettings
  /** In the home directory, unless the variable overrides it. */
  readonly folder: string
  readonly variable: string
  /** The subfolder of the variable's folder that contains the settings. */
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

async function enable(agent: HookAgent, surroundings: Surroundings): Promise<Plan> {
  const settings = await readConfig(fileOf(agent, surroundings))
  const { file, value } = settings
  const port = agent.isByHttp ? await portFor(surroundings, portIn(agent.settings, value)) : FIRST_PORT
  const guards = guardsFor(agent, surroundings, value)
  const receiver = receiverOf(surroundings, port, guards)
  const changes = about(settings, () => enabling(agent.settings, value, receiver))
  const { title } = agent.settings
  if (changes.length === 0) return { kind: 'nothing', file, why: `${title} tells hookspan already` }
  const manual = byHand(settings, changes)
  if (manual !== undefined) return manual
  const change = edited(settings, changes)
  if (!agent.isByHttp) return { kind: 'change', ...change, notes: [...aboutGuards(title, guards), restart(agent)] }
  const listens = `The receiver listens at 127.0.0.1:${receiver.port}.`
  const notes = [listens, ...aboutGuards(title, guards), PRIVATE, restart(agent)]
  return { kind: 'change', ...change, isPrivate: true, prepare: () => settle(surroundings, receiver), notes }
}

async function undo(agent: HookAgent, surroundings: Surroundings): Promise<Plan> {
  const settings = await readConfig(fileOf(agent, surroundings))
  const { file, value } = settings
  const changes = about(settings, () => disabling(agent.settings, value))
  if (changes.length === 0) return { kind: 'nothing', file, why: `${agent.settings.title} does not tell hookspan` }
  const manual = byHand(settings, changes)
  if (manual !== undefined) return manual
  const restored = await exactly(agent, settings, surroundings)
  return { kind: 'change', ...edited(settings, changes), notes: [restart(agent)], ...restored }
}

function print(agent: HookAgent, surroundings: Surroundings): ReturnType<HostSetup['print']> {
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
  surroundings: Surroundings,
): Promise<Partial<Change> | undefined> {
  const { value } = config
  const receiver = receiverOf(surroundings, portIn(settings, value) ?? FIRST_PORT, guardsIn(settings, value))
  return exactUndo(config, root => enabling(settings, root, receiver))
}

/** Stores port and token for the receiver before the settings refer to them. */
function settle(surroundings: Surroundings, { token, port }: Receiver): void {
  const place = placeFor(surroundings)
  createReceiverFolders(place, () => undefined)
  if (ensureToken(place, () => undefined, token) !== token || (lastPort(place) ?? port) !== port) {
    throw new Error('the receiver has another port or token by now; run this again')
  }
  if (lastPort(place) === undefined) rememberPort(place, port)
}

/** Without an explicit choice, the existing setting is kept. */
function guardsFor({ settings }: HookAgent, { guards }: Surroundings, value: unknown): Guards {
  if (settings.guardsOf === undefined || guards === 'off') return undefined
  return guards ?? guardsIn(settings, value)
}

function receiverOf(surroundings: Surroundings, port: number, guards: Guards): Receiver {
  packageFile(surroundings.folder, 'dist', 'hook.cjs')
  const token = readToken(placeFor(surroundings)) ?? surroundings.freshToken
  return { port, token, folder: surroundings.folder, pidFile: placeFor(surroundings).pid, guards }
}

/** The port of the receiver, which is stable; for one that has never run, a free port. */
async function portFor(surroundings: Surroundings, named: number | undefined): Promise<number> {
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

function placeFor({ env, home }: Surroundings): ReturnType<typeof receiverFiles> {
  return receiverFiles(env, home)
}

function restart({ settings: { title } }: HookAgent): string {
  return `A ${title} that runs has read its hooks already: start it again.`
}

function fileOf(agent: HookAgent, surroundings: Surroundings): string {
  return join(folderOf(agent, surroundings), 'settings.json')
}

/** @throws Error if there is no home directory */
function folderOf({ variable, below, folder }: HookAgent, surroundings: Surroundings): string {
  const { env, home } = surroundings
  const own = env[variable]?.trim() ?? ''
  const named = below === undefined || own === '' ? env[variable] : join(own, below)
  return folderFrom(named, join(home, folder), surroundings)
}
