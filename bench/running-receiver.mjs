import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { inScratch, startProgram } from './own-process.mjs'

/** Longer than a span waits until it is written. */
const LOOK_MILLIS = 200

/** A receiver of its own home, for as long as it is measured: see `command-process.mjs`. */
export function withReceiver(measure) {
  return inScratch(async home => {
    const child = startProgram('command-process.mjs', ['serve', '--port', '0'], home)
    child.stderr.pipe(process.stderr)
    try {
      await once(child.stdout, 'data')
      return await measure(new RunningReceiver(child, home))
    } finally {
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
    }
  })
}

class RunningReceiver {
  #child

  constructor(child, home) {
    this.#child = child
    this.home = home
    const directory = join(home, 'state', 'hookspan', 'receiver')
    this.token = readFileSync(join(directory, 'token'), 'utf8').trim()
    this.port = JSON.parse(readFileSync(join(directory, 'address.json'), 'utf8')).port
  }

  /** CPU time of all threads so far, and resident memory. */
  async taken() {
    this.#child.send('taken')
    const [taken] = await once(this.#child, 'message')
    return taken
  }

  /** What it says of itself, once nothing waits any more, and all is written. */
  async rested() {
    for (;;) {
      await pause(LOOK_MILLIS)
      const headers = { 'x-hookspan-token': this.token }
      const health = await (await fetch(`http://127.0.0.1:${this.port}/healthz`, { headers })).json()
      if (health.waiting + health.recorder.waiting > 0) continue
      await pause(LOOK_MILLIS)
      return health
    }
  }
}
