import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Written last: a folder without it is not complete, and is made anew. */
const MARK = '.complete.json'
/** What it was made of: another wish under the same name is made anew, too. */
const WISH = '.wish.json'
const LOCK_POLL_MILLIS = 500

const CACHES = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
/** Of the servers. */
export const CACHE = join(CACHES, 'hookspan-backends')
/** Of the agents of the live tests. */
export const LIVE_CACHE = join(CACHES, 'hookspan-live')

/**
 * Makes a folder of the cache once, and says what was found in it. It is filled where it will stay: a virtual
 * environment cannot be moved.
 *
 * @param name its name, with the version in it
 * @param fill gets the empty folder; what it returns is remembered
 * @param wish what it is made of, as plain data
 */
export async function once(name, fill, wish = {}, cache = CACHE) {
  const folder = join(cache, name)
  const wished = JSON.stringify(wish)
  const found = remembered(folder, wished)
  if (found !== undefined) return found
  return await alone(folder, async () => {
    const meanwhile = remembered(folder, wished)
    if (meanwhile !== undefined) return meanwhile
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    const made = await fill(folder)
    writeFileSync(join(folder, WISH), wished)
    writeFileSync(join(folder, MARK), `${JSON.stringify(made, null, 2)}\n`)
    return made
  })
}

/** Nothing, too, when a path in it is gone: a cache may be older than the Debian packages of the machine. */
function remembered(folder, wished) {
  const [mark, wish] = [join(folder, MARK), join(folder, WISH)]
  if (!existsSync(mark) || (existsSync(wish) && readFileSync(wish, 'utf8') !== wished)) return undefined
  const made = JSON.parse(readFileSync(mark, 'utf8'))
  const paths = Object.values(made).filter(value => isAbsolute(value))
  return paths.every(existsSync) ? made : undefined
}

/** Two runs at once would fill the same folder. The lock of a process that has died counts for nothing. */
async function alone(folder, work) {
  const lock = `${folder}.lock`
  mkdirSync(dirname(folder), { recursive: true })
  while (!take(lock)) await sleep(LOCK_POLL_MILLIS)
  try {
    return await work()
  } finally {
    rmSync(lock, { force: true })
  }
}

function take(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    if (!isAlive(lock)) rmSync(lock, { force: true })
    return false
  }
}

function isAlive(lock) {
  try {
    const pid = Number(readFileSync(lock, 'utf8'))
    // Just created, and its number not written yet.
    return pid === 0 || process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}
