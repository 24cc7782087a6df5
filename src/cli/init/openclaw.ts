import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { ignoreErrors } from '../../contract/foreign.ts'
import { isRecord } from '../../reading/attribute-value.ts'
import { hostModule, packageFile } from '../package-folder.ts'
import type { JsonChange, JsonConfig, JsonPath } from './json-config.ts'
import { about, editJson, exactUndo, FRESH, planEdit, readConfig, valueAt } from './json-config.ts'
import type { HostSetup, InitContext, Plan } from './plan.ts'
import { folderFrom } from './plugin-file.ts'

const ACCESS_GIVEN =
  'hooks.allowConversationAccess lets hookspan read prompts and answers. With false, traces have fewer attributes.'
const ACCESS_DENIED =
  'hooks.allowConversationAccess stays false, as you have set it: traces have no prompts and answers, and fewer attributes.'
const UNVERIFIED =
  'OpenClaw will warn that it cannot verify the origin of hookspan, as for every plugin loaded from a folder.'
const RESTART = 'Restart a running gateway: openclaw gateway restart'

/** OpenClaw reads one JSON5 file (read from 2026.9.6). */
export const openclaw: HostSetup = {
  title: 'OpenClaw',
  folder: surroundings => dirname(configPath(surroundings)),
  enable,
  undo,
  print,
}

async function enable(surroundings: InitContext): Promise<Plan> {
  checkPackage(surroundings)
  const config = await readConfig(configPath(surroundings))
  const changes = about(config, root => enabling(root, installedIn(surroundings)))
  const access = valueAt(config.value, ACCESS) === false ? ACCESS_DENIED : ACCESS_GIVEN
  const unchanged = { why: 'OpenClaw loads hookspan already', notes: [access] }
  return planEdit(config, changes, unchanged, { notes: [access, UNVERIFIED, RESTART] }, whyByHand(config))
}

async function undo(surroundings: InitContext): Promise<Plan> {
  const config = await readConfig(configPath(surroundings))
  const { value } = config
  const changes = about(config, found => disabling(found, installedIn(surroundings)))
  const alone = 'plugins.allow still names hookspan: an empty list would let OpenClaw load every plugin'
  const notes = [...(isAloneAllowed(value) ? [alone] : []), RESTART]
  const restored = await exactUndo(config, root => enabling(root, installedIn(surroundings)))
  const unchanged = { why: 'OpenClaw does not load hookspan from there' }
  return planEdit(config, changes, unchanged, { notes, isUndo: true, ...restored }, whyByHand(config))
}

function print(surroundings: InitContext): ReturnType<HostSetup['print']> {
  checkPackage(surroundings)
  return {
    file: configPath(surroundings),
    content: editJson(FRESH, enabling({}, installedIn(surroundings))),
    note: `to be merged into that file; a list plugins.allow there has to name hookspan, too. ${ACCESS_GIVEN}`,
  }
}

function whyByHand({ value }: JsonConfig): string | undefined {
  const isSplit = [['$include'], ['plugins', '$include']].some(path => valueAt(value, path) !== undefined)
  return isSplit ? 'it includes other files ($include)' : undefined
}

/** A plugin without a manifest makes the configuration invalid, and OpenClaw does not start. */
function checkPackage({ folder }: InitContext): void {
  hostModule(folder, 'openclaw')
  packageFile(folder, 'openclaw.plugin.json')
}

function configPath(surroundings: InitContext): string {
  const { env } = surroundings
  const user = installedIn(surroundings)
  const given = env['OPENCLAW_CONFIG_PATH']?.trim() ?? ''
  if (given !== '') return folderFrom(given, '', user)
  return join(folderFrom(env['OPENCLAW_STATE_DIR'], join(user.home, '.openclaw'), user), 'openclaw.json')
}

function installedIn(surroundings: InitContext): InstalledPackage {
  const { env, home, folder } = surroundings
  const own = env['OPENCLAW_HOME']
  return { folder, home: own === undefined ? home : folderFrom(own, home, surroundings) }
}

const ID = 'hookspan'
const PATHS: JsonPath = ['plugins', 'load', 'paths']
const ALLOW: JsonPath = ['plugins', 'allow']
const ENTRY: JsonPath = ['plugins', 'entries', ID]
const ENABLED: JsonPath = [...ENTRY, 'enabled']
const ACCESS: JsonPath = [...ENTRY, 'hooks', 'allowConversationAccess']

