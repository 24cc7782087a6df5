import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readText } from './config-file.ts'
import { hostModule } from './package-folder.ts'
import type { HostSetup, Plan, Surroundings } from './plan.ts'

/** A host that loads every module of a folder. */
export interface PluginFolderHost {
  /** As in `dist/hosts/`. */
  readonly name: string
  readonly title: string
  /** What the host takes from our module. */
  readonly exported: string
  /** Said when it is enabled. */
  readonly notes: readonly string[]
  /**
   * Where the file may be; where we write it comes first.
   *
   * @throws Error when there is no home directory
   */
  places(surroundings: Surroundings): readonly PluginPlace[]
}

interface PluginPlace {
  readonly file: string
  /** The host's own folder. */
  readonly hostFolder: string
  /** Those that exist for the host alone, the innermost first. */
  readonly folders: readonly string[]
}

const IMPORTED = /^export \{ (?:default|\w+) \} from (['"])(.+)\1;?$/

/** Enables us by a module of one line that the host finds, which leads to the installed package. */
export function pluginFileSetup(host: PluginFolderHost): HostSetup {
  return {
    title: host.title,
    enable: surroundings => enable(host, surroundings),
    undo: surroundings => undo(host, surroundings),
    print: surroundings => ({
      file: firstPlace(host, surroundings).file,
      content: contentFor(host, surroundings),
      note: 'the whole content of that file',
    }),
  }
}

/** The folder that a variable names, as the host reads it: `~` is the home directory. */
export function folderFrom(value: string | undefined, fallback: string, { home }: Surroundings): string {
  const given = value?.trim() ?? ''
  const path = given === '' ? fallback : given.replace(/^~(?=[/\\]|$)/, home)
  if (home === '' && !isAbsolute(path)) throw new Error('there is no home directory')
  return resolve(path)
}

async function enable(host: PluginFolderHost, surroundings: Surroundings): Promise<Plan> {
  const after = contentFor(host, surroundings)
  const { file, before, hostFolder } = await findFile(host, surroundings)
  if (before === after) return { kind: 'nothing', file, why: `${host.title} loads hookspan already` }
  if (before !== undefined && !isOurs(before, host)) {
    const module = hostModule(surroundings.folder, host.name)
    if (before.includes(module)) return { kind: 'nothing', file, why: 'a file of your own loads hookspan already' }
    throw new Error(
      `${file} is not what hookspan wrote; it stays as it is: move it away, or add ${lineFor(host, module)}`,
    )
  }
  return { kind: 'change', file, before, after, isUsers: false, hostFolder, notes: host.notes }
}

async function undo(host: PluginFolderHost, surroundings: Surroundings): Promise<Plan> {
  const { file, before, hostFolder, folders } = await findFile(host, surroundings)
  if (before === undefined) return { kind: 'nothing', file, why: `${host.title} does not load hookspan from there` }
  if (!isOurs(before, host)) throw new Error(`${file} is not what hookspan wrote; it stays as it is`)
  return { kind: 'change', file, before, after: undefined, isUsers: false, hostFolder, folders, notes: [] }
}

async function findFile(
  host: PluginFolderHost,
  surroundings: Surroundings,
): Promise<PluginPlace & { readonly before: string | undefined }> {
  for (const place of host.places(surroundings)) {
    const before = await readText(place.file)
    if (before !== undefined) return { ...place, before }
  }
  return { ...firstPlace(host, surroundings), before: undefined }
}

function firstPlace(host: PluginFolderHost, surroundings: Surroundings): PluginPlace {
  const [place] = host.places(surroundings)
  if (place === undefined) throw new Error(`there is no place for a plugin of ${host.title}`)
  return place
}

function contentFor(host: PluginFolderHost, { folder }: Surroundings): string {
  const line = lineFor(host, hostModule(folder, host.name))
  return `// Written by "hookspan init ${host.name}"; "hookspan init ${host.name} --undo" takes it away.\n${line}\n`
}

function lineFor({ exported }: PluginFolderHost, module: string): string {
  // A drive letter is no module specifier, and a quote or a backslash would end it.
  const isPlain = /^\/[^'"\\\n\r%?#]*$/.test(module)
  return `export { ${exported} } from '${isPlain ? module : pathToFileURL(module).href.replaceAll("'", '%27')}'`
}

/** Whether all of it may go: comments of ours, and the line, whichever copy of hookspan it leads to. */
function isOurs(text: string, { name }: PluginFolderHost): boolean {
  const lines = text
    .split(/\r?\n/)
    .filter(line => line.trim() !== '' && !line.startsWith('// Written by "hookspan init '))
  const module = IMPORTED.exec(lines[0]?.trim() ?? '')?.[2]
  return (
    lines.length === 1 &&
    module !== undefined &&
    module.endsWith(join('/hosts', name, 'index.js').replaceAll('\\', '/'))
  )
}
