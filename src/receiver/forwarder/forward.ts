import { once } from 'node:events'
import { futimesSync, lstatSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { isAbsolute, join } from 'node:path'
import type { Readable } from 'node:stream'
import {
  appendToOwnFile,
  makePrivateDirectory,
  OPEN,
  PRIVATE_FILE,
  readOwnFile,
  withOwnFile,
} from '../../delivery/trace-log/private-file.ts'
import {
  DROPPED,
  FAIL_CLOSED_REASON,
  homeDirectory,
  type ReceiverPlace,
  receiverPlace,
  SPOOL_LIMITS,
  stateHome,
  TOKEN,
} from '../../plugin/config/paths.ts'

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
 * @param options as parsed by `parseForwardOptions`
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
  const output = await sendEvent(event, place, program, forwardOptions, millis).catch(() => undefined)
  if (output !== undefined) return forwardOptions.failurePolicy === undefined ? NO_OUTPUT : output
  spoolEvent(event, place)
  await startReceiver(place, program)
  if (forwardOptions.waits) await waitUntilUp(place)
  return undefined
}

interface HookOutput {
  readonly code: number
  readonly out: Buffer
  readonly error: string
}

/**
 * `failurePolicy`: set if the agent waits for a decision. Without a decision, `open` lets it continue and `closed` does not.
 * `id`: that of an event that the receiver may already have.
 */
interface ForwardOptions {
  readonly failurePolicy: 'open' | 'closed' | undefined
  readonly fallback: HookOutput
  readonly waits: boolean
  readonly id: string | undefined
}

const NO_OUTPUT: HookOutput = { code: 0, out: Buffer.alloc(0), error: '' }
/** The last eight digits become part of the spool file's name. */
const ID = /^[0-9a-f-]{1,40}[0-9a-f]{8}$/

/**
 * Parses the options of the hook command.
 *
 * - `--decide`: wait for an answer, and print it.
 * - `--closed exit2` or `--closed '{…}'`: if there is no answer, exit with 2, or print this JSON.
 * - `--up`: wait for a receiver.
 * - `--id ID`: the event was already sent under this id, and may not have been accepted.
 */
export function parseForwardOptions(options: readonly string[]): ForwardOptions {
  const at = options.indexOf('--closed')
  const isClosed = at >= 0
  const answer = options[at + 1] ?? ''
  // An unknown value closes, too.
  const closed = answer.startsWith('{') ? { out: Buffer.from(answer) } : { code: 2, error: FAIL_CLOSED_REASON }
  const id = options[options.indexOf('--id') + 1] ?? ''
  return {
    failurePolicy: isClosed ? 'closed' : options.includes('--decide') ? 'open' : undefined,
    fallback: isClosed ? { ...NO_OUTPUT, ...closed } : NO_OUTPUT,
    waits: options.includes('--up'),
    id: options.includes('--id') && ID.test(id) ? id : undefined,
  }
}

function eventOf(host: string, body: Buffer, id: string | undefined) {
  const traceparent = process.env['TRACEPARENT']
  return {
    path: `/${host}`,
    // The start of this process, just after the hook fired. `performance` has it, too, but takes a millisecond to load.
    at: Math.round(Date.now() - process.uptime() * 1000),
    id: id ?? `${process.pid}-${hex()}${hex()}`,
    body,
    /** The span that the agent was started in: W3C `traceparent`. */
    traceparent: traceparent !== undefined && TRACEPARENT.test(traceparent) ? traceparent : undefined,
  }
}

function hex(): string {
  return Math.floor(Math.random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0')
}

type ForwardedEvent = ReturnType<typeof eventOf>

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
 * Sends an event to the receiver, which answers as soon as it has received it, before processing. If a decision is requested,
 * it answers when the hooks have decided.
 *
 * @param millis longest time that the agent may wait for the answer
 * @returns the answer if the event was accepted. Otherwise the event must be spooled under the same id
 * @throws an error if there is no version or no address to send to
 */
async function sendEvent(
  { path, at, id, body, traceparent }: ForwardedEvent,
  place: ReceiverPlace,
  program: string,
  { failurePolicy: decides }: ForwardOptions,
  millis: number,
): Promise<HookOutput | undefined> {
  const manifest = readFileSync(join(program, '../../../package.json'), 'utf8')
  const { version } = JSON.parse(manifest) as { version: string }
  const { token, to } = runningAddress(place)
  return new Promise(resolve => {
    const socket = connect(to)
    const finish = (output: HookOutput | undefined): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(output)
    }
    const timer = setTimeout(finish, millis, undefined)
    socket.on('error', () => finish(undefined)).on('close', () => finish(undefined))
    const isEnough = decides === undefined ? (text: string) => text.includes('\r\n') : isComplete
    let text = ''
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
      if (isEnough(text)) finish(parseAnswer(text))
    })
    const head = [
      `POST ${path} HTTP/1.1`,
      'host: localhost',
      'content-type: application/json',
      `content-length: ${body.length}`,
      'connection: close',
      `x-hookspan-token: ${token}`,
      `x-hookspan-at: ${at}`,
      `x-hookspan-delivery: ${id}`,
      `x-hookspan-client: ${version}`,
      ...(decides === undefined ? [] : [`x-hookspan-decide: ${decides}`]),
      ...(traceparent === undefined ? [] : [`traceparent: ${traceparent}`]),
      '\r\n',
    ]
    socket.write(Buffer.concat([Buffer.from(head.join('\r\n')), body]))
  })
}

