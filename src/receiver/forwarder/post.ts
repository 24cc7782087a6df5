import { connect, type Socket } from 'node:net'
import { isWhole, type Said, saidBy, type Wanted } from './asking.ts'
import type { HookEvent } from './hook-event.ts'
import type { Listening } from './listening.ts'

/**
 * Sends an event to the receiver, which answers as soon as it has received it, before processing. If a decision is requested,
 * it answers when the hooks have decided.
 *
 * @param millis longest time that the agent may wait for the answer
 * @returns the answer if the event was accepted. Otherwise the event must be spooled under the same id. Never rejects
 */
export function post(
  event: HookEvent,
  { token, to }: Listening,
  version: string,
  { decides }: Wanted,
  millis: number,
): Promise<Said | undefined> {
  return new Promise(resolve => {
    const socket = connect(to)
    const finish = (said: Said | undefined): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(said)
    }
    const timer = setTimeout(finish, millis, undefined)
    socket.on('error', () => finish(undefined)).on('close', () => finish(undefined))
    const isEnough = decides === undefined ? (text: string) => text.includes('\r\n') : isWhole
    onAnswer(socket, isEnough, text => finish(saidBy(text)))
    const own = decides === undefined ? [] : [`x-hookspan-decide: ${decides}`]
    socket.write(Buffer.concat([Buffer.from(headOf(event, token, version, own)), event.body]))
  })
}

/** Collects the answer in latin1: one character per byte. */
function onAnswer(socket: Socket, isEnough: (text: string) => boolean, take: (text: string) => void): void {
  let text = ''
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1')
    if (isEnough(text)) take(text)
  })
}

function headOf(
  { path, at, id, body, traceparent }: HookEvent,
  token: string,
  version: string,
  own: readonly string[],
): string {
  return [
    `POST ${path} HTTP/1.1`,
    'host: localhost',
    'content-type: application/json',
    `content-length: ${body.length}`,
    'connection: close',
    `x-hookspan-token: ${token}`,
    `x-hookspan-at: ${at}`,
    `x-hookspan-delivery: ${id}`,
    `x-hookspan-client: ${version}`,
    ...own,
    ...(traceparent === undefined ? [] : [`traceparent: ${traceparent}`]),
    '\r\n',
  ].join('\r\n')
}
