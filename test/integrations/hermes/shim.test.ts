import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { isIgnoredHook } from '../../../src/contract/hooks.ts'
import { HOOK_NAMES } from '../../../src/contract/index.ts'
import { until } from '../../support/until.ts'
import { type Behaviour, describePython, SHIM, ShimScene, TOKEN } from './scene.ts'

const FIRES_TWO = `
fire("pre_tool_call", tool_name="terminal", args={"command": "ls"}, session_id="s1")
fire("post_tool_call", tool_name="terminal", result="ok", session_id="s1")
drained()
`

const python = (name: string): string => readFileSync(join(SHIM, name), 'utf8')

test('is small, and of the standard library alone', () => {
  const files = readdirSync(SHIM).filter(name => name.endsWith('.py'))
  expect(files.sort()).toEqual(['__init__.py', 'guards.py', 'receiver.py'])
  const imported = files.flatMap(name =>
    [...python(name).matchAll(/^\s*(?:import|from) (\S+)/gm)].map(([, module]) => module),
  )
  const STANDARD =
    'atexit contextlib http.client itertools json math os queue shutil socket stat subprocess threading time'
  expect([...new Set(imported)].sort()).toEqual(['.', 'hermes_cli.plugins', ...STANDARD.split(' ')].toSorted())
  expect(files.reduce((lines, name) => lines + python(name).split('\n').length, 0)).toBeLessThanOrEqual(370)
})

test('has its version', () => {
  expect(python('plugin.yaml')).toContain(`\nversion: ${packageJson.version}\n`)
  expect(python('pyproject.toml')).toContain(`\nversion = "${packageJson.version}"\n`)
  expect(python('receiver.py')).toContain(`\nVERSION, HOST = "${packageJson.version}", "hermes"\n`)
})

describePython('the hooks of Hermes', () => {
  test('registers all observing hooks, those of a later version too', async () => {
    const unheard = /UNHEARD = """([^"]+)"""/.exec(python('__init__.py'))?.[1]?.split(/\s+/) ?? []
    expect(unheard.length).toBeGreaterThan(5)
    expect(unheard.filter(name => !isIgnoredHook(name))).toEqual([])
    const hooks = [...HOOK_NAMES, 'on_something_new', 'kanban_task_claimed', 'on_kanban_task_updated', ...unheard]
    const heard = await new ShimScene().play('print(json.dumps(sorted(context.hooks)))', { hooks })
    expect(JSON.parse(heard)).toEqual([...HOOK_NAMES, 'on_something_new'].toSorted())
  })

  test('skips hooks without use: a result is offered after the end of its tool in 0.19', async () => {
    const hooks = HOOK_NAMES.filter(name => !name.endsWith('_auxiliary_call'))
    const play = 'print(json.dumps("transform_tool_result" in context.hooks))'
    expect(JSON.parse(await new ShimScene().play(play, { hooks }))).toBe(false)
    expect(JSON.parse(await new ShimScene().play(play, { hooks, env: { HOOKSPAN_GUARDS: 'open' } }))).toBe(true)
    expect(JSON.parse(await new ShimScene().play(play))).toBe(true)
  })

  test('delivers records in order, with the time and an id of their own', async () => {
    const scene = new ShimScene()
    await scene.listen()
    const before = Date.now()
    await scene.play(FIRES_TWO)
    const told = scene.posted()
    expect(told.map(({ hook, host, payload }) => ({ hook, host, payload }))).toEqual([
      {
        hook: 'pre_tool_call',
        host: 'hermes',
        payload: { tool_name: 'terminal', args: { command: 'ls' }, session_id: 's1' },
      },
      { hook: 'post_tool_call', host: 'hermes', payload: { tool_name: 'terminal', result: 'ok', session_id: 's1' } },
    ])
    expect(new Set(told.map(({ delivery_id }) => delivery_id)).size).toBe(2)
    for (const { at } of told) expect(at).toBeGreaterThan(before - 1)
    for (const { path, headers } of scene.requests) {
      expect(path).toBe('/v1/hooks')
      expect(headers).toMatchObject({
        'x-hookspan-token': TOKEN,
        host: 'localhost',
        'content-type': 'application/x-ndjson',
      })
    }
    expect(scene.spooled()).toEqual([])
  })

  test('delivers records of the last moment, too', async () => {
    const scene = new ShimScene()
    await scene.listen()
    await scene.play('fire("on_session_start", session_id="s1")')
    await scene.play('fire("on_session_end", session_id="s1"); os._exit(0)')
    const known = [...scene.posted(), ...scene.spooled().map(({ body }) => body)]
    expect(new Set(known.map(({ hook }) => hook))).toEqual(new Set(['on_session_start', 'on_session_end']))
  })

  test('delivers records of a fork, too', async () => {
    const scene = new ShimScene()
    await scene.listen()
    await scene.play(`
fire("on_session_start", session_id="parent")
drained()
child = os.fork()
fire("on_session_start", session_id="child" if child == 0 else "parent again")
drained()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
`)
    expect(
      scene
        .posted()
        .map(({ payload }) => payload['session_id'])
        .sort(),
    ).toEqual(['child', 'parent', 'parent again'])
    expect(new Set(scene.posted().map(({ delivery_id }) => delivery_id)).size).toBe(3)
  })
})

