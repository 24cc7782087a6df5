/** The forwarder in sh, which Codex starts: it does what Node's does, and hands over to it where curl cannot deliver. */
import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { until } from '../../support/until.ts'
import { type Ended, HOSTILE, names, Scene, TOKEN } from './scene.ts'

const TAKEN = 'HTTP/1.1 204 No Content\r\n\r\n'
const EVENT = '{"hook_event_name":"Stop","session_id":"s1","text":"a \\"b\\" \\n %s $HOME `id`"}'
const QUIET: Ended = { code: 0, printed: '', brokenPipe: false }
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

/** On a busy machine a receiver may be too slow for curl; then the event is in the spool, too, under the same id. */
async function sentTo(scene: Scene, requests: readonly string[]): Promise<string> {
  await until(() => requests.some(request => request.includes('hook_event_name')))
  const request = requests.find(each => each.includes('hook_event_name')) ?? ''
  for (const { id } of scene.spooled()) expect(request).toContain(`x-hookspan-delivery: ${String(id)}`)
  return request
}

test('sends the input as it is, with the token, an id and its version', async () => {
  const scene = new Scene()
  const requests = await scene.listen(TAKEN)
  expect(await scene.fireShell({ input: EVENT })).toEqual(QUIET)
  const request = await sentTo(scene, requests)
  expect(request).toMatch(/^POST \/codex HTTP\/1\.1\r\nHost: localhost\r\n/)
  expect(request).toContain(`x-hookspan-token: ${TOKEN}\r\n`)
  expect(request).toMatch(/x-hookspan-client: \d+\.\d+\.\d+/)
  expect(request).toMatch(/x-hookspan-delivery: [0-9a-f-]{36}\r\n/)
  expect(request.endsWith(EVENT)).toBe(true)
})

test('sends no other header from the environment than a valid traceparent, and reads no .curlrc', async () => {
  const scene = new Scene()
  const requests = await scene.listen(TAKEN)
  writeFileSync(join(scene.home, '.curlrc'), 'header = "x-evil: 1"\n')
  const env = { TRACEPARENT, http_proxy: 'http://127.0.0.1:1', ALL_PROXY: 'http://127.0.0.1:1' }
  await scene.fireShell({ input: EVENT, env })
  await scene.fireShell({ input: EVENT, env: { TRACEPARENT: 'x"\nheader = "x-evil: 1' } })
  await until(() => requests.length >= 2)
  const all = requests.join('')
  expect(all).toContain(`traceparent: ${TRACEPARENT}\r\n`)
  expect(all).not.toContain('evil')
})

describe('a receiver that accepts nothing', () => {
  test.each(Object.entries(HOSTILE))('is replaced after spooling the event, because %s', async (_, hostile) => {
    const scene = new Scene()
    await hostile(scene)
    expect(await scene.fireShell({ input: EVENT, env: { TRACEPARENT } })).toEqual(QUIET)
    const body = JSON.parse(EVENT) as unknown
    expect(scene.spooled()).toEqual([expect.objectContaining({ path: '/codex', traceparent: TRACEPARENT, body })])
    await until(() => scene.started() !== '')
  })

  test('spools the event under the id that the receiver has seen', async () => {
    const scene = new Scene()
    const requests = await scene.listen('HTTP/1.1 500 Internal Server Error\r\n\r\n')
    await scene.fireShell({ input: EVENT })
    expect(await sentTo(scene, requests)).toContain(String(scene.spooled()[0]?.['id']))
  })
})

test('leaves the event to Node without curl, and does not read a token behind a link', async () => {
  const scene = new Scene()
  const requests = await scene.listen(TAKEN)
  await scene.fireShell({ input: EVENT, env: { PATH: '/nowhere' } })
  // Without cat there is no input either: the hook is lost, and the agent goes on.
  expect(requests.concat(names(scene.spool))).toEqual([])
  const token = join(scene.receiver, 'token')
  rmSync(token)
  symlinkSync('/etc/hostname', token)
  expect(await scene.fireShell({ input: EVENT })).toEqual(QUIET)
  expect(requests).toEqual([])
})

test('prints nothing without input', async () => {
  const scene = new Scene()
  expect(await scene.fireShell()).toEqual(QUIET)
  expect(names(scene.spool)).toEqual([])
})
