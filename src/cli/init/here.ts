import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { HOSTS, type HostRow } from './hosts.ts'
import { valueAt } from './json-text.ts'
import type { Surroundings } from './plan.ts'
import { SDK_CODE, type SdkCode } from './sdk-code.ts'

const DEPENDENCIES = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies']

export interface Seen<Row> {
  readonly name: string
  readonly row: Row
  /** The path that shows that it is installed. */
  readonly sign: string
}

/** The user's agents that have a configuration. */
export function hostsHere(surroundings: Surroundings): Seen<HostRow>[] {
  return seen(HOSTS, row => programOf(row, surroundings) ?? folderOf(row, surroundings))
}

/** The SDKs used by the project that contains `from`. */
export function sdksNear(from: string): Seen<SdkCode>[] {
  return seen(SDK_CODE, row => row.manifests.map(name => nearest(from, name)).find(path => path && uses(path, row)))
}

function seen<Row>(rows: ReadonlyMap<string, Row>, signOf: (row: Row) => string | undefined): Seen<Row>[] {
  return [...rows].flatMap(([name, row]) => {
    const sign = signOf(row)
    return sign === undefined ? [] : [{ name, row, sign }]
  })
}

function programOf({ programs }: HostRow, { env }: Surroundings): string | undefined {
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(delimiter).filter(isAbsolute)
  const endings = process.platform === 'win32' ? (env['PATHEXT'] ?? '.EXE;.CMD').split(';') : ['']
  const paths = programs.flatMap(name => folders.flatMap(folder => endings.map(end => join(folder, name + end))))
  return paths.find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function folderOf({ setup, file = '' }: HostRow, surroundings: Surroundings): string | undefined {
  const path = join(setup.folder(surroundings), file)
  return existsSync(path) ? path : undefined
}

function nearest(from: string, name: string): string | undefined {
  const path = join(from, name)
  if (existsSync(path)) return path
  return dirname(from) === from ? undefined : nearest(dirname(from), name)
}

/** Unreadable files count as not using it: they belong to the project and are not checked here. */
function uses(path: string, { package: name }: SdkCode): boolean {
  try {
    const text = readFileSync(path, 'utf8')
    if (!path.endsWith('.json')) return namesPython(text, name)
    const manifest: unknown = JSON.parse(text)
    return DEPENDENCIES.some(list => valueAt(manifest, [list, name]) !== undefined)
  } catch {
    return false
  }
}

/** Python treats `.`, `-` and `_` in names alike. */
function namesPython(text: string, name: string): boolean {
  const spelled = name.replaceAll('-', '[-_.]')
  return new RegExp(`(?<![\\w.-])${spelled}(?![\\w-]|\\.\\w)`, 'i').test(text)
}
