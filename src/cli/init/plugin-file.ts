import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { hostModule } from '../package-folder.ts'
import { readText } from './config-file.ts'
import type { HostSetup, InitContext, Plan } from './plan.ts'

interface PluginFolderHost {
  readonly name: string
  /** The name in `dist/agents/`, if the host shares another one's plugin. */
  readonly module?: string
  readonly title: string
  readonly exported: string
  readonly notes: readonly string[]
  folder(surroundings: InitContext): string
  /** The folders in it that the host loads plugins from; the preferred one first. */
  readonly inner: readonly [string, ...string[]]
}

const IMPORTED = /^export \{ (?:default|\w+) \} from (['"])(.+)\1;?$/

function pluginFileSetup(host: PluginFolderHost): HostSetup {
  return {
    title: host.title,
    folder: host.folder,
    enable: surroundings => enable(host, surroundings),
    undo: surroundings => undo(host, surroundings),
    print: surroundings => ({
      file: fileIn(host.inner[0], host, surroundings),
      content: contentFor(host, surroundings),
      note: 'the whole content of that file',
    }),
  }
}

/** The folder named by a variable; `~` is the home directory, as in the host. */
export function folderFrom(value: string | undefined, fallback: string, { home }: Pick<InitContext, 'home'>): string {
  const given = value?.trim() ?? ''
  const path = given === '' ? fallback : given.replace(/^~(?=[/\\]|$)/, home)
  if (home === '' && !isAbsolute(path)) throw new Error('there is no home directory')
  return resolve(path)
}

/** A folder in the home directory, or the one named by a variable. @throws Error if there is no home directory */
export function inHome(folder: string, variable = ''): (user: InitContext) => string {
  return user => folderFrom(user.env[variable], join(user.home, folder), user)
}

async function enable(host: PluginFolderHost, surroundings: InitContext): Promise<Plan> {
  const after = contentFor(host, surroundings)
  const { file, before } = await findFile(host, surroundings)
  if (before === after) return { kind: 'nothing', file, why: `${host.title} loads hookspan already` }
  if (before !== undefined && !isOurs(before, host)) {
    const module = hostModule(surroundings.folder, host.module ?? host.name)
    if (before.includes(module)) return { kind: 'nothing', file, why: 'a file of your own loads hookspan already' }
    throw new Error(
      `${file} was not written by hookspan and is left unchanged: move it away, or add ${lineFor(host, module)}`,
    )
  }
  return { kind: 'change', file, before, after, isUsers: false, notes: host.notes }
}

async function undo(host: PluginFolderHost, surroundings: InitContext): Promise<Plan> {
  const { file, before } = await findFile(host, surroundings)
  if (before === undefined) return { kind: 'nothing', file, why: `${host.title} does not load hookspan from there` }
  if (!isOurs(before, host)) throw new Error(`${file} was not written by hookspan and is left unchanged`)
  return { kind: 'change', file, before, after: undefined, isUsers: false, isUndo: true, notes: [] }
}

async function findFile(host: PluginFolderHost, surroundings: InitContext) {
  for (const inner of host.inner) {
    const file = fileIn(inner, host, surroundings)
    const before = await readText(file)
    if (before !== undefined) return { file, before }
  }
  return { file: fileIn(host.inner[0], host, surroundings), before: undefined }
}

function fileIn(inner: string, { folder }: PluginFolderHost, surroundings: InitContext): string {
  return join(folder(surroundings), inner, 'hookspan.js')
}

function contentFor(host: PluginFolderHost, { folder }: InitContext): string {
  const line = lineFor(host, hostModule(folder, host.module ?? host.name))
  return `// Written by "hookspan init ${host.name}"; "hookspan init ${host.name} --undo" removes it.\n${line}\n`
}

function lineFor({ exported }: PluginFolderHost, module: string): string {
  // A drive letter is not a valid module specifier, and a quote or a backslash would end it.
  const isPlain = /^\/[^'"\\\n\r%?#]*$/.test(module)
  return `export { ${exported} } from '${isPlain ? module : pathToFileURL(module).href.replaceAll("'", '%27')}'`
}

/** True if the file contains only our comments and the export of any copy of hookspan. */
function isOurs(text: string, { name, module: folder = name }: PluginFolderHost): boolean {
  const lines = text
    .split(/\r?\n/)
    .filter(line => line.trim() !== '' && !line.startsWith('// Written by "hookspan init '))
  const module = IMPORTED.exec(lines[0]?.trim() ?? '')?.[2] ?? ''
  return lines.length === 1 && module.endsWith(`/agents/${folder}/index.js`)
}

const configHome = inHome('.config', 'XDG_CONFIG_HOME')

/** Pi loads each `.js` and `.ts` file of its folder `extensions` (read from 0.87.1). */
export const pi: HostSetup = pluginFileSetup({
  name: 'pi',
  title: 'Pi',
  exported: 'default',
  notes: [
    'Pi loads it at its next start, or after /reload.',
    'Alternatively: pi install npm:hookspan. Use one of the two.',
  ],
  folder: inHome(join('.pi', 'agent'), 'PI_CODING_AGENT_DIR'),
  inner: ['extensions'],
})

/** opencode loads and calls the exports of its folders `plugins` and `plugin` (1.18.33). Kilo CLI is a fork of it (7.7.7). */
function opencodeSetup(name: string, title: string): HostSetup {
  return pluginFileSetup({
    name,
    module: 'opencode',
    title,
    exported: 'HookspanPlugin',
    notes: [`${title} loads it at its next start.`],
    folder: user => join(configHome(user), name),
    inner: ['plugins', 'plugin'],
  })
}

export const opencode: HostSetup = opencodeSetup('opencode', 'opencode')
export const kilo: HostSetup = opencodeSetup('kilo', 'Kilo')
