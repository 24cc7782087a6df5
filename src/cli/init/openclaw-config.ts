import { existsSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import type { JsonChange } from './json-edit.ts'
import { type JsonNode, type JsonPath, nodeAt } from './json5-document.ts'

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
export function enabling(root: JsonNode, installed: Installed): JsonChange[] {
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
export function disabling(root: JsonNode, installed: Installed): JsonChange[] {
  checkKinds(root)
  const paths = ownPaths(root, installed).map(index => remove([...PATHS, index]))
  const allow = stringsAt(root, ALLOW)
  // An empty list allows everything: ours stays when it is the only one.
  const ours = isAloneAllowed(root) ? [] : indexesOf(allow, name => name === ID)
  return [...paths, ...entryRemovals(root), ...ours.map(index => remove([...ALLOW, index]))]
}

/** Whether the user has said no to us seeing prompts and answers. */
export function isAccessDenied(root: JsonNode): boolean {
  return valueAt(root, ACCESS) === false
}

/** Whether our id stays in the list of allowed plugins because it would be empty without. */
export function isAloneAllowed(root: JsonNode): boolean {
  const allow = stringsAt(root, ALLOW)
  return allow.length > 0 && allow.every(name => name === ID)
}

function pathChanges(root: JsonNode, installed: Installed): JsonChange[] {
  const paths = stringsAt(root, PATHS)
  const own = ownPaths(root, installed)
  const here = own.find(index => pathOf(paths[index] ?? '', installed) === installed.folder)
  const kept = here ?? own.at(-1)
  const stale = own.filter(index => index !== kept).map(index => remove([...PATHS, index]))
  if (here !== undefined) return stale
  if (kept !== undefined) return [...stale, { kind: 'set', path: [...PATHS, kept], value: installed.folder }]
  if (nodeAt(root, PATHS) !== undefined) return [{ kind: 'add', path: PATHS, value: installed.folder }]
  return [{ kind: 'set', path: PATHS, value: [installed.folder] }]
}

function entryChanges(root: JsonNode): JsonChange[] {
  if (nodeAt(root, ENTRY) === undefined) {
    return [{ kind: 'set', path: ENTRY, value: { enabled: true, hooks: { allowConversationAccess: true } } }]
  }
  const enabled = valueAt(root, ENABLED) === true ? [] : [set(ENABLED)]
  return nodeAt(root, ACCESS) === undefined ? [...enabled, set(ACCESS)] : enabled
}

/** An empty list is as good as none; the first name in it would shut out all other plugins. */
function allowChanges(root: JsonNode): JsonChange[] {
  const allow = stringsAt(root, ALLOW)
  return allow.length === 0 || allow.includes(ID) ? [] : [{ kind: 'add', path: ALLOW, value: ID }]
}

/** The whole entry where it holds nothing but what we write; else only that. */
function entryRemovals(root: JsonNode): JsonChange[] {
  const names = (path: JsonPath): string[] => {
    const node = nodeAt(root, path)
    return node?.kind === 'object' ? node.items.map(({ key }) => key) : []
  }
  if (nodeAt(root, ENTRY) === undefined) return []
  const hooks = names([...ENTRY, 'hooks'])
  const others = names(ENTRY).filter(key => key !== 'enabled' && key !== 'hooks')
  if (others.length === 0 && hooks.every(key => key === 'allowConversationAccess')) return [remove(ENTRY)]
  return [ENABLED, ACCESS].filter(path => nodeAt(root, path) !== undefined).map(remove)
}

/** From the last to the first, so that taking one out leaves the others where they are. */
function ownPaths(root: JsonNode, installed: Installed): number[] {
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

function checkKinds(root: JsonNode): void {
  const kinds: readonly (readonly [JsonPath, JsonNode['kind'], string])[] = [
    [[], 'object', 'an object'],
    [['plugins'], 'object', 'an object'],
    [['plugins', 'load'], 'object', 'an object'],
    [PATHS, 'array', 'a list'],
    [ALLOW, 'array', 'a list'],
    [['plugins', 'entries'], 'object', 'an object'],
    [ENTRY, 'object', 'an object'],
    [[...ENTRY, 'hooks'], 'object', 'an object'],
  ]
  for (const [path, kind, wanted] of kinds) {
    const node = nodeAt(root, path)
    if (node !== undefined && node.kind !== kind) throw new Error(`${path.join('.') || 'the whole'} is not ${wanted}`)
  }
}

function valueAt(root: JsonNode, path: JsonPath): unknown {
  const node = nodeAt(root, path)
  return node?.kind === 'scalar' ? node.value : undefined
}

/** With `''` for what is no string, so that the places stay what they are. */
function stringsAt(root: JsonNode, path: JsonPath): string[] {
  const node = nodeAt(root, path)
  if (node?.kind !== 'array') return []
  return node.items.map(item => (item.kind === 'scalar' && typeof item.value === 'string' ? item.value : ''))
}

function set(path: JsonPath): JsonChange {
  return { kind: 'set', path, value: true }
}

function remove(path: JsonPath): JsonChange {
  return { kind: 'remove', path }
}
