import { describe, expect, test } from 'vitest'
import { inScene } from './scene.ts'

const TOOLS = 9998
const PROTOCOLS = ['http/json', 'http/protobuf'] as const
/** With the root and the loop. The queue of a backend holds two thousand. */
const SPANS = TOOLS + 2

describe.each(PROTOCOLS)(`${SPANS} spans in one tick over %s`, protocol => {
  test(
    'loses none',
    inScene(async scene => {
      const sink = await scene.sink()
      scene.configure([{ name: 'only', endpoint: sink.url, protocol }], { force_flush_wait_ms: 60_000 })
      const end = await scene.start({ work: 'burst', tools: TOOLS, end: 'natural' }).ended
      expect(end).toMatchObject({ code: 0, stderr: [] })
      expect(scene.check(sink)).toMatchObject({ problems: [], told: SPANS, excusedRepeats: 0 })
      expect(scene.files('spool')).toEqual([])
    }),
  )

  test(
    'loses none while nothing listens; the next process delivers them',
    inScene(async scene => {
      const sink = await scene.sink({ kind: 'down' })
      scene.configure([{ name: 'only', endpoint: sink.url, protocol }])
      const end = await scene.start({ work: 'burst', tools: TOOLS, end: 'natural' }).ended
      expect(end.code).toBe(0)
      expect(end.stderr, 'one line says what is wrong').toHaveLength(1)
      await sink.comeBack()
      await scene.successor([sink])
      const check = scene.check(sink)
      expect(check).toMatchObject({ problems: [], excusedRepeats: 0 })
      expect(check.told, 'with those of the next process').toBeGreaterThan(SPANS)
      expect(scene.files('spool')).toEqual([])
    }),
  )
})

test(
  'loses none when the process exits in the same tick',
  inScene(async scene => {
    const sink = await scene.sink()
    scene.configure([{ name: 'only', endpoint: sink.url, protocol: 'http/protobuf' }])
    const end = await scene.start({ work: 'burst', tools: TOOLS, end: 'exit' }).ended
    expect(end).toMatchObject({ code: 0, stderr: [] })
    await scene.successor([sink])
    expect(scene.check(sink).problems).toEqual([])
  }),
)
