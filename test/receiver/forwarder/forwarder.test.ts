import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { readInput } from '../../../src/receiver/forwarder/forward.ts'
import { REPOSITORY } from '../../cli/program.ts'
import { until } from '../../support/until.ts'
import { type Ended, HOSTILE, names, run, Scene, TOKEN } from './scene.ts'

const TAKEN = 'HTTP/1.1 204 No Content\r\n\r\n'
const EVENT = '{"hook_event_name":"Stop","session_id":"s1"}'
const QUIET: Ended = { code: 0, printed: '', brokenPipe: false }
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

/** Head and body of a request. */
function parsed(request: string | undefined): { head: string; body: string } {
  const [head = '', body = ''] = (request ?? '').split('\r\n\r\n')
  return { head, body }
}

test('is one file, which needs only Node', () => {
  const text = readFileSync(join(REPOSITORY, 'dist', 'hook.cjs'), 'utf8')
  const imported = [...text.matchAll(/(?:require|import)\("([^"]+)"/g)].map(([, name]) => name)
  expect(imported.filter(name => !name?.startsWith('node:'))).toEqual([])
  expect(imported).toContain('node:net')
})

describe('a receiver that listens', () => {
  test("gets the agent's data and time, under an id", async () => {
    const scene = new Scene()
    const requests = await scene.listen(TAKEN)
    const before = Date.now()
    expect(await scene.fire({ input: EVENT, isPatient: true })).toEqual(QUIET)
    const { head, body } = parsed(requests[0])
    expect(head).toMatch(/^POST \/claude-code HTTP\/1\.1\r\nhost: localhost\r\n/)
    expect(head).toContain(`\r\nx-hookspan-token: ${TOKEN}\r\n`)
    expect(head).toMatch(/\r\nx-hookspan-delivery: \d+-[0-9a-f]{16}\r\n/)
    expect(head).toMatch(/\r\nx-hookspan-client: 9\.8\.7$/)
    expect(Number(/x-hookspan-at: (\d+)/.exec(head)?.[1])).toBeGreaterThanOrEqual(before - 1)
    expect(body).toBe(EVENT)
    expect(requests).toHaveLength(1)
    expect(names(scene.receiver)).toEqual(['address.json', 'token'])
  })

  test('gets it over loopback, where it has no socket', async () => {
    const scene = new Scene()
    const requests = await scene.listen(TAKEN, true)
    expect(await scene.fire({ args: ['codex'], input: EVENT, isPatient: true })).toEqual(QUIET)
    expect(requests[0]).toMatch(/^POST \/codex /)
    expect(names(scene.spool)).toEqual([])
  })

  test('gets ten megabytes whole', async () => {
    const scene = new Scene()
    const requests = await scene.listen(TAKEN)
    const input = JSON.stringify({ text: 'x'.repeat(10 * 1024 * 1024) })
    expect(await scene.fire({ input, isPatient: true })).toEqual(QUIET)
    expect(parsed(requests[0]).body === input).toBe(true)
  })

  test('gets nothing of the environment but the span that started the agent', async () => {
    const scene = new Scene()
    const requests = await scene.listen(TAKEN)
    await scene.fire({ input: EVENT, isPatient: true, env: { TRACEPARENT, ANTHROPIC_API_KEY: 'sk-very-secret' } })
    await scene.fire({ input: EVENT, isPatient: true, env: { TRACEPARENT: 'x\r\nx-hookspan-token: y' } })
    expect(requests[0]).toContain(`\r\ntraceparent: ${TRACEPARENT}\r\n`)
    expect(requests[1]).not.toMatch(/traceparent/i)
    expect(requests.join('')).not.toContain('very-secret')
  })
})

describe('without a receiver', () => {
  test.each(Object.entries(HOSTILE))(
    'writes a file to the spool and starts a receiver, because %s',
    async (_, hostile) => {
      const scene = new Scene()
      await hostile(scene)
      expect(await scene.fire({ input: EVENT, env: { TRACEPARENT } })).toEqual(QUIET)
      const [event, ...more] = scene.spooled()
      expect(more).toEqual([])
      const { at, id } = event ?? {}
      expect(event).toEqual({
        path: '/claude-code',
        at,
        id,
        traceparent: TRACEPARENT,
        body: JSON.parse(EVENT) as unknown,
      })
      const [name = ''] = names(scene.spool)
      expect(name).toBe(`${at}-${/-(\d+)-/.exec(name)?.[1]}-${String(id).slice(-8)}.json`)
      expect(name).toMatch(/^\d{13}-/)
      await until(() => scene.started() !== '')
      expect(scene.started()).toBe('serve\n')
    },
  )

  test('sends the id under which the event is spooled', async () => {
    const scene = new Scene()
    const requests = await scene.listen('HTTP/1.1 500 Internal Server Error\r\n\r\n')
    await scene.fire({ input: EVENT, isPatient: true })
    expect(requests[0]).toContain(`\r\nx-hookspan-delivery: ${String(scene.spooled()[0]?.['id'])}\r\n`)
  })

  test('does not start a receiver that is starting', async () => {
    const scene = new Scene()
    mkdirSync(scene.receiver, { recursive: true, mode: 0o700 })
    writeFileSync(join(scene.receiver, 'starting'), '\n')
    const triedAt = (seconds: number): void => utimesSync(join(scene.receiver, 'starting'), seconds, seconds)
    triedAt(Date.now() / 1000 + 9)
    await scene.fire({ input: EVENT })
    await scene.fire({ input: EVENT })
    triedAt(Date.now() / 1000 - 3600)
    await scene.fire({ input: EVENT })
    expect(scene.spooled()).toHaveLength(3)
    await until(() => scene.started() !== '')
    expect(scene.started()).toBe('serve\n')
  })

  test('starts a receiver again that was started a moment ago and died', async () => {
    const scene = new Scene()
    await scene.listenAndDie()
    writeFileSync(join(scene.receiver, 'starting'), '\n')
    const seconds = Date.now() / 1000
    utimesSync(join(scene.receiver, 'starting'), seconds, seconds)
    utimesSync(join(scene.receiver, 'address.json'), seconds + 1, seconds + 1)
    await scene.fire({ input: EVENT })
    await until(() => scene.started() !== '')
    expect(scene.started()).toBe('serve\n')
  })

  test('does not follow a link in place of the socket', async () => {
    const scene = new Scene()
    const requests = await scene.listen(TAKEN)
    renameSync(join(scene.home, 'receiver.sock'), join(scene.home, 'elsewhere.sock'))
    symlinkSync(join(scene.home, 'elsewhere.sock'), join(scene.home, 'receiver.sock'))
    await scene.fire({ input: EVENT })
    expect(requests).toEqual([])
    expect(scene.spooled()).toHaveLength(1)
  })

  test('does not follow a link in place of the token', async () => {
    const scene = new Scene()
    const requests = await scene.listen(TAKEN)
    renameSync(join(scene.receiver, 'token'), join(scene.home, 'token'))
    symlinkSync(join(scene.home, 'token'), join(scene.receiver, 'token'))
    await scene.fire({ input: EVENT })
    expect(requests).toEqual([])
    expect(scene.spooled()).toHaveLength(1)
  })

  test('keeps input that is no JSON as it was written', async () => {
    const scene = new Scene()
    await scene.fire({ args: ['hermes'], input: '{"extra": {"n": NaN}}' })
    expect(scene.spooled()).toMatchObject([{ path: '/hermes', body: '{"extra": {"n": NaN}}' }])
  })
})

describe('a full spool', () => {
  test('counts the event as dropped if it is full of bytes', async () => {
    const scene = new Scene()
    mkdirSync(scene.spool, { recursive: true, mode: 0o700 })
    writeFileSync(join(scene.spool, '1795405471108-1-00000000.json'), '')
    truncateSync(join(scene.spool, '1795405471108-1-00000000.json'), 64 * 1024 * 1024 - 100)
    expect(await scene.fire({ input: EVENT })).toEqual(QUIET)
    expect(await scene.fire({ input: EVENT })).toEqual(QUIET)
    expect(names(scene.spool)).toEqual(['1795405471108-1-00000000.json', 'dropped'])
    expect(scene.read('spool/dropped')).toBe('1\n1\n')
  })

  test('counts the event as dropped if it is full of files', async () => {
    const scene = new Scene()
    mkdirSync(scene.spool, { recursive: true, mode: 0o700 })
    for (let file = 0; file < 10_000; file++) writeFileSync(join(scene.spool, `${file}.json`), '')
    await scene.fire({ input: EVENT })
    expect(names(scene.spool)).toHaveLength(10_001)
    expect(scene.read('spool/dropped')).toBe('1\n')
  })
})

describe("the agent's input", () => {
  test('reads too large input to its end, and counts it as dropped', async () => {
    const scene = new Scene()
    const requests = await scene.listen(TAKEN)
    expect(await scene.fire({ input: new Uint8Array(65 * 1024 * 1024).fill(0x20) })).toEqual(QUIET)
    expect(requests).toEqual([])
    expect(names(scene.spool)).toEqual(['dropped'])
  })

  test('ignores empty input', async () => {
    const scene = new Scene()
    expect(await scene.fire()).toEqual(QUIET)
    expect(await scene.fire({ stdin: 'ignore' })).toEqual(QUIET)
    expect(names(scene.receiver)).toEqual([])
  })

  test('ignores a pipe that is closed already', () => {
    const scene = new Scene()
    const script = '"$0" "$1" claude-code <&- 2>&1; echo "ended with $?"'
    const args = ['-c', script, process.execPath, scene.program]
    expect(execFileSync('sh', args, { env: scene.env, encoding: 'utf8' })).toBe('ended with 0\n')
    expect(names(scene.receiver)).toEqual([])
  })

  test('is everything before it falls silent with the pipe open', async () => {
    const input = new PassThrough()
    input.write(EVENT)
    expect(String(await readInput(input, 1))).toBe(EVENT)
  })

  test.each([[[]], [['../../etc']], [['--host']], [['Claude Code']]])('is no event without a host: %j', async args => {
    const scene = new Scene()
    const requests = await scene.listen(TAKEN)
    expect(await scene.fire({ args, input: EVENT })).toEqual(QUIET)
    expect(requests).toEqual([])
    expect(names(scene.spool)).toEqual([])
  })

  test('drops the event silently if the home directory is not writable', async () => {
    const scene = new Scene()
    writeFileSync(join(scene.home, 'state'), 'a file')
    expect(await scene.fire({ input: EVENT })).toEqual(QUIET)
    expect(await scene.fire({ input: EVENT, env: { HOME: '', XDG_STATE_HOME: 'relative' } })).toEqual(QUIET)
  })
})

describe('hookspan hook', () => {
  const MAIN = join(REPOSITORY, 'dist', 'cli', 'main.js')
  const envOf = (scene: Scene): Record<string, string> => ({
    HOME: scene.home,
    XDG_STATE_HOME: join(scene.home, 'state'),
  })

  test('does the same', async () => {
    const scene = new Scene()
    await scene.listen('HTTP/1.1 503 Service Unavailable\r\n\r\n')
    mkdirSync(scene.receiver, { recursive: true, mode: 0o700 })
    writeFileSync(join(scene.receiver, 'starting'), '\n')
    expect(await run([MAIN, 'hook', 'codex'], { input: EVENT, env: envOf(scene) })).toEqual(QUIET)
    expect(scene.spooled()).toMatchObject([{ path: '/codex', body: JSON.parse(EVENT) as unknown }])
  })

  test.each([[[]], [['--host']], [['Nobody']]])('never refuses: %j', async args => {
    const scene = new Scene()
    await scene.listen(TAKEN)
    writeFileSync(join(scene.receiver, 'starting'), '\n')
    expect(await run([MAIN, 'hook', ...args], { input: EVENT, env: envOf(scene) })).toEqual(QUIET)
  })
})
