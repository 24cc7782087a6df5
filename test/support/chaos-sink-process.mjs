import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('chaos-sink-program.mjs', import.meta.url))
const POLL_MILLIS = 50

export class ChaosSinkProcess {
  #child
  #waiting = new Map()
  #next = 0
  url = ''

  static async start(behaviour = { kind: 'ok' }, options = {}) {
    const sink = new ChaosSinkProcess()
    sink.#child = fork(PROGRAM, [JSON.stringify([behaviour, options])], { serialization: 'advanced', execArgv: [] })
    const [{ url }] = await once(sink.#child, 'message')
    sink.url = url
    sink.#child.on('message', ({ id, result }) => {
      sink.#waiting.get(id)?.resolve(result)
      sink.#waiting.delete(id)
    })
    sink.#child.on('exit', () => {
      for (const { reject } of sink.#waiting.values()) reject(new Error('the process of the sink has ended'))
      sink.#waiting.clear()
    })
    return sink
  }

  get pid() {
    return this.#child.pid
  }

  behave(behaviour) {
    return this.#ask('behave', behaviour)
  }

  goDown() {
    return this.#ask('goDown')
  }

  comeBack() {
    return this.#ask('comeBack')
  }

  play(steps) {
    return this.#ask('play', steps)
  }

  counts() {
    return this.#ask('counts')
  }

  accepted(from = 0) {
    return this.#ask('accepted', from)
  }

  requests(from = 0) {
    return this.#ask('requests', from)
  }

  deliveries() {
    return this.#ask('deliveries')
  }

  async until(is, what = 'something', millis = 45_000) {
    const deadlineAt = performance.now() + millis
    for (;;) {
      const counts = await this.counts()
      if (is(counts)) return
      if (performance.now() > deadlineAt) {
        throw new Error(`waited ${millis} ms for ${what}; ${counts.requests} requests, ${counts.spans} spans came`)
      }
      await new Promise(resolve => setTimeout(resolve, POLL_MILLIS))
    }
  }

  async stop() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.disconnect()
    await ended
  }

  #ask(command, argument) {
    return new Promise((resolve, reject) => {
      const id = this.#next++
      this.#waiting.set(id, { resolve, reject })
      this.#child.send({ id, command, argument }, error => {
        if (!error) return
        this.#waiting.delete(id)
        reject(error)
      })
    })
  }
}
