import { basename, dirname, join } from 'node:path'
import { about, byHand, edited, exactUndo, FRESH, type JsonConfig, readConfig } from './json-config.ts'
import { editJson, type JsonChange, valueAt } from './json-text.ts'
import { disabling, enabling, type Installed, isAccessDenied, isAloneAllowed } from './openclaw-config.ts'
import { hostModule, packageFile } from './package-folder.ts'
import type { HostSetup, Plan, Surroundings } from './plan.ts'
import { folderFrom } from './plugin-file.ts'

const DEFAULT_FOLDER = '.openclaw'
const ACCESS_GIVEN =
  'hooks.allowConversationAccess lets hookspan see prompts and answers. Set it to false and the tree still comes, with fewer facts.'
const ACCESS_DENIED =
  'hooks.allowConversationAccess stays false, as you have set it: the tree comes without prompts and answers, with fewer facts.'
const UNVERIFIED =
  'OpenClaw will say that it cannot verify where hookspan came from; it says so of every plugin that it loads from a folder.'
const RESTART = 'Restart a gateway that runs: openclaw gateway restart'

/** OpenClaw reads one JSON5 file (read from 2026.9.6). */
export const openclaw: HostSetup = {
  title: 'OpenClaw',
  folder: surroundings => dirname(configPath(surroundings)),
  enable,
  undo,
  print,
}

async function enable(surroundings: Surroundings): Promise<Plan> {
  checkPackage(surroundings)
  const config = await readConfig(configPath(surroundings))
  const changes = about(config, root => enabling(root, installedIn(surroundings)))
  const notes = [isAccessDenied(config.value) ? ACCESS_DENIED : ACCESS_GIVEN, UNVERIFIED, RESTART]
  if (changes.length === 0) {
    return { kind: 'nothing', file: config.file, why: 'OpenClaw loads hookspan already', notes: notes.slice(0, 1) }
  }
  return editedByHand(config, changes) ?? { kind: 'change', ...edited(config, changes), notes }
}

async function undo(surroundings: Surroundings): Promise<Plan> {
  const config = await readConfig(configPath(surroundings))
  const { file, value } = config
  const changes = about(config, found => disabling(found, installedIn(surroundings)))
  if (changes.length === 0) return { kind: 'nothing', file, why: 'OpenClaw does not load hookspan from there' }
  const alone = 'plugins.allow still names hookspan: an empty list would let OpenClaw load every plugin'
  const notes = [...(isAloneAllowed(value) ? [alone] : []), RESTART]
  const manual = editedByHand(config, changes)
  if (manual !== undefined) return manual
  const folder = dirname(file)
  const folders = basename(folder) === DEFAULT_FOLDER ? [folder] : []
  const restored = await exactUndo(config, root => enabling(root, installedIn(surroundings)), folders)
  return { kind: 'change', ...edited(config, changes), notes, ...restored }
}

function print(surroundings: Surroundings): { file: string; content: string; note: string } {
  checkPackage(surroundings)
  const changes = enabling({}, installedIn(surroundings))
  return {
    file: configPath(surroundings),
    content: editJson(FRESH, changes),
    note: `to be merged into that file; a list plugins.allow there has to name hookspan, too. ${ACCESS_GIVEN}`,
  }
}

/** Falls back to instructions if parts of the file are included from others. */
function editedByHand(config: JsonConfig, changes: readonly JsonChange[]): Plan | undefined {
  const isSplit = [['$include'], ['plugins', '$include']].some(path => valueAt(config.value, path) !== undefined)
  return byHand(config, changes, isSplit ? 'it includes other files ($include)' : undefined)
}

/** A plugin without a manifest makes the configuration invalid, and OpenClaw does not start. */
function checkPackage({ folder }: Surroundings): void {
  hostModule(folder, 'openclaw')
  packageFile(folder, 'openclaw.plugin.json')
}

/** @throws Error if there is no home directory */
function configPath(surroundings: Surroundings): string {
  const { env } = surroundings
  const user = { ...surroundings, home: homeOf(surroundings) }
  const given = env['OPENCLAW_CONFIG_PATH']?.trim() ?? ''
  if (given !== '') return folderFrom(given, '', user)
  return join(folderFrom(env['OPENCLAW_STATE_DIR'], join(user.home, DEFAULT_FOLDER), user), 'openclaw.json')
}

/** OpenClaw can have its own home directory. */
function homeOf(surroundings: Surroundings): string {
  const { env, home } = surroundings
  return env['OPENCLAW_HOME'] === undefined ? home : folderFrom(env['OPENCLAW_HOME'], home, surroundings)
}

function installedIn(surroundings: Surroundings): Installed {
  return { folder: surroundings.folder, home: homeOf(surroundings) }
}
