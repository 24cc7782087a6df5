import { connect } from 'node:net'
import { FAIL_CLOSED_REASON } from '../../plugin/config/paths.ts'
import type { RunningAddress } from './running-receiver.ts'

/**
 * Sends an event to the receiver, which answers as soon as it has received it, before processing. If a decision is requested,
 * it answers when the hooks have decided.
 *
 * @param millis longest time that the agent may wait for the answer
 * @returns the answer if the event was accepted. Otherwise the event must be spooled under the same id. Never rejects
 */
export function sendEvent(
  event: ForwardedEvent,
  { token, to }: RunningAddress,
  version: string,
  { failurePolicy: decides }: ForwardOptions,
  millis: number,
): Promise<HookOutput | undefined> {
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
    const { path, at, id, body, traceparent } = event
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

export interface HookOutput {
  readonly code: number
  readonly out: Buffer
  readonly error: string
}

/**
 * `failurePolicy`: set if the agent waits for a decision. Without a decision, `open` lets it continue and `closed` does not.
 * `id`: that of an event that the receiver may already have.
 */
export interface ForwardOptions {
  readonly failurePolicy: 'open' | 'closed' | undefined
  readonly fallback: HookOutput
  readonly waits: boolean
  readonly id: string | undefined
}

export const NO_OUTPUT: HookOutput = { code: 0, out: Buffer.alloc(0), error: '' }
/** The last eight digits become part of the spool file's name. */
const ID = /^[0-9a-f-]{1,40}[0-9a-f]{8}$/
const OK = /^HTTP\/1\.[01] 2\d\d /

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
  const closed = answer.startsWith('{')
    ? { ...NO_OUTPUT, out: Buffer.from(answer) }
    : { ...NO_OUTPUT, code: 2, error: FAIL_CLOSED_REASON }
  const decides = isClosed ? 'closed' : options.includes('--decide') ? 'open' : undefined
  const id = options[options.indexOf('--id') + 1] ?? ''
  return {
    failurePolicy: decides,
    fallback: isClosed ? closed : NO_OUTPUT,
    waits: options.includes('--up'),
    id: options.includes('--id') && ID.test(id) ? id : undefined,
  }
}

/**
 * @param text the receiver's answer in latin1, one character per byte
 * @returns undefined unless the receiver accepted the event
 */
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

export interface ForwardedEvent {
  readonly path: string
  readonly at: number
  readonly id: string
  readonly body: Buffer
  /** The span that the agent was started in: W3C `traceparent`. */
  readonly traceparent: string | undefined
}
