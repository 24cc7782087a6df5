import { fstatSync, readSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makePrivateDirectory, OPEN, PRIVATE_FILE, readOwnFile, withOwnFile } from './private-place.ts'

const MAX_BYTES = 262_144
/** A file that is being cut is cut in an instant; later than this, whoever did it was killed. */
const CUT_LIMIT_MILLIS = 60_000
const LINE_END = 0x0a

export function lossPath(stateDirectory: string): string {
  return join(stateDirectory, 'losses.jsonl')
}

/** Appends whole lines, and cuts the file to its newer half when it has grown too long. False when it cannot be written. */
export function appendLossLines(path: string, lines: string): boolean {
  try {
    makePrivateDirectory(dirname(path))
    if (append(path, lines) > MAX_BYTES) cut(path)
    return true
  } catch {
    return false
  }
}

/** Several processes append. Returns the size of the file. */
function append(path: string, lines: string): number {
  return withOwnFile(path, OPEN.append, (descriptor, { size }) => {
    // The rest of a line that was cut off by a full disk must not swallow the next one.
    const before = endsWithLine(descriptor, size) ? '' : '\n'
    writeFileSync(descriptor, before + lines)
    return fstatSync(descriptor).size
  })
}

function endsWithLine(descriptor: number, size: number): boolean {
  const last = Buffer.alloc(1)
  return size === 0 || readSync(descriptor, last, 0, 1, size - 1) === 0 || last[0] === LINE_END
}

/** The temporary file is the lock, too: of several processes one cuts. */
function cut(path: string): void {
  const temporary = `${path}.tmp`
  try {
    const all = readOwnFile(path)
    const half = all.indexOf(LINE_END, all.length - MAX_BYTES / 2) + 1
    writeFileSync(temporary, all.subarray(half), { flag: 'wx', mode: PRIVATE_FILE })
    renameSync(temporary, path)
  } catch {
    // It is cut after another append.
    removeAbandoned(temporary)
  }
}

function removeAbandoned(temporary: string): void {
  try {
    if (statSync(temporary).mtimeMs < Date.now() - CUT_LIMIT_MILLIS) rmSync(temporary)
  } catch {
    // Another process was quicker.
  }
}
