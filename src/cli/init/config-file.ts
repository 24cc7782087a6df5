import { randomBytes } from 'node:crypto'
import { existsSync, type Stats } from 'node:fs'
import fs from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { whyNot } from '../command.ts'
import type { FileChange } from './plan.ts'

const PRIVATE_FILE = 0o600
const PRIVATE_FOLDER = 0o700
const BACKUP = '.hookspan-backup'
const CREATED = '.hookspan-created'
/** The limit of the kernel. */
const MAX_LINKS = 40

/** Undefined if there is no file. @throws Error in one line if it is unreadable or no UTF-8: writing it would change it */
export async function readText(file: string): Promise<string | undefined> {
  try {
    const bytes = await fs.readFile(file)
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    const why = error instanceof TypeError ? 'it is not UTF-8' : whyNot(error)
    throw new Error(`cannot read ${file}: ${why}`, { cause: error })
  }
}

async function backupsOf(file: string): Promise<readonly string[]> {
  const target = await targetOf(file)
  const start = basename(target) + BACKUP
  const names = await fs.readdir(dirname(target)).catch(() => [])
  const numbered = names.filter(name => name.startsWith(start)).map(name => [numberOf(name, start), name] as const)
  return numbered.sort(([a], [b]) => b - a).map(([, name]) => join(dirname(target), name))
}

/**
 * Restores the original byte by byte if only our change was made since.
 *
 * @param fresh the text that stands for no file
 * @param ways the ways in which hookspan may have changed the original. A way that throws does not apply
 */
export async function restorable(
  { file, before }: Pick<FileChange, 'file' | 'before'>,
  fresh: string,
  ways: readonly ((old: string) => string)[],
): Promise<Partial<FileChange> | undefined> {
  const becomes = (old: string): boolean =>
    ways.some(enabled => {
      try {
        return enabled(old) === before
      } catch {
        return false
      }
    })
  for (const backup of await backupsOf(file)) {
    const old = await readText(backup)
    if (old !== undefined && old !== before && becomes(old)) return { after: old, isUsers: false, restored: backup }
  }
  return becomes(fresh) ? { after: undefined, isUsers: false } : undefined
}

/**
 * Applies a change atomically. The file keeps its mode and owner, and a symbolic link stays one.
 *
 * @returns the new backup; undefined if none was needed
 * @throws Error in one line
 */
export async function makeChange(change: FileChange): Promise<string | undefined> {
  const target = await targetOf(change.file)
  try {
    await createFolder(dirname(target))
    change.prepare?.()
    const backup = await keep(change, target)
    const links = change.links ?? []
    for (const { path, to } of links) {
      if (to === undefined) continue
      await createFolder(dirname(path))
      // Replaces a link to another copy of hookspan. On Windows, a link needs privileges and a junction does not.
      await fs.rm(path, { force: true })
      await fs.symlink(to, path, 'junction')
    }
    if (change.after === undefined) {
      await expectUnchanged(change, target)
      // The link goes first: hosts report a dangling one.
      if (change.file !== target) await fs.rm(change.file, { force: true })
      await fs.rm(target, { force: true })
    } else if (change.after !== change.before) await replace(change, target, change.after)
    for (const { path, to } of links) if (to === undefined) await fs.rm(path, { force: true })
    if (change.restored !== undefined) await fs.rm(change.restored, { force: true })
    if (change.isUndo) await removeCreated([target, ...links.map(({ path }) => path)].map(path => dirname(path)))
    return backup
  } catch (error) {
    throw new Error(`cannot change ${change.file}: ${whyNot(error)}`, { cause: error })
  }
}

/** Resolves a chain of symbolic links. The target need not exist. */
async function targetOf(file: string): Promise<string> {
  let path = file
  for (let links = 0; links < MAX_LINKS; links++) {
    const found = await fs.lstat(path).catch(() => undefined)
    if (!found?.isSymbolicLink()) return path
    path = resolve(dirname(path), await fs.readlink(path))
  }
  throw new Error(`cannot read ${file}: it is a symbolic link to itself`)
}

