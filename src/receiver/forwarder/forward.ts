import { lstatSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { appendToOwnFile, makePrivateDirectory, PRIVATE_FILE } from '../../delivery/trace-log/private-file.ts'
import type { ReceiverPlace } from '../../plugin/config/paths.ts'
import { DROPPED, homeDirectory, receiverPlace, SPOOL_LIMITS, stateHome } from '../../plugin/config/paths.ts'
import type { ForwardedEvent, ForwardOptions, HookOutput } from './post.ts'
import { NO_OUTPUT, parseForwardOptions, sendEvent } from './post.ts'
import { runningAddress, startReceiver, waitUntilUp } from './running-receiver.ts'

const RECEIVER_MILLIS = 100
const DECIDING_MILLIS = 1000
const HOST = /^[a-z][a-z0-9-]{0,40}$/
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/**
 * Forwards a hook's standard input to the receiver of this user. If none answers, spools the event and starts a receiver.
 * Exits the process, always with 0 and without output, because agents take a hook's output and exit code for a decision. If a
 * decision is requested, prints that of the receiver.
 *
 * @param host names the endpoint: `claude-code`
 * @param program path of the hookspan command
 * @param options as parsed by `wantedBy`
 * @param millis longest time that the agent may wait for a receiver that does not answer
 */
export async function forwardAndExit(
  host: string | undefined,
  program: string,
  options: readonly string[],
  millis?: number,
): Promise<never> {
  const forwardOptions = parseForwardOptions(options)
  process.on('uncaughtException', () => void exitWith(forwardOptions.fallback))
  const output = await forward(host, program, forwardOptions, millis).catch(() => undefined)
  return await exitWith(output ?? forwardOptions.fallback)
}

/** Waits for the output: data not yet written at exit is lost. */
async function exitWith({ code, out, error }: HookOutput): Promise<never> {
  if (out.length > 0) await new Promise<unknown>(resolve => process.stdout.write(out, resolve))
  if (error !== '') await new Promise<unknown>(resolve => process.stderr.write(error, resolve))
  process.exit(code)
}

async function forward(
  host: string | undefined,
  program: string,
  forwardOptions: ForwardOptions,
  millis: number = forwardOptions.failurePolicy === undefined ? RECEIVER_MILLIS : DECIDING_MILLIS,
): Promise<HookOutput | undefined> {
  const home = stateHome(process.env, homeDirectory())
  if (host === undefined || !HOST.test(host) || home === undefined || process.stdin.isTTY) return undefined
  const place = receiverPlace(home)
  const body = await readInput(process.stdin)
  if (body === undefined) countDropped(place)
  if (body === undefined || body.length === 0) return undefined
  const event = eventOf(host, body, forwardOptions.id)
  const send = async (): Promise<HookOutput | undefined> => {
    const manifest = readFileSync(join(program, '../../../package.json'), 'utf8')
    const { version } = JSON.parse(manifest) as { version: string }
    return await sendEvent(event, runningAddress(place), version, forwardOptions, millis)
  }
  const output = await send().catch(() => undefined)
  if (output !== undefined) return forwardOptions.failurePolicy === undefined ? NO_OUTPUT : output
  spoolEvent(event, place)
  await startReceiver(place, program)
  if (forwardOptions.waits) await waitUntilUp(place)
  return undefined
}

function eventOf(host: string, body: Buffer, id: string | undefined): ForwardedEvent {
  const traceparent = process.env['TRACEPARENT']
  return {
    path: `/${host}`,
    // The start of this process, just after the hook fired. `performance` has it, too, but takes a millisecond to load.
    at: Math.round(Date.now() - process.uptime() * 1000),
    id: id ?? `${process.pid}-${hex()}${hex()}`,
    body,
    traceparent: traceparent !== undefined && TRACEPARENT.test(traceparent) ? traceparent : undefined,
  }
}

function hex(): string {
  return Math.floor(Math.random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0')
}

const MAX_BYTES = 64 * 1024 * 1024
const QUIET_MILLIS = 1000

/**
 * Reads the whole input, which counts as complete after `quietMillis` of silence: an agent may keep the pipe open. Undefined if
 * it is too large. It is still read to its end: if the pipe breaks, the agent reports a failed hook.
 */
export function readInput(input: Readable, quietMillis: number = QUIET_MILLIS): Promise<Buffer | undefined> {
  return new Promise(resolve => {
    const chunks: Buffer[] = []
    let size = 0
    const finish = (): void => {
      clearTimeout(timer)
      resolve(size > MAX_BYTES ? undefined : Buffer.concat(chunks))
    }
    const timer = setTimeout(finish, quietMillis)
    input.on('data', (chunk: Buffer) => {
      timer.refresh()
      size += chunk.length
      if (size <= MAX_BYTES) chunks.push(chunk)
      else chunks.length = 0
    })
    input.on('end', finish).on('error', finish)
  })
}

/**
 * Spools an event for the next receiver. If the spool is full, counts it as dropped.
 *
 * @throws the error of the file system
 */
function spoolEvent(event: ForwardedEvent, place: ReceiverPlace): void {
  const folder = folderOf(place)
  const text = textOf(event)
  if (hasRoom(folder, text.length)) writeSpoolFile(text, event, folder)
  else countDropped(place)
}

function writeSpoolFile(text: Buffer, event: ForwardedEvent, folder: string): void {
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

function countDropped(place: ReceiverPlace): void {
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
