import { afterEach, beforeEach, expect, test } from 'vitest'
import { spansOf } from '../../../src/delivery/trace-log/span-line.ts'
import { until } from '../../support/until.ts'
import { breakDisk, failure, mend, noFaults } from './broken-disk.ts'
import { FakeServer, openScene, scratch, status } from './spooled-queue.ts'

const faults = noFaults()
breakDisk(faults)

const down = status(503)
const SOON = { pauseScale: 0.000_5 }

beforeEach(() => {
  Object.assign(faults, noFaults())
})
afterEach(() => mend(faults))

/** Behind so many times that it can be, the log cannot be opened so many times; that is not found out before `when`. */
function unreadable(times: number, after = 0, when: Promise<void> = Promise.resolve()): void {
  let opens = 0
  faults.onOpen = path => {
    if (!path.endsWith('.jsonl')) return undefined
    opens++
    if (opens <= after || opens > after + times) return undefined
    return when.then(() => {
      throw failure('EMFILE')
    })
  }
}

/** What a process that begins after it finds and sends. */
async function deliverRest(directory: string, servers: Record<string, FakeServer>): Promise<void> {
  const next = openScene(servers, { directory })
  await next.store.recover(() => undefined)
  await Promise.all(next.queues.map(queue => queue.drainRecovered()))
  await next.close()
}

test('leaves spans after an unreadable part to the next process, once', async () => {
  const server = new FakeServer(down)
  const scene = openScene({ one: server }, SOON)
  scene.record('one')
  await scene.flush()
  scene.record('two')
  await scene.flush()
  unreadable(3)
  server.answer = () => ({ lost: 0 })
  await until(() => scene.lines.said.some(line => line.includes('cannot be read')))
  scene.record('three')
  await scene.flush()
  await scene.close()
  await deliverRest(scene.directory, { one: server })
  expect([...server.taken].sort()).toEqual(['one', 'three', 'two'])
})

test('does not release a segment while spans of it are in flight to another backend', async () => {
  const directory = scratch()
  const servers = { one: new FakeServer(down), two: new FakeServer(down) }
  const first = openScene(servers, { directory })
  first.record('left behind')
  await first.close()

  let answer = (): void => undefined
  const asked = new Promise<void>(resolve => {
    const answered = new Promise<void>(done => {
      answer = done
    })
    for (const server of Object.values(servers)) {
      server.export = async lines => {
        server.taken.push(...spansOf(lines).map(span => span.name))
        resolve()
        await answered
        return { lost: 0 }
      }
    }
  })
  // It is opened to see where it was meant to go, and then by one of them, whichever is first: given back before that one has read
  // it, it would be for the next process.
  unreadable(3, 2, asked)
  const second = openScene(servers, { directory, ...SOON })
  await second.store.recover(() => undefined)
  await asked
  await until(() => second.lines.said.some(line => line.includes('cannot be read')))
  expect(second.spool().every(name => !name.includes('free'))).toBe(true)
  answer()
  await until(() => second.spool().some(name => name.includes('free')))
  await second.close()
  await deliverRest(directory, servers)
  expect(servers.one.taken).toEqual(['left behind'])
  expect(servers.two.taken).toEqual(['left behind'])
})
