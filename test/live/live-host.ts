import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll } from 'vitest'
import { readTraceFile, type StoredSpan } from '../../src/reading/stored-span.ts'
import { buildForest } from '../../src/reading/trace-forest.ts'
import { listSegments } from '../../src/reading/trace-log.ts'
import { outline } from '../../src/reading/tree-outline.ts'
import { SHOWN } from '../agents/shown.ts'
import { type Ended, HostProcess } from './host-process.ts'
import { recordingEnvironment } from './recording.ts'

export type { Ended, HostProcess } from './host-process.ts'
export { capture, isRecording, TAP_MODULE, tapFile } from './recording.ts'

const homes: string[] = []

/** After the last test of a file: a home may be shared by its tests. */
afterAll(() => {
  const kept = process.env['HOOKSPAN_LIVE_KEEP'] === '1'
  for (const home of homes.splice(0)) {
    if (kept) console.log(`kept: ${home}`)
    else rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
})

/** The folder that the host's package was installed into: `node_modules` is in it. */
function hostFolder(): string {
  return told('HOOKSPAN_LIVE_DIR')
}

/** The Node to run the host with. */
export function hostNode(): string {
  return told('HOOKSPAN_LIVE_NODE')
}

/** What a user would start: a program, or the Node and a script. Nothing, where the host is a library. */
export function hostCommand(): readonly string[] {
  return JSON.parse(told('HOOKSPAN_LIVE_COMMAND')) as string[]
}

/** The version of the host that was installed. */
export function hostVersion(): string {
  return told('HOOKSPAN_LIVE_PACKAGE').split('@').at(-1) ?? ''
}

/** The folder of the installed package `hookspan`. */
export function hookspanFolder(): string {
  return realpathSync(told('HOOKSPAN_LIVE_HOOKSPAN'))
}

function told(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set: these tests are started by npm run test:live -- <host>`)
  return value
}

/** A home directory of its own, with what XDG wants in it; gone after the last test of the file. */
export function scratchHome(): string {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'hookspan-live-home-')))
  homes.push(home)
  for (const folder of Object.values(xdgFolders(home))) mkdirSync(folder, { recursive: true })
  return home
}

function xdgFolders(home: string): Record<string, string> {
  return {
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local', 'share'),
    XDG_STATE_HOME: join(home, '.local', 'state'),
    XDG_CACHE_HOME: join(home, '.cache'),
    TMPDIR: join(home, 'tmp'),
  }
}

/** All that a process of the host knows of this machine. */
function hostEnvironment(home: string): Record<string, string> {
  const bins = [dirname(hostNode()), dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin']
  return { PATH: bins.join(delimiter), HOME: home, ...xdgFolders(home), ...recordingEnvironment(home) }
}

export interface ProjectOptions {
  /** Paths in the project, and what the files say; anything but a text becomes JSON. */
  readonly files?: Readonly<Record<string, unknown>>
  /** Whether the host's package can be imported, too: what a program of a user needs, who uses it as a library. */
  readonly withHost?: boolean
}

/** A project in a home, in which `hookspan` can be imported by its name. */
export function scratchProject(home: string, { files = {}, withHost = false }: ProjectOptions = {}): string {
  const project = join(home, 'project')
  const modules = join(project, 'node_modules')
  mkdirSync(modules, { recursive: true })
  symlinkSync(hookspanFolder(), join(modules, 'hookspan'))
  if (withHost) linkModules(join(hostFolder(), 'node_modules'), modules)
  for (const [name, content] of Object.entries({ 'package.json': { private: true, type: 'module' }, ...files })) {
    mkdirSync(dirname(join(project, name)), { recursive: true })
    writeFileSync(join(project, name), typeof content === 'string' ? content : JSON.stringify(content, null, 2))
  }
  return project
}

function linkModules(from: string, to: string): void {
  for (const name of readdirSync(from)) {
    if (!name.startsWith('.') && !existsSync(join(to, name))) symlinkSync(join(from, name), join(to, name))
  }
}

export interface RunOptions {
  /** Default: one of its own, and then nobody can read its traces. */
  readonly home?: string
  /** Default: the home. */
  readonly cwd?: string
  /** Beside `hostEnvironment`. Nothing of our own environment gets through. */
  readonly env?: Readonly<Record<string, string>>
  /** Then it is killed, and the test fails. Default a minute. */
  readonly timeoutMillis?: number
}

/** Starts a host that is talked to. It and all that it starts have ended when `end` or `stop` has. */
export function startHost(command: string, args: readonly string[], options: RunOptions = {}): HostProcess {
  const { home = scratchHome(), env = {}, cwd = home, timeoutMillis = 60_000 } = options
  return new HostProcess(command, args, { cwd, timeoutMillis, env: { ...hostEnvironment(home), ...env } })
}

/** Runs a host to its end. `input` is what it reads. */
export function runHost(
  command: string,
  args: readonly string[],
  { input = '', ...options }: RunOptions & { readonly input?: string } = {},
): Promise<Ended> {
  return startHost(command, args, options).end(input)
}

export interface Traces {
  /** All traces in one text, by their starts. */
  readonly tree: string
  readonly trees: readonly string[]
  readonly spans: readonly StoredSpan[]
}

/** What was traced in a home. Read when the processes have ended: until then it may not have been written. */
export async function tracesOf(home: string): Promise<Traces> {
  const spans: StoredSpan[] = []
  for (const path of await listSegments(join(home, '.local', 'state', 'hookspan', 'traces'))) {
    for await (const entry of readTraceFile(path)) {
      if (!('spans' in entry)) throw new Error(`${path}:${entry.line}: ${entry.problem}`)
      spans.push(...entry.spans)
    }
  }
  const trees = buildForest(spans).map(tree => outline(tree, { attributes: SHOWN }))
  return { tree: trees.join('\n'), trees, spans }
}
