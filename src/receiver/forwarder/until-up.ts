import { connect } from 'node:net'
import type { ReceiverPlace } from '../../plugin/config/paths.ts'
import { listening } from './listening.ts'

/** A receiver starts within half a second, or longer on a busy machine. Agents wait for five seconds. */
const MAX_MILLIS = 3000
const AGAIN_MILLIS = 20

/** Waits until a receiver accepts connections. Never rejects. */
export async function untilUp(place: ReceiverPlace, millis: number = MAX_MILLIS): Promise<void> {
  const until = Date.now() + millis
  while (!(await isUp(place)) && Date.now() < until) await new Promise(resolve => setTimeout(resolve, AGAIN_MILLIS))
}

function isUp(place: ReceiverPlace): Promise<boolean> {
  return new Promise(resolve => {
    try {
      const socket = connect(listening(place).to)
      const finish = (isThere: boolean): void => {
        socket.destroy()
        resolve(isThere)
      }
      socket.on('connect', () => finish(true)).on('error', () => finish(false))
    } catch {
      resolve(false)
    }
  })
}
