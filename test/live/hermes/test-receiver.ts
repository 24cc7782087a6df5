import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterAll } from 'vitest'

/** One hook, as the plugin in Hermes has told it. */
export interface Recorded {
  readonly hook: string
  readonly at: number
  readonly payload: Readonly<Record<string, unknown>>
}

interface Told extends Recorded {
  readonly delivery_id: string
}

/** Stands in the place of the receiver of a home, and keeps all that it is told. */
export class TestReceiver {
  readonly #spool: string
  readonly #told: Told[] = []

  /** @param home in which nobody looks for a receiver yet */
  constructor(home: string) {
    const directory = join(home, '.local', 'state', 'hookspan', 'receiver')
    this.#spool = join(directory, 'spool')
    // In the place of a file: so no other receiver is started, should we once answer too late.
    mkdirSync(join(directory, 'starting'), { recursive: true, mode: 0o700 })
    const socket = join(home, 'receiver.sock')
    const server = createServer((request, response) => {
      let text = ''
      request.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      request.on('end', () => {
        for (const line of text.split('\n')) this.#told.push(JSON.parse(line) as Told)
        response.writeHead(204).end()
      })
    })
    server.listen(socket)
    afterAll(() => {
      server.close()
      server.closeAllConnections()
    })
    writeFileSync(join(directory, 'token'), 'c3'.repeat(32), { mode: 0o600 })
    writeFileSync(join(directory, 'address.json'), JSON.stringify({ socket }), { mode: 0o600 })
  }

  /** All that was told so far, each once, in the order in which it happened. */
  get records(): Recorded[] {
    const names = existsSync(this.#spool) ? readdirSync(this.#spool).filter(name => name.endsWith('.json')) : []
    const spooled = names.map(
      name => (JSON.parse(readFileSync(join(this.#spool, name), 'utf8')) as { body: Told }).body,
    )
    const once = new Map([...this.#told, ...spooled].map(told => [told.delivery_id, told]))
    return [...once.values()]
      .toSorted((one, other) => one.at - other.at)
      .map(({ hook, at, payload }) => ({ hook, at, payload }))
  }
}
