import { lstatSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { appendToOwnFile, makePrivateDirectory, PRIVATE_FILE } from '../../delivery/trace-log/private-file.ts'
import { DROPPED, type ReceiverPlace, SPOOL_LIMITS } from '../../plugin/config/paths.ts'
import type { ForwardedEvent } from './post.ts'

/**
 * Spools an event for the next receiver. If the spool is full, counts it as dropped.
 *
 * @throws the error of the file system
 */
export function spoolEvent(event: ForwardedEvent, place: ReceiverPlace): void {
  const folder = folderOf(place)
  const text = textOf(event)
  if (hasRoom(folder, text.length)) write(text, event, folder)
  else countDropped(place)
}

function write(text: Buffer, event: ForwardedEvent, folder: string): void {
  const path = join(folder, `${String(event.at).padStart(13, '0')}-${process.pid}-${event.id.slice(-8)}.json`)
  const unfinished = `${path}.tmp`
  try {
    writeFileSync(unfinished, text, { mode: PRIVATE_FILE, flag: 'wx' })
    renameSync(unfinished, path)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  }
}

export function countDropped(place: ReceiverPlace): void {
  appendToOwnFile(join(folderOf(place), DROPPED), '1\n')
}

function folderOf({ directory, spool: folder }: ReceiverPlace): string {
  makePrivateDirectory(directory)
  makePrivateDirectory(folder)
  return folder
}

/** Invalid JSON is stored as a string: some agents write numbers that JSON does not have. */
function textOf({ path, at, id, body, traceparent }: ForwardedEvent): Buffer {
  const text = body.toString()
  const start = JSON.stringify({ path, at, id, traceparent }).slice(0, -1)
  return Buffer.from(`${start},"body":${isJson(text) ? text : JSON.stringify(text)}}\n`)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function hasRoom(folder: string, bytes: number): boolean {
  const names = readdirSync(folder)
  if (names.length >= SPOOL_LIMITS.files) return false
  let total = bytes
  for (const name of names) total += lstatSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0
  return total <= SPOOL_LIMITS.bytes
}
