import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { ExportResult, SpanSink } from '../../../src/delivery/pipeline/delivery.ts'
import { type SpanLine, spansOf } from '../../../src/delivery/trace-log/span-line.ts'
import { always, type Faults, failure } from './broken-disk.ts'
import { type Answer, openScene, type Scene, scratch, status, TAKEN } from './spooled-queue.ts'

/** How a server answers. A name with `!` in it is a span that it cannot bear. */
export type Mood = 'well' | 'down' | 'unreachable' | 'silent' | 'small' | 'picky' | 'wrongKey'

export const ANSWERS: Readonly<Record<Mood, Answer>> = {
  well: TAKEN,
  down: status(503),
  unreachable: spans => ({ lost: spans.length, failure: { kind: 'network', code: 'ECONNREFUSED' } }),
  silent: spans => ({ lost: spans.length, failure: { kind: 'timeout', afterMillis: 1 } }),
  small: spans => (spans.length > 3 ? status(413)(spans) : { lost: 0 }),
  picky: spans => (spans.some(name => name.includes('!')) ? status(400)(spans) : { lost: 0 }),
  wrongKey: status(401),
}

/** Lives longer than the processes that send to it. */
class Server {
  mood: Mood = 'well'
  turns = 1
  readonly taken: string[] = []

  /** As one process reaches it, until that process is killed. */
  link(): SpanSink & { isCut: boolean } {
    const link = {
      isCut: false,
      export: async (lines: readonly SpanLine[]): Promise<ExportResult> => {
        const names = spansOf(lines).map(({ name }) => withoutPadding(name))
        for (let turn = 0; turn < this.turns; turn++) await new Promise(setImmediate)
        if (link.isCut) return { lost: names.length, failure: { kind: 'network', code: 'ECONNRESET' } }
        const delivery = ANSWERS[this.mood](names)
        if (delivery.failure === undefined) this.taken.push(...names)
        return delivery
      },
      close: () => Promise.resolve(),
    }
    return link
  }
}

/** Looks at no more of the padding than its beginning: `trimEnd` of thousands of names took a tenth of a run. */
function withoutPadding(name: string): string {
  const end = name.indexOf('  ')
  return end === -1 ? name.trimEnd() : name.slice(0, end)
}

export type Step =
  | { readonly do: 'record'; readonly count: number; readonly size: number; readonly isOdd: boolean }
  | { readonly do: 'start' | 'end' | 'save' | 'flush' | 'hold' | 'letGo' | 'restart' | 'exit' | 'kill' }
  | { readonly do: 'wait'; readonly millis: number }
  | { readonly do: 'mood'; readonly server: 0 | 1; readonly mood: Mood; readonly turns: number }
  | { readonly do: 'disk'; readonly isFull: boolean }
  | { readonly do: 'unreadable'; readonly times: number }
  | { readonly do: 'race'; readonly counts: readonly number[] }

const BATCH = { maxQueueSize: 24, maxExportBatchSize: 8, scheduleDelayMillis: 1 }

export class World {
  readonly servers: readonly [Server, Server] = [new Server(), new Server()]
  readonly ended: string[] = []
  /** Of each process. */
  readonly endedIn: string[][] = []
  /** Ended or noted as open, and written since. */
  readonly safe: Set<string> = new Set<string>()
  crashed = 0
  #directory: string = scratch()
  readonly #faults: Faults
  readonly #maxBytes: number
  #links = this.servers.map(server => server.link())
  #open = new Map<string, { end(): void }>()
  #count = 0
  #dropped = [0, 0]
  #arrived = [0, 0]
  scene: Scene

  constructor(faults: Faults, maxBytes: number) {
    this.#faults = faults
    this.#maxBytes = maxBytes
    this.scene = this.#begin()
  }

  async run(step: Step): Promise<void> {
    switch (step.do) {
      case 'record':
        return this.#record(step)
      case 'start': {
        const name = `open ${this.#count++}`
        this.#open.set(name, this.scene.start(name))
        return
      }
      case 'end':
        return this.#endOne()
      case 'save':
        this.scene.store.traceLog.flushSync()
        return this.#isSafe()
      case 'flush':
        this.#letGo()
        await this.scene.flush()
        return this.#isSafe()
      case 'wait':
        await new Promise(resolve => setTimeout(resolve, step.millis))
        return
      case 'mood':
        Object.assign(this.servers[step.server], { mood: step.mood, turns: step.turns })
        return
      case 'disk':
        return this.#disk(step.isFull)
      case 'unreadable':
        return this.#makeUnreadable(step.times)
      case 'hold':
        this.#faults.held ??= []
        return
      case 'letGo':
        return this.#letGo()
      case 'race':
        return this.#race(step.counts)
      case 'restart':
        return this.#restart()
      case 'exit':
        return this.#exit()
      case 'kill':
        return this.#kill()
    }
  }