type InstalledPackage = Pick<InitContext, 'folder' | 'home'>

/** Empty if nothing is missing. @throws Error in one line if the user has disabled the plugin, or a value has a wrong type */
function enabling(root: unknown, installed: InstalledPackage): JsonChange[] {
  checkKinds(root)
  if (valueAt(root, ['plugins', 'enabled']) === false) {
    throw new Error('plugins.enabled is false there: OpenClaw loads no plugin at all; set it to true first')
  }
  if (stringsAt(root, ['plugins', 'deny']).includes(ID)) {
    throw new Error(`plugins.deny there names ${ID}; take it out of that list first`)
  }
  return [...pathChanges(root, installed), ...entryChanges(root), ...allowChanges(root)]
}

function disabling(root: unknown, installed: InstalledPackage): JsonChange[] {
  checkKinds(root)
  const paths = ownPaths(root, installed).map(index => ({ path: [...PATHS, index] }))
  const allow = stringsAt(root, ALLOW)
  const ours = isAloneAllowed(root) ? [] : indexesOf(allow, name => name === ID)
  return [...paths, ...entryRemovals(root), ...ours.map(index => ({ path: [...ALLOW, index] }))]
}

/** True if our id must stay in the allow list: the list would be empty without it, which allows everything. */
function isAloneAllowed(root: unknown): boolean {
  const allow = stringsAt(root, ALLOW)
  return allow.length > 0 && allow.every(name => name === ID)
}

function pathChanges(root: unknown, installed: InstalledPackage): JsonChange[] {
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

/** An empty list allows all plugins. Adding ours to it would block all others. */
function allowChanges(root: unknown): JsonChange[] {
  const allow = stringsAt(root, ALLOW)
  return allow.length === 0 || allow.includes(ID) ? [] : [{ path: [...ALLOW, allow.length], value: ID }]
}

/** Removes the whole entry if it contains only our settings, otherwise only these. */
function entryRemovals(root: unknown): JsonChange[] {
  const names = (path: JsonPath): string[] => Object.keys(valueAt(root, path) ?? {})
  if (valueAt(root, ENTRY) === undefined) return []
  const hooks = names([...ENTRY, 'hooks'])
  const others = names(ENTRY).filter(key => key !== 'enabled' && key !== 'hooks')
  if (others.length === 0 && hooks.every(key => key === 'allowConversationAccess')) return [{ path: ENTRY }]
  return [ENABLED, ACCESS].filter(path => valueAt(root, path) !== undefined).map(path => ({ path }))
}

/** From last to first, so that removing one keeps the other indexes valid. */
function ownPaths(root: unknown, installed: InstalledPackage): number[] {
  return indexesOf(stringsAt(root, PATHS), path => isOwn(pathOf(path, installed), installed.folder))
}

function indexesOf(values: readonly string[], fits: (value: string) => boolean): number[] {
  return values.flatMap((value, index) => (fits(value) ? [index] : [])).reverse()
}

/** Includes a copy in another place, left by an older Node or a checkout. */
function isOwn(path: string, folder: string): boolean {
  if (path === folder) return true
  const manifest = join(path, 'package.json')
  if (!existsSync(manifest)) return basename(path) === ID && basename(join(path, '..')) === 'node_modules'
  return ignoreErrors(() => valueAt(JSON.parse(readFileSync(manifest, 'utf8')), ['name'])) === ID
}

function pathOf(given: string, { home }: InstalledPackage): string {
  return resolve(given.trim().replace(/^~(?=[/\\]|$)/, home))
}

const LISTS: readonly JsonPath[] = [PATHS, ALLOW]
/** Everything that holds one of our values. */
const OBJECTS: readonly JsonPath[] = [PATHS, ACCESS].flatMap(path => path.map((_, depth) => path.slice(0, depth)))

function checkKinds(root: unknown): void {
  for (const path of [...OBJECTS, ...LISTS]) {
    const value = valueAt(root, path)
    const isList = LISTS.includes(path)
    const isAsExpected = isList ? Array.isArray(value) : isRecord(value)
    if (value === undefined || isAsExpected) continue
    throw new Error(`${path.join('.') || 'the whole'} is not ${isList ? 'a list' : 'an object'}`)
  }
}

/** Maps other values to `''`, so that indexes stay the same. */
function stringsAt(root: unknown, path: JsonPath): string[] {
  const value = valueAt(root, path)
  return Array.isArray(value) ? value.map(item => (typeof item === 'string' ? item : '')) : []
}
