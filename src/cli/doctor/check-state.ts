import { stateHome } from '../../plugin/config/paths.ts'
import type { ResolvedConfig } from '../../plugin/config/types.ts'
import { countOf, humanBytes } from '../../reading/human-figures.ts'
import type { CommandIo } from '../command.ts'
import { whyNot } from '../file-trouble.ts'
import { type Finding, finding } from './finding.ts'
import { freeBytes, listState, type StateEntry, type TrialWriter, tryState, writeTrial } from './state-directory.ts'

const OTHERS = 0o077

export type StateConfig = Pick<ResolvedConfig, 'local_log' | 'local_log_max_bytes'>

/** Checks that the trace log is writable, private and has space. Writes a file as an agent would. */
export async function checkState(
  config: StateConfig,
  { env, home }: CommandIo,
  write: TrialWriter = writeTrial,
): Promise<readonly Finding[]> {
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

function good(directory: string, entries: readonly StateEntry[], free: number | undefined): Finding {
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
  EDQUOT: 'free some space, or have the quota raised',
  ENOTDIR: 'move the file out of the way',
  EEXIST: 'move the file out of the way',
  EACCES: 'make it writable for the user that the agent runs as',
  EPERM: 'make it writable for the user that the agent runs as',
  EROFS: 'mount it writable',
}

function unwritable(directory: string, error: unknown): Finding {
  const { code } = (error ?? {}) as { code?: unknown }
  const remedy = REMEDIES[String(code)] ?? 'make it writable'
  const why = code === 'EEXIST' ? whyNot({ code: 'ENOTDIR' }) : whyNot(error)
  const what = `${directory} cannot be written: ${why}; traces are not stored, and what a backend does not take is lost`
  return finding('fail', 'Trace log', what, `${remedy}, or set XDG_STATE_HOME to another place`)
}

/** Files in a directory that only its owner may enter are private, whatever their own mode. */
function checkModes(directory: string, entries: readonly StateEntry[]): Finding[] {
  // On Windows, modes are not real.
  if (process.platform === 'win32') return []
  const [top, ...inner] = entries
  const wide = inner.filter(({ mode }) => (mode & OTHERS) !== 0)
  const isOpen = top !== undefined && (top.mode & OTHERS) !== 0
  const remedy = `chmod -R go= ${quoted(directory)}`
  if (isOpen) {
    const what = `other users may look into ${directory} (mode ${octal(top)}), which holds what agents were told and did`
    return [finding('fail', 'Trace log', what, remedy)]
  }
  const [first] = wide
  if (first === undefined) return []
  const what = `${countOf(wide.length, 'file')} in ${directory} may be read by others once they get there; the first is ${first.path} (mode ${octal(first)})`
  return [finding('warn', 'Trace log', what, remedy)]
}

function checkOwner(directory: string, entries: readonly StateEntry[]): Finding[] {
  const user = process.getuid?.()
  const foreign = entries.find(({ owner }) => user !== undefined && owner !== user)
  if (foreign === undefined) return []
  const what = `${foreign.path} belongs to user ${foreign.owner}, and this is user ${user}: one of them cannot write there`
  const remedy = `run agents and hookspan as one user; this makes it yours: sudo chown -R ${user} ${quoted(directory)}`
  return [finding('warn', 'Trace log', what, remedy)]
}

function checkRoom(entries: readonly StateEntry[], free: number | undefined, config: StateConfig): Finding[] {
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

/** Quotes for a shell. */
function quoted(path: string): string {
  return /[^\w./-]/.test(path) ? `'${path.replaceAll("'", "'\\''")}'` : path
}