async function keep({ before, after, isUsers }: FileChange, target: string): Promise<string | undefined> {
  if (before === undefined || before === after || !isUsers) return undefined
  const kept = await backupsOf(target)
  for (const path of kept) if ((await readText(path)) === before) return path
  const [last] = kept
  const backup = `${target}${BACKUP}${last === undefined ? '' : `-${numberOf(last, target + BACKUP) + 1}`}`
  await write(backup, before, await fs.stat(target))
  return backup
}

async function createFolder(folder: string): Promise<void> {
  const created: string[] = []
  for (let each = folder; !existsSync(each); each = dirname(each)) created.push(each)
  await fs.mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER })
  const text = 'This folder was created by hookspan, which removes it with "--undo" if nothing else is in it.\n'
  for (const each of created) await fs.writeFile(join(each, CREATED), text, { mode: PRIVATE_FILE })
}

/** Removes the folders that `init` created, from the given ones upwards, or its mark if something else is in them. */
async function removeCreated(folders: readonly string[]): Promise<void> {
  const namesIn = (folder: string): Promise<string[]> => fs.readdir(folder).catch(() => [])
  const left = new Set<string>()
  for (let folder of folders) {
    for (; (await namesIn(folder)).join() === CREATED; folder = dirname(folder)) {
      await fs.rm(join(folder, CREATED))
      await fs.rmdir(folder)
    }
    left.add(folder)
  }
  for (const folder of left) {
    const isShared = (await namesIn(folder)).some(name => existsSync(join(folder, name, CREATED)))
    if (!isShared) await fs.rm(join(folder, CREATED), { force: true })
  }
}

function numberOf(name: string, start: string): number {
  return Number(/^-(\d{1,9})$/.exec(name.slice(start.length))?.[1] ?? 1)
}

/** Replaces by rename, so that a host never reads a partial file. */
async function replace(change: FileChange, target: string, text: string): Promise<void> {
  const temporary = join(dirname(target), `.hookspan-${process.pid}-${randomBytes(4).toString('hex')}`)
  try {
    await write(temporary, text, await ownerAndMode(change, target))
    await expectUnchanged(change, target)
    await fs.rename(temporary, target)
  } catch (error) {
    await fs.rm(temporary, { force: true })
    throw error
  }
}

type OwnerAndMode = Pick<Stats, 'mode' | 'uid' | 'gid'>

/** `--undo` restores a mode that `init` has narrowed: the backup has it. */
async function ownerAndMode(change: FileChange, target: string): Promise<OwnerAndMode | undefined> {
  const { isPrivate, isUndo, restored } = change
  const like = await fs.stat(target).catch(() => undefined)
  if (like === undefined) return undefined
  if (isPrivate) return { ...like, mode: like.mode & 0o700 }
  const backup = isUndo ? (restored ?? (await backupsOf(target)).at(-1)) : undefined
  const { mode } = backup === undefined ? like : await fs.stat(backup)
  return { ...like, mode: (mode & 0o700) === (like.mode & 0o7777) ? mode : like.mode }
}

async function write(path: string, text: string, like: OwnerAndMode | undefined): Promise<void> {
  const handle = await fs.open(path, 'wx', PRIVATE_FILE)
  try {
    await handle.writeFile(text)
    await handle.sync()
    // If root runs this, the file must stay the user's. Other users cannot and need not change the owner.
    if (like !== undefined) await handle.chown(like.uid, like.gid).catch(() => undefined)
    if (like !== undefined) await fs.chmod(path, like.mode & 0o7777)
  } catch (error) {
    // A partial file would look like a backup.
    await fs.rm(path, { force: true })
    throw error
  } finally {
    await handle.close()
  }
}

/** The host may have written its configuration meanwhile. */
async function expectUnchanged({ before }: FileChange, target: string): Promise<void> {
  if ((await readText(target)) !== before) throw new Error('it has changed meanwhile; run this again')
}
