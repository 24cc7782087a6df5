import { connect, type Socket } from 'node:net'
import type { HookEvent } from './hook-event.ts'
import type { Listening } from './listening.ts'

const ANSWER = /^HTTP\/1\.[01] 2\d\d /

/**
 * Hands an event to the receiver, which answers as soon as it has all of it, before it looks at it.
 *
 * @param millis as long as the agent may wait for that
 * @returns whether it took the event; what it did not surely take goes into the spool under the same id. Never rejects.
 */
export function post(event: HookEvent, { token, to }: Listening, version: string, millis: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(to)
    const finish = (isTaken: boolean): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(isTaken)
    }
    const timer = setTimeout(finish, millis, false)
    socket.on('error', () => finish(false)).on('close', () => finish(false))
    onAnswer(socket, head => finish(ANSWER.test(head)))
    socket.write(Buffer.concat([Buffer.from(headOf(event, token, version)), event.body]))
  })
}

function onAnswer(socket: Socket, take: (head: string) => void): void {
  let head = ''
  socket.on('data', (bytes: Buffer) => {
    head += bytes.toString('latin1')
    if (head.includes('\r\n')) take(head)
  })
}

function headOf({ path, at, id, body, traceparent }: HookEvent, token: string, version: string): string {
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
    ...(traceparent === undefined ? [] : [`traceparent: ${traceparent}`]),
    '\r\n',
  ].join('\r\n')
}
