import { Server } from 'node:http'
import { expect, test, vi } from 'vitest'
import { countPoint, freePort, Lines, openPipeline, startSink } from './pipeline-fixture.ts'

async function scraped(url: string): Promise<Response> {
  for (;;) {
    try {
      return await fetch(url)
    } catch {
      await new Promise(setImmediate)
    }
  }
}

test('serves the metrics for scraping', async () => {
  const port = await freePort()
  const pipeline = openPipeline({ prometheus: { host: '127.0.0.1', port } })
  countPoint(pipeline, 'hermes.sessions')
  const response = await scraped(`http://127.0.0.1:${port}/metrics`)
  expect(response.headers.get('content-type')).toContain('text/plain')
  const text = await response.text()
  expect(text).toMatch(/^hermes_sessions_total\{.*\} 1$/m)
  expect(text).toContain('service_name="test-agent"')
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404)
  await pipeline.shutdown()
  await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow()
})

test('reports a port in use in one line', async () => {
  const other = await startSink()
  const lines = new Lines()
  const port = Number(new URL(other.url).port)
  const said = new Promise<void>(resolve => {
    lines.warn = line => {
      lines.warnings.push(line)
      resolve()
    }
  })
  const pipeline = openPipeline({ prometheus: { host: '127.0.0.1', port } }, lines)
  await said
  countPoint(pipeline, 'points')
  await pipeline.flush()
  await pipeline.shutdown()
  expect(lines.said).toEqual([
    expect.stringMatching(
      /^prometheus: nothing is served at http:\/\/127\.0\.0\.1:\d+\/metrics: the port is in use.*\(EADDRINUSE\)/,
    ),
  ])
})

test("hides a scrape from instrumentation of the host's servers", async () => {
  const { emit } = Server.prototype
  const told: string[] = []
  const watching = vi.spyOn(Server.prototype, 'emit').mockImplementation(function (this: Server, ...said: unknown[]) {
    told.push(String(said[0]))
    return Reflect.apply(emit, this, said)
  })
  const port = await freePort()
  const pipeline = openPipeline({ prometheus: { host: '127.0.0.1', port } })
  countPoint(pipeline, 'hermes.sessions')
  expect((await scraped(`http://127.0.0.1:${port}/metrics`)).status).toBe(200)
  expect(told).not.toContain('request')
  await pipeline.shutdown()
  watching.mockRestore()
})
