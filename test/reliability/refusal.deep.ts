import { describe, expect, test, vi } from 'vitest'
import type { ChaosBehaviour } from '../support/chaos-sink.mjs'
import { inScene } from './scene.ts'
import { configure, droppedBy, OK, sinkOf, WORK, workThrough } from './work-through.ts'

vi.setConfig({ maxConcurrency: 5 })

describe.concurrent('a collector that rejects some data', () => {
  const LARGE_BATCHES = { span_batch_schedule_delay_ms: 700, force_flush_on_session_end: false }

  test('counts and reports the rejected spans of a partial success, and does not send them again', () =>
    inScene(async scene => {
      const sink = await sinkOf(scene, { kind: 'sequence', of: [{ kind: 'partial', rejected: 3 }, OK] })
      const host = scene.start({ ...WORK, reportMillis: 250 })
      await host.idle()
      const end = await host.finish()
      const sent = sink.requests.flatMap(({ spanIds }) => spanIds)
      expect(new Set(sent).size, 'sent once').toBe(sent.length)
      expect(sent.length, 'sent').toBe(scene.check(sink).told)
      expect(droppedBy(host)).toBe(sent.length - sink.deliveries.size)
      expect(droppedBy(host)).toBeGreaterThan(0)
      expect(end.stderr.filter(line => /reject/.test(line))).toHaveLength(1)
    })())

  test('loses only the span that makes it reject its whole batch', () =>
    inScene(async scene => {
      // The first request of the first turn.
      const model = 'h0.s0.t0.r1.a0'
      const sink = await scene.sink({ kind: 'poison', name: `api.${model}` })
      configure(scene, sink, {}, LARGE_BATCHES)
      const options = { mayMiss: new Set([`api ${model}`]) }
      const { host } = await workThrough(scene, [sink], WORK, options)
      const { problems, told } = scene.check(sink, options)
      expect({ problems, arrived: sink.deliveries.size, dropped: droppedBy(host) }).toEqual({
        problems: [],
        arrived: told - 1,
        dropped: 1,
      })
    })())

  test('splits requests above its limit', () =>
    inScene(async scene => {
      const sink = await scene.sink({ kind: 'limit', bytes: 10_000 })
      configure(scene, sink, {}, LARGE_BATCHES)
      const { host } = await workThrough(scene, [sink], { ...WORK, hooksPerSecond: 5000 })
      expect(scene.check(sink)).toMatchObject({ problems: [], excusedRepeats: 0 })
      expect(sink.requests.filter(({ answer }) => answer === 413).length).toBeGreaterThan(0)
      expect(droppedBy(host)).toBe(0)
    })())

  test('loses and counts spans above its limit, without a delay', () =>
    inScene(async scene => {
      const sink = await scene.sink({ kind: 'limit', bytes: 10_000 })
      configure(scene, sink, {}, { content_capture: 'full' })
      const host = scene.start({ ...WORK, contentChars: 12_000 })
      const large = (): Set<string> => {
        const results = host.account().witness.filter(({ hook }) => hook === 'post_tool_call')
        return new Set(results.map(({ key }) => key))
      }
      await host.over()
      await sink.until(() => scene.check(sink, { mayMiss: large() }).problems.length === 0, 'the rest')
      await host.finish()
      expect(large().size).toBeGreaterThan(0)
      expect(droppedBy(host)).toBe(large().size)
      expect(scene.check(sink, { mayMiss: large() }).problems).toEqual([])
    })())
})

describe.concurrent('a collector that rejects everything until the user fixes it', () => {
  const TOKEN: ChaosBehaviour = { kind: 'token', header: 'authorization', value: 'Bearer right' }

  const REFUSALS: [string, ChaosBehaviour, object, ChaosBehaviour][] = [
    ['401: the token is wrong', TOKEN, { headers: { authorization: 'Bearer right' } }, TOKEN],
    ['403', { kind: 'status', status: 403 }, {}, OK],
    ['404: the path is wrong', { kind: 'path', path: '/elsewhere/v1/traces' }, {}, OK],
    ['415: it wants protobuf', { kind: 'protobuf only' }, { protocol: 'http/protobuf' }, { kind: 'protobuf only' }],
  ]

  test.for(REFUSALS)('is left alone, and nothing is lost: %s', ([_what, behaviour, mended, after]) =>
    inScene(async scene => {
      const sink = await sinkOf(scene, behaviour)
      const host = scene.start({ ...WORK, turns: 38 })
      await host.over()
      const end = await host.finish()
      expect(sink.requests.length, 'requests in vain').toBeLessThanOrEqual(2)
      expect(end.stderr).toHaveLength(1)
      expect(droppedBy(host)).toBe(0)
      sink.behaviour = after
      configure(scene, sink, mended)
      await scene.successor([sink])
      expect(scene.check(sink)).toMatchObject({ problems: [], excusedRepeats: 0 })
      expect(scene.files('spool')).toEqual([])
    })(),
  )
})
