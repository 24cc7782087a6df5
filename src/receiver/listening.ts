import { rmSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { fileErrorReason, makePrivateDirectory } from '../delivery/trace-log/private-file.ts'
import type { Counts } from './counts.ts'
import type { Limits } from './limits.ts'
import { type Door, openDoor } from './loopback/door.ts'
import { isThere, whyNoSocket } from './place.ts'

export interface Wanted {
  readonly sockets: readonly string[]
  /** The port the user asked for; 0 = any. */
  readonly port: number | undefined
  readonly lastPort: number | undefined
  readonly limits: Limits
  readonly counts: Counts
  listenerFor(port: () => number | undefined): RequestListener
  say(line: string): void
}

const AGAIN_MILLIS = 5

export class Listening {
  readonly port: number
  readonly #wanted: Wanted
  readonly #byPort: Door
  #bySocket: { readonly door: Door; readonly path: string } | undefined
  #isMending = false
  #isShut = false

  /** @throws Error in one line if the requested port cannot be used */
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

  async shut(): Promise<void> {
    this.#isShut = true
    await Promise.all(this.#doors.map(door => door.shut()))
  }

  /** Resolves when every accepted connection has closed. */
  async ended(): Promise<void> {
    await Promise.all(this.#doors.map(({ ended }) => ended))
  }

  /** Recreates the socket if its file is gone, for example because logging out clears the runtime directory. */
  async mend(): Promise<void> {
    const before = this.#bySocket
    if (before === undefined || this.#isMending || isThere(before.path) !== undefined) return
    this.#isMending = true
    // Closes the old server first: libuv removes the file at its path on close, even one that another server made since.
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

/** Retries for a moment: the previous receiver may still hold the port. */
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
      // A missing runtime directory is common if the user has not logged in.
      reasons.push(`${path} cannot be made: ${fileErrorReason(error)}`)
    }
  }
  say(`no socket: ${reasons.join('; ')}. Agents reach this receiver by its port alone`)
  return undefined
}

/** The lock proves that no receiver of this directory runs. A receiver of another directory may use the same socket. */
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