describePython('where no receiver takes them', () => {
  const HOSTILE: Record<string, (scene: ShimScene) => unknown> = {
    'there is none': () => undefined,
    'it hangs': scene => scene.listen('hangs' satisfies Behaviour),
    'it refuses': scene => scene.listen('refuses' satisfies Behaviour),
    'it has died, and its socket is there': async scene => {
      const server = createServer()
      await new Promise<void>(resolve => server.listen(`${scene.socket}.first`, resolve))
      renameSync(`${scene.socket}.first`, scene.socket)
      await new Promise(resolve => server.close(resolve))
      scene.announce({ socket: scene.socket })
    },
    'a link is in the place of its socket': async scene => {
      await scene.listen()
      renameSync(scene.socket, `${scene.socket}.other`)
      symlinkSync(`${scene.socket}.other`, scene.socket)
    },
    'a link is in the place of its token': async scene => {
      await scene.listen()
      renameSync(join(scene.receiver, 'token'), join(scene.home, 'token'))
      symlinkSync(join(scene.home, 'token'), join(scene.receiver, 'token'))
    },
  }

  test.each(Object.entries(HOSTILE))('writes a file for each and starts a receiver, because %s', async (_, hostile) => {
    const scene = new ShimScene()
    await hostile(scene)
    await scene.play(FIRES_TWO, { isImpatient: true })
    const spooled = scene.spooled()
    expect(spooled.map(({ body }) => body.hook)).toEqual(['pre_tool_call', 'post_tool_call'])
    for (const { path, at, id, body } of spooled) {
      expect({ path, at, id }).toEqual({ path: '/v1/hooks', at: Math.trunc(body.at), id: body.delivery_id })
    }
    const posted = scene.posted().map(({ delivery_id }) => delivery_id)
    expect(spooled.map(({ id }) => id)).toEqual(expect.arrayContaining(posted))
    for (const name of readdirSync(scene.spool)) {
      expect(name).toMatch(/^\d{13}-\d+-[0-9a-f]{8}\.json$/)
      expect(statSync(join(scene.spool, name)).mode & 0o777).toBe(0o600)
    }
    expect(statSync(scene.spool).mode & 0o777).toBe(0o700)
    await until(() => scene.started() !== '')
    expect(scene.started()).toBe('serve --detach\n')
  })

  test('does not start a receiver twice within a moment, unless it has died since', async () => {
    const scene = new ShimScene()
    scene.announce({ socket: scene.socket })
    const at = (name: string, seconds: number): void =>
      utimesSync(join(scene.receiver, name), Date.now() / 1000 + seconds, Date.now() / 1000 + seconds)
    writeFileSync(join(scene.receiver, 'starting'), '\n')
    at('starting', 9)
    await scene.play(FIRES_TWO)
    expect(scene.started()).toBe('')
    at('address.json', 10)
    await scene.play('fire("on_session_start", session_id="s1")')
    await until(() => scene.started() !== '')
    expect(scene.started()).toBe('serve --detach\n')
  })

  // It would look as if it had been started a moment ago, and were not to be when it has really died.
  test('retries a receiver after a failure, because it may have started', async () => {
    const scene = new ShimScene()
    scene.announce({ socket: scene.socket })
    const times = await scene.play(`
shim.receiver.RETRY_SECONDS = 3600
place = shim.receiver.PLACE
${FIRES_TWO}
os.utime(f"{place}/address.json", (time.time() + 5, time.time() + 5))
tried_at = os.stat(f"{place}/starting").st_mtime
${FIRES_TWO}
print(json.dumps([tried_at, os.stat(f"{place}/starting").st_mtime]))`)
    const [before, after] = JSON.parse(times) as number[]
    expect(scene.spooled()).toHaveLength(4)
    expect(after).toBe(before)
  })

  test('counts records without room', async () => {
    const scene = new ShimScene()
    mkdirSync(scene.spool, { recursive: true, mode: 0o700 })
    writeFileSync(join(scene.spool, 'full.json'), '')
    truncateSync(join(scene.spool, 'full.json'), 64 * 1024 * 1024 - 100)
    await scene.play(`${FIRES_TWO}fire("on_session_start", session_id="s1")`)
    expect(readdirSync(scene.spool).sort()).toEqual(['dropped', 'full.json'])
    const dropped = readFileSync(join(scene.spool, 'dropped'), 'utf8').trim().split('\n')
    expect(dropped.reduce((sum, line) => sum + Number(line), 0)).toBe(3)
  })

  test('counts records beyond a full queue, which is limited', async () => {
    const scene = new ShimScene()
    const counted = await scene.play(`
sender = shim.receiver.sender()
sender.thread = "one that never comes to it"
for number in range(5003):
    fire("on_session_start", session_id="s1")
fire("on_session_start", session_id="s1", huge="x" * 100000)
print(sender.queue.qsize(), sender.dropped, flush=True)
os._exit(0)
`)
    expect(counted).toBe('5000 4\n')
  })

  test('restricts a folder that others could write to', async () => {
    const scene = new ShimScene()
    mkdirSync(scene.spool, { recursive: true })
    for (const place of [scene.receiver, scene.spool]) chmodSync(place, 0o777)
    await scene.play(FIRES_TWO)
    expect(scene.spooled()).toHaveLength(2)
    for (const place of [scene.receiver, scene.spool]) expect(statSync(place).mode & 0o777).toBe(0o700)
  })

  test('loses only the records if a folder is unusable', async () => {
    const scene = new ShimScene()
    mkdirSync(join(scene.home, 'state', 'hookspan'), { recursive: true })
    writeFileSync(join(scene.home, 'state', 'hookspan', 'receiver'), 'a file')
    await scene.play(FIRES_TWO)
    expect(scene.started()).toBe('')
  })
})

