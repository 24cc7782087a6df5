import { once } from 'node:events'
import { startProgram } from './own-process.mjs'

/** A collector that counts and forgets: see `sink.mjs`. */
export class Sink {
  #child

  static async start(home) {
    const sink = new Sink()
    sink.#child = startProgram('sink.mjs', {}, home)
    const [{ url }] = await once(sink.#child, 'message')
    sink.url = url
    return sink
  }

  async counts() {
    this.#child.send('counts')
    const [counts] = await once(this.#child, 'message')
    return counts
  }

  stop() {
    this.#child.disconnect()
  }
}
