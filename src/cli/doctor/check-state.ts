import { randomBytes } from 'node:crypto'
import { lstat, mkdir, open, readdir, rm, rmdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { stateHome } from '../../plugin/config/paths.ts'
import type { ResolvedConfig } from '../../plugin/config/types.ts'
import { countOf, humanBytes } from '../../reading/human-figures.ts'
import type { CommandIo } from '../command.ts'
import { whyNot } from '../file-trouble.ts'
import { type DoctorFinding, finding } from './checks.ts'

const OTHERS = 0o077

type StateConfig = Pick<ResolvedConfig, 'local_log' | 'local_log_max_bytes'>

export async function checkState(
  config: StateConfig,
  { env, home }: CommandIo,
  write: TrialWriter = writeTrial,
): Promise<readonly DoctorFinding[]> {
  if (!config.local_log) return [finding('note', 'Trace log', 'off: nothing is stored on this machine')]
  const directory = stateHome(env, home)
  if (directory === undefined) {
    const what = 'there is no home directory, so nothing is stored on this machine'
    return [finding('fail', 'Trace log', what, 'set XDG_STATE_HOME to a full path')]
  }
  const error = await tryState(directory, write)
  const entries = await listState(directory)
  const free = await freeBytes(directory)
  return [
    error === undefined ? good(directory, entries, free) : unwritable(directory, error),
    ...checkModes(directory, entries),
    ...checkOwner(directory, entries),
    ...(error === undefined ? checkRoom(entries, free, config) : []),
  ]
}

function good(directory: string, entries: readonly StateEntry[], free: number | undefined): DoctorFinding {
  const size = `${humanBytes(bytesOf(entries))} in it`
  const room = free === undefined ? '' : `, ${humanBytes(free)} free`
  return finding(
    'ok',
    'Trace log',
    `${directory} can be written; ${entries.length === 0 ? 'not there yet' : size}${room}`,
  )
}

const REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: 'free some space on that disk',
  EDQUOT: 'free some space, or raise the quota',
  ENOTDIR: 'move the file out of the way',
  EEXIST: 'move the file out of the way',
  EACCES: 'make it writable for the user that the agent runs as',
  EPERM: 'make it writable for the user that the agent runs as',
  EROFS: 'mount it writable',
}

function unwritable(directory: string, error: unknown): DoctorFinding {
  const { code } = (error ?? {}) as { code?: unknown }
  const remedy = REMEDIES[String(code)] ?? 'make it writable'
  const why = code === 'EEXIST' ? whyNot({ code: 'ENOTDIR' }) : whyNot(error)
  const what = `${directory} cannot be written: ${why}; traces are not stored, and spans that a backend does not accept are dropped`
  return finding('fail', 'Trace log', what, `${remedy}, or set XDG_STATE_HOME to another place`)
}

/** Files in a directory that only its owner may enter are private, whatever their own mode. */
function checkModes(directory: string, entries: readonly StateEntry[]): DoctorFinding[] {
  // On Windows, modes are not real.
  if (process.platform === 'win32') return []
  const [top, ...inner] = entries
  const wide = inner.filter(({ mode }) => (mode & OTHERS) !== 0)
  const isOpen = top !== undefined && (top.mode & OTHERS) !== 0
  const remedy = `chmod -R go= ${quoted(directory)}`
  if (isOpen) {
    const what = `other users can read ${directory} (mode ${octal(top)}), which contains prompts and actions of agents`
    return [finding('fail', 'Trace log', what, remedy)]
  }
  const [first] = wide
  if (first === undefined) return []
  const what = `${countOf(wide.length, 'file')} in ${directory} are readable by other users; the first is ${first.path} (mode ${octal(first)})`
  return [finding('warn', 'Trace log', what, remedy)]
}

function checkOwner(directory: string, entries: readonly StateEntry[]): DoctorFinding[] {
  const user = process.getuid?.()
  const foreign = entries.find(({ owner }) => user !== undefined && owner !== user)
  if (foreign === undefined) return []
  const what = `${foreign.path} belongs to user ${foreign.owner}, and this is user ${user}: one of them cannot write there`
  const remedy = `run agents and hookspan as one user; this makes it yours: sudo chown -R ${user} ${quoted(directory)}`
  return [finding('warn', 'Trace log', what, remedy)]
}

