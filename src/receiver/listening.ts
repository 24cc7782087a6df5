import { rmSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { type Door, openDoor } from '../loopback/door.ts'
import { makePrivateDirectory, reason } from '../trace-log/private-place.ts'
import type { Counts } from './counts.ts'
import type { Limits } from './limits.ts'
import { isThere, whyNoSocket } from './place.ts'

export interface Wanted {
  readonly sockets: readonly string[]
  /** What the person has asked for; 0 = whichever. */
  readonly port: number | undefined
  /** What agents may have been told before. */
  readonly lastPort: number | undefined
  readonly limits: Limits
  readonly counts: Counts
  listenerFor(port: () => number | undefined): RequestListener
  say(line: string): void
}

const AGAIN_MILLIS = 5

/** Where a receiver is listened to: a port, and a socket where there can be one. */
export class Listening {
  readonly port: number
  readonly #wanted: Wanted
  readonly #byPort: Door
  #bySocket: { readonly door: Door; readonly path: string } | undefined
  #isMending = false
  #isShut = false

  /** @throws Error in one line when the port that was asked for is not to be had */
  static async start(wanted: Wanted): Promise<Listening> {
    const listening = new Listening(wanted, await openPort(wanted))
    listening.#bySocket = await openSocket(wanted)
    return listening
  }

  private constructor(wanted: Wanted, byPort: Door) {
    this.#wanted = wanted
    this.#byPort = byPort
    this.port = byPort.port ?? 0
  }

  get socket(): string | null {
    return this.#bySocket?.path ?? null
  }

  /** Nobody comes in from now on. */
  async shut(): Promise<void> {
    this.#isShut = true
    await Promise.all(this.#doors.map(door => door.shut()))
  }

  /** Resolves when all are gone who were let in. */
  async ended(): Promise<void> {
    await Promise.all(this.#doors.map(({ ended }) => ended))
  }

  /** Makes the socket anew when its name is gone, as it is where the runtime directory is cleared when its user logs out. */
  async mend(): Promise<void> {
    const before = this.#bySocket
    if (before === undefined || this.#isMending || isThere(before.path) !== undefined) return
    this.#isMending = true
    // First: when a server is closed, the system's library takes away what is at its path, whosever it is by then.
    await before.door.shut()
    if (this.#isShut) return
    this.#bySocket = await openSocket(this.#wanted)
    if (this.#isShut) await this.#bySocket?.door.shut()
    this.#isMending = false
  }

  get #doors(): Door[] {
    return this.#bySocket === undefined ? [this.#byPort] : [this.#bySocket.door, this.#byPort]
  }
}

async function openPort(wanted: Wanted): Promise<Door> {
  const { port, lastPort, say } = wanted
  const first = port ?? lastPort ?? 0
  try {
    return await onceFree(first, wanted)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = `cannot be used: ${whyNoPort(code, message)}`
    if (port !== undefined) throw new Error(`port ${port} ${why}`, { cause: error })
    const door = await openDoor({ port: 0 }, wanted.listenerFor, wanted.limits, wanted.counts)
    const then = `until then this receiver has ${door.port}, and agents that send by HTTP have to be told by "hookspan init"`
    say(`port ${first}, which agents may have been told, ${why}; ${then}`)
    return door
  }
}

function whyNoPort(code: string | undefined, message: string): string {
  if (code === 'EADDRINUSE') return 'another program listens there; choose another with --port, or 0 for any'
  if (code === 'EACCES') return 'this user may not listen there; choose one above 1023 with --port, or 0 for any'
  return message
}

/** The receiver before us may hold it for a moment longer. */
async function onceFree(port: number, { limits, counts, listenerFor }: Wanted): Promise<Door> {
  const until = performance.now() + (port === 0 ? 0 : limits.patienceMillis / 5)
  for (;;) {
    try {
      return await openDoor({ port }, listenerFor, limits, counts)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || performance.now() > until) throw error
      await new Promise(resolve => setTimeout(resolve, AGAIN_MILLIS))
    }
  }
}

async function openSocket(wanted: Wanted): Promise<{ door: Door; path: string } | undefined> {
  if (process.platform === 'win32') return undefined
  const { limits, counts, listenerFor, say } = wanted
  const reasons: string[] = []
  const odd: string[] = []
  for (const path of wanted.sockets) {
    try {
      makePrivateDirectory(dirname(path), say)
      const why = whyNoSocket(path) ?? (await whyTaken(path))
      if (why === undefined) {
        rmSync(path, { force: true })
        const door = await openDoor({ path }, listenerFor, limits, counts)
        if (odd.length > 0) say(`${odd.join('; ')}. The socket is ${path} instead`)
        return { door, path }
      }
      reasons.push(why)
      odd.push(why)
    } catch (error) {
      // That there is no runtime directory is common, where nobody has logged in.
      reasons.push(`${path} cannot be made: ${reason(error)}`)
    }
  }
  say(`no socket: ${reasons.join('; ')}. Agents reach this receiver by its port alone`)
  return undefined
}

/** The lock says that no receiver of this directory runs; but one of another directory may have the same socket. */
async function whyTaken(path: string): Promise<string | undefined> {
  if (isThere(path) === undefined) return undefined
  const isTaken = await new Promise<boolean>(resolve => {
    const socket = connect(path)
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
  return isTaken ? `another receiver listens at ${path}, with another XDG_STATE_HOME` : undefined
}
