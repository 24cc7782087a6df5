import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { receiverPlace } from '../../../src/plugin/config/paths.ts'
import { isComplete, parseAnswer, parseForwardOptions, waitUntilUp } from '../../../src/receiver/forwarder/forward.ts'
import { until } from '../../support/until.ts'
import { type Ended, Scene } from './scene.ts'

const EVENT = '{"hook_event_name":"PreToolUse","session_id":"s1"}'
const QUIET: Ended = { code: 0, printed: '', brokenPipe: false }
const REASON = 'hookspan could not ask the hooks that guard this agent, which is set up to do nothing then.'
const CLOSED: Ended = { code: 2, printed: REASON, brokenPipe: false }
const DENIAL = '{"permissionDecision":"deny","reason":"Nö."}'

function answer(status: string, body = '', headers: readonly string[] = []): string {
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  return [`HTTP/1.1 ${status}`, ...headers, ...length, 'Connection: close', '', body].join('\r\n')
}

describe('a receiver that decides', () => {
  test('is requested, and its output is printed', async () => {
    const scene = new Scene()
    const requests = await scene.listen(answer('200 OK', DENIAL))
    const ended = await scene.fire({ args: ['codex', '--decide'], input: EVENT, isPatient: true })
    expect(ended).toEqual({ code: 0, printed: DENIAL, brokenPipe: false })
    expect(requests[0]).toContain('\r\nx-hookspan-decide: open\r\n')
    expect(scene.spooled()).toEqual([])
  })

  test("sets the exit code of the command, and the user's message", async () => {
    const scene = new Scene()
    const error = Buffer.from('Nö:\nnot that.').toString('base64url')
    const requests = await scene.listen(
      answer('204 No Content', '', ['x-hookspan-exit: 2', `x-hookspan-error: ${error}`]),
    )
    const args = ['codex', '--decide', '--closed', 'exit2']
    const ended = await scene.fire({ args, input: EVENT, isPatient: true })
    expect(ended).toEqual({ code: 2, printed: 'Nö:\nnot that.', brokenPipe: false })
    expect(requests[0]).toContain('\r\nx-hookspan-decide: closed\r\n')
  })

  test('has no objection', async () => {
    const scene = new Scene()
    await scene.listen(answer('204 No Content'))
    const args = ['codex', '--closed', 'exit2']
    expect(await scene.fire({ args, input: EVENT, isPatient: true })).toEqual(QUIET)
  })

  test('is not requested by an agent that waits for nothing', async () => {
    const scene = new Scene()
    const requests = await scene.listen(answer('200 OK', DENIAL, ['x-hookspan-exit: 2']))
    expect(await scene.fire({ args: ['codex'], input: EVENT, isPatient: true })).toEqual(QUIET)
    expect(requests[0]).not.toContain('x-hookspan-decide')
  })
})

describe('without a decision', () => {
  const HOSTILE: Record<string, (scene: Scene) => unknown> = {
    'there is no receiver': () => undefined,
    'it does not know the token': scene => scene.listen(answer('401 Unauthorized')),
    'it is older than we are': scene => scene.listen(answer('426 Upgrade Required')),
    'it hangs': scene => scene.listen(),
    'it has died': scene => scene.listenAndDie(),
  }

  test.each(Object.entries(HOSTILE))(
    "keeps the agent's own behaviour, and loses nothing, because %s",
    async (_, hostile) => {
      const scene = new Scene()
      await hostile(scene)
      expect(await scene.fire({ args: ['codex', '--decide'], input: EVENT })).toEqual(QUIET)
      expect(await scene.fire({ args: ['codex', '--closed', 'exit2'], input: EVENT })).toEqual(CLOSED)
      expect(scene.spooled().map(({ path }) => path)).toEqual(['/codex', '/codex'])
      await until(() => scene.started() !== '')
    },
  )

  test('accepts words as the agreed answer', async () => {
    const args = ['hermes', '--closed', '{"action":"block"}']
    expect(await new Scene().fire({ args, input: EVENT })).toEqual({ ...QUIET, printed: '{"action":"block"}' })
  })

  test.each([
    ['of no name', [''], EVENT],
    ['of a strange name', ['../../x'], EVENT],
    ['without output', ['codex'], ''],
  ])('closes an agent %s, too', async (_, [host = ''], input) => {
    expect(await new Scene().fire({ args: [host, '--closed', 'exit2'], input })).toEqual(CLOSED)
  })
})

test.each<[readonly string[], string | undefined, number, boolean]>([
  [[], undefined, 0, false],
  [['--decide'], 'open', 0, false],
  [['--up'], undefined, 0, true],
  [['--decide', '--closed', 'exit2'], 'closed', 2, false],
  [['--closed', 'exitt2'], 'closed', 2, false],
  [['--closed'], 'closed', 2, false],
])(
  'waits with %j for a decision (%s), else ends with %d; waits for a receiver: %s',
  (options, failurePolicy, code, waits) => {
    expect(parseForwardOptions(options)).toMatchObject({ failurePolicy, fallback: { code }, waits })
  },
)

test('completes an answer when all its bytes have arrived, in any pieces', () => {
  const text = Buffer.from(answer('200 OK', DENIAL)).toString('latin1')
  for (let end = 0; end < text.length; end++) expect(isComplete(text.slice(0, end))).toBe(false)
  expect(isComplete(text)).toBe(true)
  expect(parseAnswer(text)).toEqual({ code: 0, out: Buffer.from(DENIAL), error: '' })
  expect(parseAnswer(answer('500 Internal Server Error', DENIAL))).toBeUndefined()
  expect(parseAnswer('SSH-2.0-OpenSSH_9.2\r\n\r\n')).toBeUndefined()
})

describe('a client that waits for a receiver', () => {
  const placeIn = (scene: Scene): ReturnType<typeof receiverPlace> =>
    receiverPlace(join(scene.home, 'state', 'hookspan'))

  test('continues when it listens', async () => {
    const scene = new Scene()
    let isUp = false
    const waiting = waitUntilUp(placeIn(scene), 45_000).then(() => expect(isUp).toBe(true))
    await scene.listenAndDie()
    isUp = true
    await scene.listen('', true)
    await waiting
  })

  test('continues when none appears', async () => {
    await waitUntilUp(placeIn(new Scene()), 1)
  })

  test('has its event waiting for it meanwhile', async () => {
    const scene = new Scene()
    const fired = scene.fire({ args: ['qwen', '--up'], input: EVENT })
    await until(() => scene.started() !== '')
    await scene.listen('', true)
    expect(await fired).toEqual(QUIET)
    expect(scene.spooled()).toHaveLength(1)
  })
})
