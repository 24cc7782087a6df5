import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { afterwards } from '../support/afterwards.ts'
import { until } from '../support/until.ts'
import { Scene } from './scene.ts'

const CONNECTIONS = 10_000
const HELD = 256
/** The system has a queue before it, which is not to overflow: who does not fit into it is told nothing for a minute. */
const AT_ONCE = 100

test('limits and counts 10 000 connections, with the socket open all the time and the port afterwards', async () => {
  const scene = new Scene()
  // None of them goes by itself meanwhile, however slow this machine is.
  const receiver = await scene.start({ limits: { headersMillis: 3_600_000, requestMillis: 3_600_000 } })
  const sockets = new Set<Socket>()
  afterwards(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let opened = AT_ONCE; opened <= CONNECTIONS; opened += AT_ONCE) {
    for (let number = 0; number < AT_ONCE; number++) {
      const socket = connect(receiver.address.port as number, '127.0.0.1')
      sockets.add(socket)
      socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
    }
    await until(() => (receiver.counts.refused.connections ?? 0) === Math.max(0, opened - HELD))
    expect(await scene.send(receiver, String(opened), { isBySocket: true })).toBe(204)
  }
  await until(() => sockets.size === HELD)
  for (const socket of sockets) socket.destroy()
  await until(async () => (await scene.send(receiver, 'after').catch(() => 0)) === 204)
})
