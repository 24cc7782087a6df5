import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createPluginIn } from '../../src/plugin/create-plugin.ts'
import { OtlpSink } from '../support/otlp-sink.ts'
import { Program } from './program.ts'

const TURNS = 100
const BATCH = 8

test('delivers each span when killed in the middle and run again, and at most one batch twice', async () => {
  const program = new Program()
  const sink = await OtlpSink.start()
  let isHanging = true
  Object.defineProperty(sink, 'behaviour', {
    get: () => (isHanging && sink.requests.length > 3 ? { kind: 'hanging' } : { kind: 'ok' }),
  })
  try {
    const diagnostics = { warn: () => undefined, error: () => undefined, debug: () => undefined }
    const env = { HOOKSPAN_SPAN_BATCH_MAX_EXPORT_BATCH_SIZE: String(BATCH) }
    const plugin = createPluginIn({ host: 'agent' }, { env, home: program.home, isReplay: true, diagnostics })
    for (let turn = 0; turn < TURNS; turn++) {
      const ids = { session_id: 's', turn_id: `t${turn}` }
      plugin.emit('pre_llm_call', { ...ids, model: 'm' })
      plugin.emit('on_session_end', { ...ids, completed: true })
    }
    await plugin.shutdown()
    const args = ['send', '--all', '--backend', `jaeger=${sink.url}`]
    const child = program.spawn(args, { env })
    const killed = new Promise(resolve => child.on('close', resolve))
    await sink.until(() => sink.requests.length >= 4)
    child.kill('SIGKILL')
    await killed
    expect(sink.spanNames.length).toBeLessThan(2 * TURNS)
    isHanging = false
    const again = await program.run(args, { env })
    expect(again, again.stderr).toMatchObject({ code: 0 })
    const spanIds = sink.requests.flatMap(({ records }) => records.map(({ spanId }) => spanId))
    expect(new Set(spanIds).size).toBe(2 * TURNS)
    expect(spanIds.length - 2 * TURNS).toBeLessThanOrEqual(BATCH)
    expect(readdirSync(join(program.home, '.local', 'state', 'hookspan', 'spool'))).toEqual([])
  } finally {
    await sink.stop()
    program.remove()
  }
})