const OK = /^HTTP\/1\.[01] 2\d\d /

/** @param text the answer in latin1, a character per byte @returns undefined unless the receiver accepted the event */
export function parseAnswer(text: string): HookOutput | undefined {
  if (!OK.test(text)) return undefined
  const [head = '', body = ''] = text.split(/\r\n\r\n(.*)/s)
  return {
    code: Number(valueIn(head, 'x-hookspan-exit') ?? 0),
    out: Buffer.from(body, 'latin1'),
    error: Buffer.from(valueIn(head, 'x-hookspan-error') ?? '', 'base64url').toString(),
  }
}

export function isComplete(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  return end >= 0 && text.length >= end + 4 + Number(valueIn(text.slice(0, end), 'content-length') ?? 0)
}

function valueIn(head: string, name: string): string | undefined {
  return new RegExp(`\\r\\n${name}: ([\\w-]{0,9999})(?:\\r|$)`, 'i').exec(head)?.[1]
}

/** Spools an event for the next receiver, or counts it as dropped if there is no room. @throws the error of the file system */
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

interface RunningAddress {
  readonly token: string
  readonly to: { readonly path: string } | { readonly host: string; readonly port: number }
}

/** @throws an error if no receiver has written its address, or the files belong to another user */
export function runningAddress(place: ReceiverPlace): RunningAddress {
  const token = readOwnFile(place.token).toString('latin1').trim()
  if (!TOKEN.test(token)) throw new Error('no token')
  const { socket, port } = JSON.parse(readOwnFile(place.address).toString()) as { socket?: unknown; port?: unknown }
  if (process.platform !== 'win32' && typeof socket === 'string') return { token, to: { path: ownSocket(socket) } }
  if (typeof port === 'number' && Number.isInteger(port)) return { token, to: { host: '127.0.0.1', port } }
  throw new Error('no address')
}

/** Refuses a socket of another user, or a link to one: it would receive the agent's data. */
function ownSocket(path: string): string {
  const stats = lstatSync(path)
  if (!isAbsolute(path) || !stats.isSocket() || stats.uid !== process.geteuid?.()) throw new Error('not our socket')
  return path
}

const TRY_AGAIN_MILLIS = 10_000

/**
 * Starts a receiver as a separate process, without waiting for it. If several start at once, only one stays.
 *
 * @param program path of the hookspan command
 * @throws the error of the file system
 */
async function startReceiver(place: ReceiverPlace, program: string): Promise<void> {
  if (!mayStart(place)) return
  // Loaded only now: usually a receiver is running, and the agent must not wait for this module.
  const { spawn } = await import('node:child_process')
  // `serve --detach` would start Node again while the agent may wait. `cwd` is ours: the agent's could not be unmounted.
  const child = spawn(process.execPath, [program, 'serve'], {
    cwd: place.directory,
    detached: true,
    stdio: 'ignore',
    windowsHide: true,
  })
  child.on('error', () => undefined)
  child.unref()
}

/**
 * True if no start was tried for a while, or the receiver started last has come up and is gone again. Records this attempt. An
 * agent fires dozens of hooks while a receiver starts, or if none can start.
 */
function mayStart({ address, starting }: ReceiverPlace): boolean {
  return withOwnFile(starting, OPEN.append, (descriptor, { size, mtimeMs }) => {
    const now = Date.now()
    const cameUpAt = lstatSync(address, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (size > 0 && Math.abs(now - mtimeMs) < TRY_AGAIN_MILLIS && cameUpAt <= mtimeMs) return false
    if (size === 0) writeFileSync(descriptor, '\n')
    futimesSync(descriptor, now / 1000, now / 1000)
    return true
  })
}

/** A receiver starts within half a second, or longer on a busy machine. Agents wait for five seconds. */
const START_MILLIS = 3000
const AGAIN_MILLIS = 20

export async function waitUntilUp(place: ReceiverPlace, millis: number = START_MILLIS): Promise<void> {
  const until = Date.now() + millis
  while (!(await isUp(place)) && Date.now() < until) await new Promise(resolve => setTimeout(resolve, AGAIN_MILLIS))
}

async function isUp(place: ReceiverPlace): Promise<boolean> {
  try {
    const socket = connect(runningAddress(place).to)
    await once(socket, 'connect')
    socket.destroy()
    return true
  } catch {
    return false
  }
}
