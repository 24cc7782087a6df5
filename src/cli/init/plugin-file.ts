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
  /** Possible places of the file in the folder; the preferred one first. */
  places(folder: string): readonly string[]
}

const IMPORTED = /^export \{ (?:default|\w+) \} from (['"])(.+)\1;?$/

function pluginFileSetup(host: PluginFolderHost): HostSetup {
  return {
    title: host.title,
    folder: surroundings => host.folder(surroundings),
    enable: surroundings => enable(host, surroundings),
    undo: surroundings => undo(host, surroundings),
    print: surroundings => ({
      file: firstPlace(host, surroundings),
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

async function findFile(
  host: PluginFolderHost,
  surroundings: InitContext,
): Promise<{ readonly file: string; readonly before: string | undefined }> {
  for (const file of host.places(host.folder(surroundings))) {
    const before = await readText(file)
    if (before !== undefined) return { file, before }
  }
  return { file: firstPlace(host, surroundings), before: undefined }
}

function firstPlace(host: PluginFolderHost, surroundings: InitContext): string {
  const [place] = host.places(host.folder(surroundings))
  if (place === undefined) throw new Error(`there is no place for a plugin of ${host.title}`)
  return place
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
  const module = IMPORTED.exec(lines[0]?.trim() ?? '')?.[2]
  return (
    lines.length === 1 &&
    module !== undefined &&
    module.endsWith(join('/agents', folder, 'index.js').replaceAll('\\', '/'))
  )
}

/** Pi loads each `.js` and `.ts` file of its folder `extensions` (read from 0.87.1). */
export const pi: HostSetup = pluginFileSetup({
  name: 'pi',
  title: 'Pi',
  exported: 'default',
  notes: [
    'Pi loads it at its next start, or after /reload.',
    'Alternatively: pi install npm:hookspan. Use one of the two.',
  ],
  folder: surroundings =>
    folderFrom(surroundings.env['PI_CODING_AGENT_DIR'], join(surroundings.home, '.pi', 'agent'), surroundings),
  places: agent => [join(agent, 'extensions', 'hookspan.js')],
})

/** opencode loads each `.js` and `.ts` of its folders `plugins` (documented) and `plugin` (1.18.33), and calls each export. */
export const opencode: HostSetup = pluginFileSetup({
  name: 'opencode',
  title: 'opencode',
  exported: 'HookspanPlugin',
  notes: ['opencode loads it at its next start.'],
  ...inConfigFolder('opencode'),
})

/** Kilo CLI is a fork of opencode and accepts its plugin unchanged (7.7.7). */
export const kilo: HostSetup = pluginFileSetup({
  name: 'kilo',
  module: 'opencode',
  title: 'Kilo',
  exported: 'HookspanPlugin',
  notes: ['Kilo loads it at its next start.'],
  ...inConfigFolder('kilo'),
})

function inConfigFolder(own: string): Pick<PluginFolderHost, 'folder' | 'places'> {
  return {
    folder: surroundings => {
      const { home, env } = surroundings
      return join(folderFrom(env['XDG_CONFIG_HOME'], join(home, '.config'), surroundings), own)
    },
    places: config => ['plugins', 'plugin'].map(name => join(config, name, 'hookspan.js')),
  }
}
