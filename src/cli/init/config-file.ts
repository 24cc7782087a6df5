import { randomBytes } from 'node:crypto'
import {
  chmod,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
} from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { whyNot } from '../file-trouble.ts'
import type { Change } from './plan.ts'

const PRIVATE_FILE = 0o600
const PRIVATE_FOLDER = 0o700
const BACKUP = '.hookspan-backup'
/** As far as the kernel follows links. */
const MOST_LINKS = 40

/**
 * The text of a host's file, byte order mark included; undefined when there is none.
 *
 * @throws Error in one line when it cannot be read, or is not UTF-8: writing it back would change it
 */
export async function readText(file: string): Promise<string | undefined> {
  try {
    const bytes = await readFile(file)
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    const why = error instanceof TypeError ? 'it is not UTF-8' : whyNot(error)
    throw new Error(`cannot read ${file}: ${why}`, { cause: error })
  }
}

/** The backups of a file that earlier runs kept, the newest first. */
export async function backupsOf(file: string): Promise<readonly string[]> {
  const target = await targetOf(file)
  const start = basename(target) + BACKUP
  const names = await readdir(dirname(target)).catch(() => [])
  const numbered = names.filter(name => name.startsWith(start)).map(name => [numberOf(name, start), name] as const)
  return numbered.sort(([a], [b]) => b - a).map(([, name]) => join(dirname(target), name))
}

/**
 * Makes the change: all of it or none. The file keeps its mode and its owner, and a symbolic link stays one.
 *
 * @returns the backup that was kept; undefined when there was nothing to keep
 * @throws Error in one line
 */
export async function makeChange(
  change: Change,
): Promise<{ backup: string | undefined; newFolder: string | undefined }> {
  const target = await targetOf(change.file)
  try {
    const newFolder = await mkdir(dirname(target), { recursive: true, mode: PRIVATE_FOLDER })
    change.prepare?.()
    const backup = await keep(change, target)
    const links = change.links ?? []
    for (const { path, to } of links) if (to !== undefined) await link(path, to)
    if (change.after === undefined) await remove(change, target)
    else if (change.after !== change.before) await replace(change, target, change.after)
    for (const { path, to } of links) if (to === undefined) await rm(path, { force: true })
    if (change.restored !== undefined) await rm(change.restored, { force: true })
    return { backup, newFolder }
  } catch (error) {
    throw new Error(`cannot change ${change.file}: ${whyNot(error)}`, { cause: error })
  }
}

/** What a chain of symbolic links leads to, whether it is there or not. */
async function targetOf(file: string): Promise<string> {
  let path = file
  for (let links = 0; links < MOST_LINKS; links++) {
    const isLink = await lstat(path).then(
      found => found.isSymbolicLink(),
      () => false,
    )
    if (!isLink) return path
    path = resolve(dirname(path), await readlink(path))
  }
  throw new Error(`cannot read ${file}: it is a symbolic link to itself`)
}

async function keep({ before, after, isUsers }: Change, target: string): Promise<string | undefined> {
  if (before === undefined || before === after || !isUsers) return undefined
  const kept = await backupsOf(target)
  for (const path of kept) if ((await readText(path)) === before) return path
  const number = kept.length === 0 ? 1 : numberOf(basename(kept[0] ?? ''), basename(target) + BACKUP) + 1
  const backup = `${target}${BACKUP}${number === 1 ? '' : `-${number}`}`
  await write(backup, before, await stat(target))
  return backup
}

async function link(path: string, to: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: PRIVATE_FOLDER })
  // One that leads to another copy of us.
  await rm(path, { force: true })
  // The kind is for Windows, where a link wants rights and a junction does not.
  await symlink(to, path, 'junction')
}

function numberOf(name: string, start: string): number {
  return Number(/^-(\d{1,9})$/.exec(name.slice(start.length))?.[1] ?? 1)
}

/** A rename is all or nothing: a host that reads meanwhile sees the one or the other. */
async function replace(change: Change, target: string, text: string): Promise<void> {
  const temporary = join(dirname(target), `.hookspan-${process.pid}-${randomBytes(4).toString('hex')}`)
  try {
    const like = await stat(target).catch(() => undefined)
    await write(temporary, text, like && { ...like, mode: like.mode & (change.isPrivate === true ? 0o700 : 0o7777) })
    await expectUnchanged(change, target)
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

async function write(
  path: string,
  text: string,
  like: { readonly mode: number; readonly uid: number; readonly gid: number } | undefined,
): Promise<void> {
  const handle = await open(path, 'wx', PRIVATE_FILE)
  try {
    await handle.writeFile(text)
    await handle.sync()
    // Root must not take a user's file away from them; others cannot give theirs away, and need not.
    if (like !== undefined) await handle.chown(like.uid, like.gid).catch(() => undefined)
    if (like !== undefined) await chmod(path, like.mode & 0o7777)
  } catch (error) {
    // Half a file would pass for a backup.
    await rm(path, { force: true })
    throw error
  } finally {
    await handle.close()
  }
}

/** Hosts write their configuration, too. */
async function expectUnchanged({ before }: Change, target: string): Promise<void> {
  if ((await readText(target)) !== before) throw new Error('it has changed meanwhile; run this again')
}

/** A link to it goes first: hosts report one that leads nowhere. */
async function remove(change: Change, target: string): Promise<void> {
  const { file, folders = [] } = change
  await expectUnchanged(change, target)
  if (file !== target) await rm(file, { force: true })
  await rm(target, { force: true })
  for (const folder of folders) {
    const isGone = await rmdir(folder).then(
      () => true,
      () => false,
    )
    if (!isGone) return
  }
}
