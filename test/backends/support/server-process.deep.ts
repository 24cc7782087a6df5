import { describe, expect, test } from 'vitest'
import { freePorts } from './free-port.ts'
import { type ServerOptions, type ServerProcess, startServer } from './server-process.ts'

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function start(
  script: (port: number) => string,
  patience: Pick<ServerOptions, 'timeoutMillis' | 'graceMillis'> = {},
): Promise<ServerProcess> {
  const [port = 0] = await freePorts(1)
  return startServer({
    program: process.execPath,
    args: ['--eval', script(port)],
    readyUrl: `http://127.0.0.1:${port}/`,
    ...patience,
  })
}

const serving = (port: number, then = ''): string =>
  `require('http').createServer((_, a) => a.end('well')).listen(${port}, '127.0.0.1'); ${then}`

describe('a server of the backend tests', () => {
  test('is ready when it answers, and ended when it is stopped', async () => {
    const server = await start(port => serving(port, "console.log('here I am')"))
    expect(isAlive(server.pid)).toBe(true)
    expect(server.log).toContain('here I am')
    await server.stop()
    expect(isAlive(server.pid)).toBe(false)
    await server.stop()
  })

  test('is reported with its output if it ends at once', async () => {
    const ending = start(() => "console.error('port is taken'); process.exitCode = 3")
    await expect(ending).rejects.toThrow(/ended before it was ready[\s\S]*port is taken/)
  })

  test('is reported if it does not exist', async () => {
    const readyUrl = 'http://127.0.0.1:1/'
    await expect(startServer({ program: '/nowhere/server', readyUrl })).rejects.toThrow(
      /\/nowhere\/server[\s\S]*ENOENT/,
    )
  })

  test('is ended if it never gets ready', async () => {
    const started = start(() => "console.log('pid', process.pid); setInterval(() => 0, 1000)", { timeoutMillis: 1_500 })
    const error: Error = await started.then(
      () => new Error('it was ready'),
      reason => reason,
    )
    expect(error.message).toMatch(/did not answer in 1500 ms[\s\S]*pid \d+/)
    expect(isAlive(Number(/pid (\d+)/.exec(error.message)?.[1]))).toBe(false)
  })

  test('is ended even if it resists', async () => {
    const server = await start(port => serving(port, "process.on('SIGTERM', () => console.log('no'))"), {
      graceMillis: 500,
    })
    await server.stop()
    expect(isAlive(server.pid)).toBe(false)
  })
})

test('has free ports of its own', async () => {
  const ports = await freePorts(8)
  expect(new Set(ports).size).toBe(8)
})