  /** Everything becomes well. Resolves when nothing is owed any more. */
  async finish(): Promise<void> {
    for (const server of this.servers) Object.assign(server, { mood: 'well', turns: 1 })
    this.#letGo()
    this.#disk(false)
    this.#faults.onOpen = () => undefined
    for (let tries = 0; tries < 3; tries++) {
      await this.#restart()
      await this.scene.store.recover(crashed => {
        for (const { spans } of crashed) this.crashed += spans
      })
      await Promise.all(this.scene.queues.map(queue => queue.drainRecovered()))
    }
    for (const name of this.#open.keys()) this.#end(name)
    await this.scene.flush()
    await this.#close()
  }

  dropped(server: 0 | 1): number {
    return this.#dropped[server] as number
  }

  arrived(server: 0 | 1): number {
    return this.#arrived[server] as number
  }

  #record({ count, size, isOdd }: Step & { do: 'record' }): void {
    const names = Array.from({ length: count }, (_, index) => `${this.#count++}${isOdd && index === 1 ? '!' : ''}`)
    this.scene.record(...names.map(name => name.padEnd(size)))
    this.#ended(...names)
  }

  #ended(...names: string[]): void {
    this.ended.push(...names)
    this.endedIn.at(-1)?.push(...names)
  }

  /** Writes at once while a write is under way in another thread, which comes back later. */
  async #race(counts: readonly number[]): Promise<void> {
    this.#faults.held ??= []
    this.#record({ do: 'record', count: 1, size: 0, isOdd: false })
    await new Promise(resolve => setTimeout(resolve, 8))
    for (const count of counts) {
      this.scene.store.traceLog.flushSync()
      this.#record({ do: 'record', count, size: 0, isOdd: false })
    }
    this.#letGo()
  }

  #endOne(): void {
    const [name] = this.#open.keys()
    if (name !== undefined) this.#end(name)
  }

  #end(name: string): void {
    this.#open.get(name)?.end()
    this.#open.delete(name)
    this.#ended(name)
  }

  #disk(isFull: boolean): void {
    const fails = isFull ? always('ENOSPC') : () => undefined
    Object.assign(this.#faults, { onWrite: fails, onWriteNow: fails, onSave: fails })
  }

  #makeUnreadable(times: number): void {
    let left = times
    this.#faults.onOpen = path => {
      if (path.endsWith('.jsonl') && left-- > 0) throw failure('EMFILE')
    }
  }

  #letGo(): void {
    const held = this.#faults.held ?? []
    this.#faults.held = undefined
    for (const write of held) write()
  }

  #begin(): Scene {
    const [one, two] = this.#links
    const scene = openScene(
      { one: one as SpanSink, two: two as SpanSink },
      { directory: this.#directory, batch: BATCH, maxBytes: this.#maxBytes, pauseScale: 0.000_02 },
    )
    this.endedIn.push([])
    void scene.store.recover(crashed => {
      for (const { spans } of crashed) this.crashed += spans
    })
    return scene
  }

  async #restart(): Promise<void> {
    this.#letGo()
    for (const name of [...this.#open.keys()]) this.#end(name)
    await this.#close()
    this.scene = this.#begin()
  }

  #isSafe(): void {
    for (const name of [...(this.endedIn.at(-1) ?? []), ...this.#open.keys()]) this.safe.add(name)
  }

  async #close(): Promise<void> {
    await this.scene.close()
    this.#isSafe()
    this.#account()
  }

  #account(): void {
    this.scene.queues.forEach((queue, index) => {
      const { delivered, recovered, dropped, queued, spooled } = queue.counts()
      expect(Math.min(delivered, recovered, dropped, queued, spooled)).toBeGreaterThanOrEqual(0)
      expect(queued).toBe(0)
      this.#dropped[index] = (this.#dropped[index] as number) + dropped
      this.#arrived[index] = (this.#arrived[index] as number) + delivered + recovered
    })
  }

  /** `process.exit()`. */
  async #exit(): Promise<void> {
    for (const name of [...this.#open.keys()]) this.#end(name)
    this.scene.store.traceLog.shutdownSync()
    for (const queue of this.scene.queues) queue.abandonNow()
    this.scene.store.release()
    for (const link of this.#links) link.isCut = true
    this.#letGo()
    const over = this.scene
    await Promise.all(over.queues.map(queue => queue.abandon()))
    await over.store.stop()
    over.store.release()
    this.#account()
    this.#links = this.servers.map(server => server.link())
    this.scene = this.#begin()
  }

  /** SIGKILL: what lies on the disk in this moment is all there is. */
  async #kill(): Promise<void> {
    for (const link of this.#links) link.isCut = true
    const state = scratch()
    for (const room of ['traces', 'spool']) {
      mkdirSync(join(state, room))
      for (const name of namesIn(join(this.#directory, room))) {
        const left = name.replace(/\.[^.]+\.json$/, '.free.json')
        writeFileSync(join(state, room, left), readFileSync(join(this.#directory, room, name)))
      }
    }
    const over = this.scene
    // What was not written by now never was.
    for (const span of this.#open.values()) span.end()
    this.#open.clear()
    this.#letGo()
    await over.close()
    this.#directory = state
    this.#links = this.servers.map(server => server.link())
    this.scene = this.#begin()
  }
}

export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}
