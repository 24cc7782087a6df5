import { Writable } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { attachHost } from '../../src/agents/attach.ts'
import { toStandardError } from '../../src/guards/hook.ts'
import type { PluginOptions } from '../../src/index.ts'
import { freshHostsEachTest } from '../agents/fresh-hosts.ts'

freshHostsEachTest()

/** Runs it while nobody reads standard error: each write fails with an error event, which ends a process without a listener. */
async function unread(run: () => void): Promise<Writable> {
  const written = vi.fn()
  const broken = new Writable({
    write: (chunk, _encoding, done) => {
      written(String(chunk))
      done(new Error('nobody reads it'))
    },
  })
  const stderr = vi.spyOn(process, 'stderr', 'get').mockReturnValue(broken as unknown as typeof process.stderr)
  run()
  stderr.mockRestore()
  await new Promise(resolve => broken.once('close', resolve))
  await new Promise(setImmediate)
  expect(written).toHaveBeenCalledOnce()
  return broken
}

test("survives a hook's line without a reader", async () => {
  expect((await unread(() => toStandardError('a line'))).listenerCount('error')).toBe(0)
})

test("survives a host's line without a reader", async () => {
  const machine = {
    accept: () => {
      throw new Error('broken')
    },
    end: () => [],
  }
  const options: PluginOptions = { local_log: false, prometheus: false }
  const broken = await unread(() => {
    const attachment = attachHost('pi', () => machine, options)
    attachment.handleEvent({ event: 'any' })
  })
  expect(broken.listenerCount('error')).toBe(0)
})
