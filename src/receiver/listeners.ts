import { once } from 'node:events'
import { rmSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { fileErrorReason, makePrivateDirectory } from '../delivery/trace-log/private-file.ts'
import type { ReceiverLimits } from './limits.ts'
import { type LoopbackListener, openListener } from './loopback/listener.ts'
import { fileKind, socketPathProblem } from './receiver-files.ts'
import type { ReceiverCounts } from './refusal.ts'

export interface ListenOptions {
  readonly sockets: readonly string[]
  /** The port the user asked for; 0 = any. */
  readonly port: number | undefined
  readonly lastPort: number | undefined
  readonly limits: ReceiverLimits
  readonly counts: ReceiverCounts
  listenerFor(port: () => number | undefined): RequestListener
  say(line: string): void
  sayOnce(line: string): void
}

const AGAIN_MILLIS = 5

export class ReceiverListeners {
  readonly port: number
  readonly #options: ListenOptions
  readonly #byPort: LoopbackListener
  #bySocket: { readonly door: LoopbackListener; readonly path: string } | undefined
  #isRestoring = false
  #isSocketLost = false
  #isClosed = false

  static async start(options: ListenOptions): Promise<ReceiverListeners> {
    const listeners = new ReceiverListeners(options, await openPort(options))
    listeners.#bySocket = await openSocket(options)
    return listeners
  }

  private constructor(options: ListenOptions, byPort: LoopbackListener) {
    this.#options = options
    this.#byPort = byPort
    this.port = byPort.port ?? 0
  }

  get socket(): string | null {
    return this.#bySocket?.path ?? null
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#listeners.map(door => door.close()))
  }

  async whenEnded(): Promise<void> {
    await Promise.all(this.#listeners.map(({ ended }) => ended))
  }

  /** Recreates the socket if its file is gone, for example because logging out clears the runtime directory. */
  async restoreSocket(): Promise<void> {
    const before = this.#bySocket
    const isGone = before === undefined ? this.#isSocketLost : fileKind(before.path) === undefined
    if (!isGone || this.#isRestoring) return
    this.#isRestoring = true
    // Closes the old server first: libuv removes the file at its path on close, even one that another server made since.
    await before?.door.close()
    if (this.#isClosed) return
    this.#bySocket = await openSocket({ ...this.#options, say: this.#options.sayOnce })
    this.#isSocketLost = this.#bySocket === undefined
    if (this.#isClosed) await this.#bySocket?.door.close()
    this.#isRestoring = false
  }

  get #listeners(): LoopbackListener[] {
    return this.#bySocket === undefined ? [this.#byPort] : [this.#bySocket.door, this.#byPort]
  }
}

async function openPort(options: ListenOptions): Promise<LoopbackListener> {
  const { port, lastPort, say } = options
  const first = port ?? lastPort ?? 0
  try {
    return await openWhenFree(first, options)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const why = `cannot be used: ${PORT_PROBLEMS[code] ?? message}`
    if (port !== undefined) throw new Error(`port ${port} ${why}`, { cause: error })
    const door = await openListener({ port: 0 }, options.listenerFor, options.limits, options.counts)
    const then = `until then this receiver has ${door.port}, and agents that send by HTTP have to be told by "hookspan init"`
    say(`port ${first}, which agents may be configured with, ${why}; ${then}`)
    return door
  }
}

const PORT_PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there; choose another with --port, or 0 for any',
  EACCES: 'this user may not listen there; choose one above 1023 with --port, or 0 for any',
}

/** Retries for a moment: the previous receiver may still hold the port. */
async function openWhenFree(port: number, { limits, counts, listenerFor }: ListenOptions): Promise<LoopbackListener> {
  const until = performance.now() + (port === 0 ? 0 : limits.patienceMillis / 5)
  for (;;) {
    try {
      return await openListener({ port }, listenerFor, limits, counts)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || performance.now() > until) throw error
      await new Promise(resolve => setTimeout(resolve, AGAIN_MILLIS))
    }
  }
}

async function openSocket(options: ListenOptions): Promise<{ door: LoopbackListener; path: string } | undefined> {
  if (process.platform === 'win32') return undefined
  const { limits, counts, listenerFor, say } = options
  const reasons: string[] = []
  const odd: string[] = []
  for (const path of options.sockets) {
    try {
      makePrivateDirectory(dirname(path), say)
      const why = socketPathProblem(path) ?? (await inUseProblem(path))
      if (why === undefined) {
        rmSync(path, { force: true })
        const door = await openListener({ path }, listenerFor, limits, counts)
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
async function inUseProblem(path: string): Promise<string | undefined> {
  if (fileKind(path) === undefined) return undefined
  const socket = connect(path)
  const connected = await once(socket, 'connect').catch(() => undefined)
  socket.destroy()
  return connected && `another receiver listens at ${path}, with another XDG_STATE_HOME`
}
