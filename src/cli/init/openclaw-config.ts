import { existsSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { type JsonChange, valueAt } from './json-change.ts'
import type { JsonPath } from './json5.ts'

/** Our id in OpenClaw, as in `openclaw.plugin.json`. */
const ID = 'hookspan'
const PATHS: JsonPath = ['plugins', 'load', 'paths']
const ALLOW: JsonPath = ['plugins', 'allow']
const ENTRY: JsonPath = ['plugins', 'entries', ID]
const ENABLED: JsonPath = [...ENTRY, 'enabled']
const ACCESS: JsonPath = [...ENTRY, 'hooks', 'allowConversationAccess']

/** Where hookspan is installed, and what `~` stands for. */
export interface Installed {
  readonly folder: string
  readonly home: string
}

/**
 * What is missing in OpenClaw's configuration for it to load us; none when nothing is.
 *
 * @throws Error in one line when the user has forbidden it there, or a value is of another kind than OpenClaw takes
 */
export function enabling(root: unknown, installed: Installed): JsonChange[] {
  checkKinds(root)
  if (valueAt(root, ['plugins', 'enabled']) === false) {
    throw new Error('plugins.enabled is false there: OpenClaw loads no plugin at all; set it to true first')
  }
  if (stringsAt(root, ['plugins', 'deny']).includes(ID)) {
    throw new Error(`plugins.deny there names ${ID}; take it out of that list first`)
  }
  return [...pathChanges(root, installed), ...entryChanges(root), ...allowChanges(root)]
}

/** What there is of us, and nothing else. */
export function disabling(root: unknown, installed: Installed): JsonChange[] {
  checkKinds(root)
  const paths = ownPaths(root, installed).map(index => ({ path: [...PATHS, index] }))
  const allow = stringsAt(root, ALLOW)
  // An empty list allows everything: ours stays when it is the only one.
  const ours = isAloneAllowed(root) ? [] : indexesOf(allow, name => name === ID)
  return [...paths, ...entryRemovals(root), ...ours.map(index => ({ path: [...ALLOW, index] }))]
}

/** Whether the user has said no to us seeing prompts and answers. */
export function isAccessDenied(root: unknown): boolean {
  return valueAt(root, ACCESS) === false
}

/** Whether our id stays in the list of allowed plugins because it would be empty without. */
export function isAloneAllowed(root: unknown): boolean {
  const allow = stringsAt(root, ALLOW)
  return allow.length > 0 && allow.every(name => name === ID)
}

function pathChanges(root: unknown, installed: Installed): JsonChange[] {
  const paths = stringsAt(root, PATHS)
  const own = ownPaths(root, installed)
  const here = own.find(index => pathOf(paths[index] ?? '', installed) === installed.folder)
  const kept = here ?? own.at(-1)
  const stale = own.filter(index => index !== kept).map(index => ({ path: [...PATHS, index] }))
  if (here !== undefined) return stale
  if (kept !== undefined) return [...stale, { path: [...PATHS, kept], value: installed.folder }]
  if (valueAt(root, PATHS) === undefined) return [{ path: PATHS, value: [installed.folder] }]
  return [{ path: [...PATHS, paths.length], value: installed.folder }]
}

function entryChanges(root: unknown): JsonChange[] {
  if (valueAt(root, ENTRY) === undefined) {
    return [{ path: ENTRY, value: { enabled: true, hooks: { allowConversationAccess: true } } }]
  }
  const enabled = valueAt(root, ENABLED) === true ? [] : [{ path: ENABLED, value: true }]
  return valueAt(root, ACCESS) === undefined ? [...enabled, { path: ACCESS, value: true }] : enabled
}

/** An empty list is as good as none; the first name in it would shut out all other plugins. */
function allowChanges(root: unknown): JsonChange[] {
  const allow = stringsAt(root, ALLOW)
  return allow.length === 0 || allow.includes(ID) ? [] : [{ path: [...ALLOW, allow.length], value: ID }]
}

/** The whole entry where it holds nothing but what we write; else only that. */
function entryRemovals(root: unknown): JsonChange[] {
  const names = (path: JsonPath): string[] => Object.keys(valueAt(root, path) ?? {})
  if (valueAt(root, ENTRY) === undefined) return []
  const hooks = names([...ENTRY, 'hooks'])
  const others = names(ENTRY).filter(key => key !== 'enabled' && key !== 'hooks')
  if (others.length === 0 && hooks.every(key => key === 'allowConversationAccess')) return [{ path: ENTRY }]
  return [ENABLED, ACCESS].filter(path => valueAt(root, path) !== undefined).map(path => ({ path }))
}

/** From the last to the first, so that taking one out leaves the others where they are. */
function ownPaths(root: unknown, installed: Installed): number[] {
  return indexesOf(stringsAt(root, PATHS), path => isOwn(pathOf(path, installed), installed.folder))
}

function indexesOf(values: readonly string[], fits: (value: string) => boolean): number[] {
  return values.flatMap((value, index) => (fits(value) ? [index] : [])).reverse()
}

/** Also one of another place, that an older Node or a checkout has left. */
function isOwn(path: string, folder: string): boolean {
  if (path === folder) return true
  const manifest = join(path, 'package.json')
  if (!existsSync(manifest)) return basename(path) === ID && basename(join(path, '..')) === 'node_modules'
  try {
    return (JSON.parse(readFileSync(manifest, 'utf8')) as { name?: unknown }).name === ID
  } catch {
    return false
  }
}

function pathOf(given: string, { home }: Installed): string {
  return resolve(given.trim().replace(/^~(?=[/\\]|$)/, home))
}

/** The parts that are looked into, and those of them that are lists. */
const LISTS: readonly JsonPath[] = [PATHS, ALLOW]
const OBJECTS: readonly JsonPath[] = [
  [],
  ['plugins'],
  ['plugins', 'load'],
  ['plugins', 'entries'],
  ENTRY,
  [...ENTRY, 'hooks'],
]

function checkKinds(root: unknown): void {
  for (const path of [...OBJECTS, ...LISTS]) {
    const value = valueAt(root, path)
    const isList = LISTS.includes(path)
    if (value === undefined || (typeof value === 'object' && value !== null && Array.isArray(value) === isList))
      continue
    throw new Error(`${path.join('.') || 'the whole'} is not ${isList ? 'a list' : 'an object'}`)
  }
}

/** With `''` for what is no string, so that the places stay what they are. */
function stringsAt(root: unknown, path: JsonPath): string[] {
  const value = valueAt(root, path)
  return Array.isArray(value) ? value.map(item => (typeof item === 'string' ? item : '')) : []
}
