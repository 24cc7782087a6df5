import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { type ReceiverFiles, readAddress, readToken, receiverFiles } from '../../src/receiver/receiver-files.ts'
import type { ReceivedEvent } from '../../src/receiver/recorder.ts'
import { ReceiverClient } from '../../src/receiver/running-receiver.ts'
import { afterwards } from '../support/afterwards.ts'
import type { World } from './world.ts'

/** Of `serving-program.mjs`. */
const PROGRAM = fileURLToPath(new URL('../../build/test/serving-program.mjs', import.meta.url))

/** A home in which an agent works, and receivers come and go. */
export class Home {
  readonly #world: World
  readonly #place: ReceiverFiles
  #receiver: { readonly child: ChildProcess; readonly ended: Promise<unknown> } | undefined
  #version = 0
  #spooled = 0

  constructor(world: World) {
    this.#world = world
    this.#place = receiverFiles(world.env, world.home)
  }

  /** One that is newer than all before it: it replaces the one that runs, if there is one. */
  async start(): Promise<void> {
    const { env, home } = this.#world
    const version = `1.${this.#version++}.0`
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify({ env, home, version })], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    afterwards(() => child.kill('SIGKILL'))
    const ended = new Promise(resolve => child.once('exit', resolve))
    await new Promise(resolve => child.stdout?.once('data', resolve))
    const before = this.#receiver
    this.#receiver = { child, ended }
    if (before !== undefined) expect(await before.ended).toBe(0)
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#receiver?.child.kill(signal)
    await this.#receiver?.ended
    this.#receiver = undefined
  }

  async stop(): Promise<void> {
    await this.#peer()?.command('stop')
    await this.#receiver?.ended
  }

  /** As an agent's hook does: to the receiver, and into the spool where that does not take it. */
  async tell({ id, event }: ReceivedEvent): Promise<void> {
    const { event: hook, at, data: payload, context } = event
    const body = { hook, at, payload, ...(context as object) }
    if ((await this.#send(JSON.stringify(body), String(id)).catch(() => 0)) === 204) return
    const number = (this.#spooled++).toString(16).padStart(8, '0')
    mkdirSync(this.#place.spool, { recursive: true, mode: 0o700 })
    const text = JSON.stringify({ path: '/v1/hooks', at, id, body })
    writeFileSync(join(this.#place.spool, `${at}-1-${number}.json`), text, { mode: 0o600 })
  }

  #peer(): ReceiverClient | undefined {
    const [address, token] = [readAddress(this.#place), readToken(this.#place)]
    return address && token !== undefined ? new ReceiverClient(address, token) : undefined
  }

  #send(body: string, id: string): Promise<number> {
    const socketPath = readAddress(this.#place)?.socket
    const headers = { 'x-hookspan-token': readToken(this.#place), 'x-hookspan-delivery': id }
    return new Promise((resolve, reject) => {
      if (!socketPath) return reject(new Error('nobody listens'))
      const asking = request({ socketPath, method: 'POST', path: '/v1/hooks', headers, agent: false }, response => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0))
      })
      asking.on('error', reject).end(body)
    })
  }
}
