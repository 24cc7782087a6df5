import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createAgent } from '../../../src/delivery/pipeline/otlp-sender.ts'
import { backend, Lines, openPipeline, recordSpans, scratchDirectory, startSink } from './pipeline-fixture.ts'

test('keeps connections alive and trusts a custom certificate authority', () => {
  expect(createAgent('http://host.test/v1/traces', {})).toBeInstanceOf(HttpAgent)
  const authority = Buffer.from('PEM')
  const agent = createAgent('https://host.test/v1/traces', { ca: authority }) as HttpsAgent
  expect(agent).toBeInstanceOf(HttpsAgent)
  expect(agent.options).toMatchObject({ keepAlive: true, ca: authority })
})

test('reports an unreadable certificate and still uses the backend', async () => {
  const sink = await startSink()
  const lines = new Lines()
  const certificate = join(await scratchDirectory(), 'ca.pem')
  const pipeline = openPipeline({ backends: [backend('otlp', sink.url, { certificate })] }, lines)
  recordSpans(pipeline, 'one')
  await pipeline.flush()
  expect(sink.spanNames).toEqual(['one'])
  expect(lines.said).toEqual([
    `backend otlp: certificate ${certificate} cannot be read (ENOENT); it is left out. Correct certificate`,
  ])
})