function checkRoom(entries: readonly StateEntry[], free: number | undefined, config: StateConfig): DoctorFinding[] {
  const growth = config.local_log_max_bytes - bytesOf(entries)
  if (free === undefined || free >= growth) return []
  const what = `the disk has ${humanBytes(free)} free, and the trace log may still grow by ${humanBytes(growth)}`
  return [finding('warn', 'Trace log', what, 'free some space, or lower local_log_max_bytes')]
}

function bytesOf(entries: readonly StateEntry[]): number {
  return entries.reduce((sum, { bytes }) => sum + bytes, 0)
}

function octal({ mode }: StateEntry): string {
  return mode.toString(8).padStart(4, '0')
}

function quoted(path: string): string {
  return /[^\w./-]/.test(path) ? `'${path.replaceAll("'", "'\\''")}'` : path
}

const TRIAL_BYTES = 65_536

export type TrialWriter = (path: string) => Promise<void>

/**
 * Does the same work as the first span: creates the directories, writes a file of the size of a batch, and removes everything
 * again.
 *
 * @returns the error of the file system; undefined on success
 */
async function tryState(stateDirectory: string, write: TrialWriter): Promise<unknown> {
  const traces = join(stateDirectory, 'traces')
  const file = join(traces, `.doctor-${process.pid}-${randomBytes(4).toString('hex')}`)
  const made: string[] = []
  try {
    await makeDirectories(traces, made)
    await write(file)
    return undefined
  } catch (error) {
    return error
  } finally {
    await rm(file, { force: true }).catch(() => undefined)
    // Only empty directories are removed: an agent may have started to use them.
    for (const directory of made.reverse()) await rmdir(directory).catch(() => undefined)
  }
}

/** One level at a time: on a read-only file system, `recursive` reports ENOENT instead of the true error. */
async function makeDirectories(path: string, made: string[]): Promise<void> {
  try {
    await makeDirectory(path, made)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error
    await makeDirectories(dirname(path), made)
    await makeDirectory(path, made)
  }
}

async function makeDirectory(path: string, made: string[]): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 })
    made.push(path)
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST' && (await stat(path)).isDirectory()
    if (!isThere) throw error
  }
}

/**
 * Random data, because a file system may store zeros without space. Synced, because a disk may reject data that a cache
 * accepts.
 */
export async function writeTrial(path: string): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    await handle.writeFile(randomBytes(TRIAL_BYTES))
    await handle.sync()
  } finally {
    await handle.close()
  }
}

interface StateEntry {
  readonly path: string
  readonly mode: number
  readonly owner: number
  readonly bytes: number
}

const LOG = ['traces', 'spool', 'sent']
/** Traces held for tail sampling have a log of their own, see `keptDirectory`. */
const DIRECTORIES = [...LOG, 'kept', ...LOG.map(name => join('kept', name))]

async function listState(stateDirectory: string): Promise<readonly StateEntry[]> {
  // Follow the link: the state directory may be on another disk, and the mode of a link means nothing.
  const top = await stat(stateDirectory).catch(() => undefined)
  if (!top?.isDirectory()) return []
  const names = await namesIn(stateDirectory)
  const inner = DIRECTORIES.map(name => join(stateDirectory, name))
  const held = await Promise.all(inner.map(async path => (await namesIn(path)).map(name => join(path, name))))
  const paths = [...names.map(name => join(stateDirectory, name)), ...held.flat()]
  const entries: StateEntry[] = [{ path: stateDirectory, mode: top.mode & 0o777, owner: top.uid, bytes: 0 }]
  // Sequential: a long outage leaves too many files to read at once.
  for (const path of paths) entries.push(...(await look(path)))
  return entries
}

async function look(path: string): Promise<StateEntry[]> {
  const stats = await lstat(path).catch(() => undefined)
  if (stats === undefined || stats.isSymbolicLink()) return []
  return [{ path, mode: stats.mode & 0o777, owner: stats.uid, bytes: stats.isFile() ? stats.size : 0 }]
}

async function namesIn(directory: string): Promise<string[]> {
  return (await readdir(directory).catch(() => [])).sort()
}

/** The free bytes available to this user. Undefined if the system does not report it. */
async function freeBytes(path: string): Promise<number | undefined> {
  for (let place = path; ; place = dirname(place)) {
    const found = await statfs(place).catch(() => undefined)
    if (found !== undefined) return found.bavail * found.bsize
    if (place === dirname(place)) return undefined
  }
}
