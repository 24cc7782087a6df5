import { basename, dirname, join } from 'node:path'
import { backupsOf, readText } from './config-file.ts'
import { describeChanges, editJson, type JsonChange, valueAt, whyNotEditable } from './json-change.ts'
import { type JsonText, readJson5 } from './json5.ts'
import { disabling, enabling, type Installed, isAccessDenied, isAloneAllowed } from './openclaw-config.ts'
import { hostModule, packageFile } from './package-folder.ts'
import type { Change, HostSetup, Plan, Surroundings } from './plan.ts'
import { folderFrom } from './plugin-file.ts'

const FRESH = '{}\n'
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

interface ConfigText extends JsonText {
  readonly file: string
  /** Undefined where there is no such file. */
  readonly before: string | undefined
  readonly text: string
}

async function enable(surroundings: Surroundings): Promise<Plan> {
  checkPackage(surroundings)
  const config = await readConfig(surroundings)
  const changes = about(config, root => enabling(root, installedIn(surroundings)))
  const notes = [isAccessDenied(config.value) ? ACCESS_DENIED : ACCESS_GIVEN, UNVERIFIED, RESTART]
  if (changes.length === 0) {
    return { kind: 'nothing', file: config.file, why: 'OpenClaw loads hookspan already', notes: notes.slice(0, 1) }
  }
  return byHand(config, changes) ?? { kind: 'change', ...edited(config, changes), isUsers: true, notes }
}

async function undo(surroundings: Surroundings): Promise<Plan> {
  const config = await readConfig(surroundings)
  const { file, value } = config
  const changes = about(config, found => disabling(found, installedIn(surroundings)))
  if (changes.length === 0) return { kind: 'nothing', file, why: 'OpenClaw does not load hookspan from there' }
  const alone = 'plugins.allow still names hookspan: an empty list would let OpenClaw load every plugin'
  const notes = [...(isAloneAllowed(value) ? [alone] : []), RESTART]
  const manual = byHand(config, changes)
  if (manual !== undefined) return manual
  const restored = await exactUndo(config, surroundings)
  return { kind: 'change', ...edited(config, changes), isUsers: true, notes, ...restored }
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

/** Where nothing but our own change has been made since, what was there before comes back, byte by byte. */
async function exactUndo(
  { file, before }: ConfigText,
  surroundings: Surroundings,
): Promise<Partial<Change> | undefined> {
  const becomes = (old: string): boolean => {
    try {
      return editJson(old, enabling(JSON.parse(old.trim()), installedIn(surroundings))) === before
    } catch {
      return false
    }
  }
  for (const backup of await backupsOf(file)) {
    const old = await readText(backup)
    if (old !== undefined && becomes(old)) return { after: old, isUsers: false, restored: backup }
  }
  if (!becomes(FRESH)) return undefined
  const folder = dirname(file)
  return { after: undefined, isUsers: false, folders: basename(folder) === DEFAULT_FOLDER ? [folder] : [] }
}

function edited({ file, before, text }: ConfigText, changes: readonly JsonChange[]) {
  return { file, before, after: editJson(text, changes) }
}

/** A file that a program cannot edit without losing something, or whose parts lie elsewhere. */
function byHand(config: ConfigText, changes: readonly JsonChange[]): Plan | undefined {
  const { file, text, value } = config
  const isSplit = [['$include'], ['plugins', '$include']].some(path => valueAt(value, path) !== undefined)
  const why = whyNotEditable(text) ?? (isSplit ? 'it includes other files ($include)' : undefined)
  return why === undefined ? undefined : { kind: 'by-hand', file, why, lines: describeChanges(file, config, changes) }
}

async function readConfig(surroundings: Surroundings): Promise<ConfigText> {
  const file = configPath(surroundings)
  const before = await readText(file)
  const text = before ?? FRESH
  try {
    return { file, before, text, ...readJson5(text) }
  } catch (error) {
    throw new Error(`${file}, ${(error as Error).message}; it stays as it is`, { cause: error })
  }
}

function about<Result>({ file, value }: ConfigText, run: (root: unknown) => Result): Result {
  try {
    return run(value)
  } catch (error) {
    throw new Error(`${file} stays as it is: ${(error as Error).message}`, { cause: error })
  }
}

/** OpenClaw takes a configuration for broken, and does not start, when a plugin that it names has no manifest. */
function checkPackage({ folder }: Surroundings): void {
  hostModule(folder, 'openclaw')
  packageFile(folder, 'openclaw.plugin.json')
}

/** @throws Error when there is no home directory */
function configPath(surroundings: Surroundings): string {
  const { env } = surroundings
  const user = { ...surroundings, home: homeOf(surroundings) }
  const given = env['OPENCLAW_CONFIG_PATH']?.trim() ?? ''
  if (given !== '') return folderFrom(given, '', user)
  return join(folderFrom(env['OPENCLAW_STATE_DIR'], join(user.home, DEFAULT_FOLDER), user), 'openclaw.json')
}

/** OpenClaw may have a home of its own. */
function homeOf(surroundings: Surroundings): string {
  const { env, home } = surroundings
  return env['OPENCLAW_HOME'] === undefined ? home : folderFrom(env['OPENCLAW_HOME'], home, surroundings)
}

function installedIn(surroundings: Surroundings): Installed {
  return { folder: surroundings.folder, home: homeOf(surroundings) }
}