describePython('payloads', () => {
  async function told(given: string, env: Record<string, string> = {}, address: object = {}) {
    const scene = new ShimScene()
    await scene.listen('takes it', address)
    // The first one learns what the receiver wants to know.
    await scene.play(`fire("on_session_start")\ndrained()\nfire("pre_api_request", ${given})\ndrained()`, { env })
    return scene.posted()[1]?.payload
  }

  test('delivers any data as JSON can express it', async () => {
    const scene = new ShimScene()
    await scene.listen()
    await scene.play(`
import collections, enum
class Hostile:
    def __getattribute__(self, name): raise RuntimeError(name)
    def __repr__(self): raise RuntimeError("repr")
    def __str__(self): raise RuntimeError("str")
class Choice(str, enum.Enum):
    yes = "y"
class Code(int, enum.Enum):
    ok = 200
cycle = {"a": 1}; cycle["again"] = cycle
deep = "end"
for _ in range(100): deep = [deep]
fire("post_tool_call", nan=float("nan"), infinite=float("-inf"), none=None, flag=True, number=1.5, big=10**400,
     hostile=Hostile(), data=b"abc", choice=Choice.yes, code=Code.ok, lone="a\\ud800b", text="\\u2028é",
     keys={1: "a", ("t",): "b", None: "c", "d": {"e", }}, pair=(1, 2), order=collections.OrderedDict(z=1),
     kind=Hostile, function=len, long="x" * 200000, many=list(range(30000)), cycle=cycle, deep=deep)
fire("pre_tool_call", tool_name="still here")
drained()
`)
    const [{ payload } = { payload: {} }, next] = scene.posted()
    expect(payload).toMatchObject({
      nan: null,
      infinite: null,
      none: null,
      flag: true,
      number: 1.5,
      big: '<int>',
      hostile: '<Hostile>',
      data: '<bytes>',
      choice: 'y',
      code: 200,
      lone: 'a\ud800b',
      text: '\u2028é',
      keys: { 1: 'a', d: ['e'] },
      pair: [1, 2],
      order: { z: 1 },
      kind: '<type>',
      function: '<builtin_function_or_method>',
      long: 'x'.repeat(100_000),
      many: [],
    })
    expect(JSON.stringify(payload).length).toBeLessThan(2_000_000)
    expect(next?.payload).toEqual({ tool_name: 'still here' })
  })

  const REQUEST = `session_id="s1", user_message="Hello", system_prompt="P" * 9, conversation_history=[{"role": "user"}],
    request_messages=[{"role": "user"}], assistant_message=object(), max_tokens=7, request={"method": "POST", "body": {
    "model": "m", "temperature": 0.3, "stop": ["a"], "messages": [{"content": "secret"}], "instructions": "s" * 201,
    "tools": [{"name": "t"}, {"name": "u"}], "metadata": {"a": 1}}}`

  test('omits conversations, prompts and bodies of requests', async () => {
    expect(await told(REQUEST)).toEqual({
      session_id: 's1',
      user_message: 'Hello',
      max_tokens: 7,
      request: {
        method: 'POST',
        body: {
          model: 'm',
          temperature: 0.3,
          stop: ['a'],
          messages: [],
          instructions: '',
          tools: [null, null],
          metadata: {},
        },
      },
    })
  })

  const WHOLE = {
    user_message: 'Hello',
    system_prompt: 'PPPPPPPPP',
    conversation_history: [{ role: 'user' }],
    assistant_message: '<object>',
    request: { body: { messages: [{ content: 'secret' }], tools: [{ name: 't' }, { name: 'u' }] } },
  }

  test('delivers them with full capture by the environment', async () => {
    expect(await told(REQUEST, { HOOKSPAN_CONTENT_CAPTURE: 'full' })).toMatchObject(WHOLE)
  })

  test('delivers them with full capture by the receiver', async () => {
    expect(await told(REQUEST, {}, { content_capture: 'full' })).toMatchObject(WHOLE)
  })

  test('copies data at the time of the hook', async () => {
    const scene = new ShimScene()
    await scene.listen()
    await scene.play(`
args = {"command": "ls"}
fire("pre_tool_call", args=args)
args["command"] = "changed"
drained()
`)
    expect(scene.posted()[0]?.payload).toEqual({ args: { command: 'ls' } })
  })
})
