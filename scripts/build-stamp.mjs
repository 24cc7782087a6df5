// Whether `build` and `dist` are what `npm run build` makes of the sources as they are now.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const REPOSITORY = fileURLToPath(new URL('../', import.meta.url))
const STAMP = 'build/stamp'
const FOLDERS = ['src', 'scripts', 'build', 'dist']
const FILES = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json']
/** Other commands write these into `build`. */
const OTHERS = /^build\/(?:stamp$|test\/|reference)/

export function isBuilt() {
  return existsSync(join(REPOSITORY, STAMP)) && readFileSync(join(REPOSITORY, STAMP), 'utf8') === stamp()
}

export function writeStamp() {
  writeFileSync(join(REPOSITORY, STAMP), stamp())
}

/** A hash of everything that a build reads and writes. A changed output is built again, too. */
function stamp() {
  const hash = createHash('sha256')
  for (const path of [...FOLDERS.flatMap(filesOf), ...FILES].sort()) {
    if (!OTHERS.test(path))
      hash
        .update(`${path}\0`)
        .update(readFileSync(join(REPOSITORY, path)))
        .update('\0')
  }
  return hash.digest('hex')
}

function filesOf(folder) {
  const place = join(REPOSITORY, folder)
  const entries = existsSync(place) ? readdirSync(place, { recursive: true, withFileTypes: true }) : []
  return entries
    .filter(entry => entry.isFile())
    .map(entry => join(folder, join(entry.parentPath, entry.name).slice(place.length + 1)))
}
