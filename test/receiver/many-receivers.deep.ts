import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readAddress } from '../../src/receiver/address.ts'
import { Peer } from '../../src/receiver/peer.ts'
import { type Place, placeOf, readToken } from '../../src/receiver/place.ts'
import type { Told } from '../../src/receiver/recorder.ts'
import { afterwards } from '../support/afterwards.ts'
import { until } from '../support/until.ts'
import { toldOf, twoTurns } from './scenario.ts'
import { once, treesOf, World } from './world.ts'

const PROGRAM = fileURLToPath(new URL('serving-program.mjs', import.meta.url))
const EVENTS = toldOf(twoTurns())

/** A home in which an agent works, and receivers come and go. */
class Home {
  readonly #world: World
  readonly #place: Place
  #receiver: { readonly child: ChildProcess; readonly ended: Promise<unknown> } | undefined
  #version = 0
  #spooled = 0

  constructor(world: World) {
    this.#world = world
    this.#place = placeOf(world.env, world.home)
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
    if (signal === 'SIGKILL') await until(() => this.#isAtRest())
    this.#receiver?.child.kill(signal)
    await this.#receiver?.ended
    this.#receiver = undefined
  }

  async stop(): Promise<void> {
    await this.#peer()?.stop()
    await this.#receiver?.ended
  }

  /** As an agent's hook does: to the receiver, and into the spool where that does not take it. */
  async tell({ id, event }: Told): Promise<void> {
    const { event: hook, at, data: payload, context } = event
    const body = { hook, at, payload, ...(context as object) }
    if ((await this.#send(JSON.stringify(body), String(id)).catch(() => 0)) === 204) return
    const number = (this.#spooled++).toString(16).padStart(8, '0')
    mkdirSync(this.#place.spool, { recursive: true, mode: 0o700 })
    const text = JSON.stringify({ path: '/v1/hooks', at, id, body })
    writeFileSync(join(this.#place.spool, `${at}-1-${number}.json`), text, { mode: 0o600 })
  }

  async #isAtRest(): Promise<boolean> {
    const health = await this.#peer()?.health()
    return health?.waiting === 0 && (health.recorder as { waiting: number }).waiting === 0
  }

  #peer(): Peer | undefined {
    const [address, token] = [readAddress(this.#place), readToken(this.#place)]
    return address && token !== undefined ? new Peer(address, token) : undefined
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

/** What happens before the event of that number. */
type Plan = Readonly<Record<number, (home: Home) => Promise<void>>>

async function told(plan: Plan, settings: object): Promise<World> {
  const world = await World.create({ ...settings })
  const home = new Home(world)
  await home.start()
  for (const [index, event] of EVENTS.entries()) {
    await plan[index]?.(home)
    await home.tell(event)
  }
  await home.stop()
  return world
}

const TITLE = 'newer receivers, killed ones, ended ones and none at all: the traces are those of one that is left alone'

test.each([{}, { keep: { rate: 1 } }])(`${TITLE} (%j)`, async settings => {
  const alone = await told({}, settings)
  const plan: Plan = {
    3: home => home.start(),
    6: home => home.end('SIGKILL'),
    8: home => home.start(),
    12: home => home.end('SIGTERM'),
    15: home => home.start(),
    20: home => home.start(),
  }
  const troubled = await told(plan, settings)
  expect(treesOf(troubled.logged)).toBe(treesOf(alone.logged))
  expect(treesOf(once(troubled.collected))).toBe(treesOf(alone.logged))
  expect(treesOf(alone.logged)).toContain('hermes.turn.final_status=completed')
})
