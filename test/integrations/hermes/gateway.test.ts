/** The hooks of Hermes' gateway (`integrations/hermes/gateway`), as it fires them: what of them is told, and how. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hookRecordMachine, hookRecords } from '../../../src/agents/hook-records.ts'
import { createTestPlugin } from '../../../src/testing.ts'
import { type FedRecord, feed } from '../../support/feed.ts'
import { describePython, SHIM, ShimScene, type Told } from './scene.ts'

const LOADS = `
def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
handler = load("hermes_hook_hookspan", os.path.join(folder, "gateway", "handler.py"))
def gateway(event, **context):
    assert handler.handle(event, context) is None
def start(session_id, user_id="u1"):
    gateway("agent:start", platform="telegram", user_id=user_id, chat_id="c1", thread_id="", chat_type="dm",
            session_id=session_id, message="Hi")
def end(session_id, user_id="u1"):
    gateway("agent:end", platform="telegram", user_id=user_id, chat_id="c1", thread_id="", chat_type="dm",
            session_id=session_id, message="Hi", response="Hi", model="fake-1", provider="")
def command(name, args="", user_id="u1"):
    gateway("command:" + name, platform="telegram", user_id=user_id, command=name, raw_command=name, args=args, raw_args=args)
`

/** What is told of what the gateway does. */
async function told(scenario: string): Promise<Told[]> {
  const scene = new ShimScene()
  await scene.listen()
  await scene.play(`${LOADS}${scenario}\ndrained()\n`)
  return scene.posted()
}

const brief = (records: readonly Told[]): unknown[] => records.map(({ hook, payload }) => [hook, payload])

/** What the receiver makes of them. */
function recorded(records: readonly Told[]): ReturnType<typeof createTestPlugin> {
  const plugin = createTestPlugin({ host: 'hermes' })
  const events = records.flatMap(body => hookRecords.events({ body, headers: {}, at: 0 }))
  feed(plugin, events.flatMap(event => hookRecordMachine.accept(event) ?? []) as FedRecord[])
  return plugin
}

test('registers the hooks of its manifest, with any suffix', () => {
  const manifest = readFileSync(join(SHIM, 'gateway', 'HOOK.yaml'), 'utf8')
  expect(manifest).toContain('events: ["gateway:startup", "session:*", "agent:*", "command:*"]')
})

describePython('hooks of the gateway', () => {
  const START = { session_id: 's1', platform: 'telegram', sender_id: 'u1', metadata: { chat_type: 'dm' } }
  const END = { session_id: 's1', platform: 'telegram' }

  test("emits sender and end of a turn, in order with the plugin's hooks", async () => {
    const records = await told('start("s1")\nfire("pre_llm_call", session_id="s1")\nend("s1")')
    expect(brief(records)).toEqual([
      ['on_session_start', START],
      ['pre_llm_call', { session_id: 's1' }],
      ['on_session_end', END],
    ])
    expect(new Set(records.map(({ delivery_id }) => delivery_id.split('-')[0])).size).toBe(1)
  })

  test("emits iterations and a compaction, under the session's previous name", async () => {
    const records = await told(`
start("s1")
gateway("agent:step", platform="telegram", user_id="u1", session_id="s1", iteration=2, tool_names=["terminal"],
        tools=[{"name": "terminal", "result": "secret", "arguments": "{}"}])
gateway("session:compress", platform="telegram", session_id="s2", old_session_id="s1", in_place=False, compression_count=1)
gateway("session:compress", platform="telegram", session_id="s1", old_session_id="", in_place=True, compression_count=2)
`)
    expect(brief(records).slice(1)).toEqual([
      ['on_iteration_start', { session_id: 's1', platform: 'telegram', iteration: 2 }],
      ['on_turn_event', { session_id: 's1', name: 'session:compress' }],
      ['on_turn_event', { session_id: 's1', name: 'session:compress' }],
    ])
    const plugin = recorded(records)
    await plugin.shutdown()
    expect(plugin.spans().flatMap(({ events }) => events.map(({ attributes }) => attributes))).toEqual([
      { 'hermes.iteration.number': 2 },
      { 'hermes.event.name': 'session:compress' },
      { 'hermes.event.name': 'session:compress' },
    ])
  })

  test("emits a command by its name, as an event of the user's open turn", async () => {
    const records = await told('start("s1")\nstart("s2", "u2")\ncommand("stop", "secret")\nend("s1")')
    expect(records.map(({ hook, payload }) => [hook, payload['name']])).toContainEqual([
      'on_turn_event',
      'command:stop',
    ])
    expect(JSON.stringify(records)).not.toContain('secret')
    const plugin = recorded(records)
    await plugin.shutdown()
    const [turn] = plugin.spans().filter(({ events }) => events.length > 0)
    expect(turn?.attributes['gen_ai.conversation.id']).toBe('s1')
    expect(turn?.events).toMatchObject([
      {
        name: 'hermes.turn.event',
        attributes: { 'hermes.event.name': 'command:stop', 'hermes.correlation': 'inferred' },
      },
    ])
  })

  test('counts hooks outside of turns under their own names, without spans', async () => {
    const records = await told(`
gateway("gateway:startup", platforms=["telegram"])
gateway("session:start", platform="telegram", user_id="u1", session_id="s1", session_key="agent:main:telegram")
command("status")
gateway("session:end", platform="telegram", user_id="u1", session_key="agent:main:telegram")
gateway("session:reset", platform="telegram", user_id="u1", session_key="agent:main:telegram")
`)
    const names = ['gateway:startup', 'session:start', 'command:status', 'session:end', 'session:reset']
    expect(brief(records)).toEqual(names.map(name => [name, {}]))
    const plugin = recorded(records)
    expect(plugin.stats()).toMatchObject({ hooks: { ok: 0, ignored: 5, error: 0 }, spansOpen: 0, unread: { hooks: 0 } })
    await plugin.shutdown()
    expect(plugin.spans()).toEqual([])
  })

  test('does not guess the turn of a command: none, if the user has two or it is over', async () => {
    const records = await told(`
start("s1")
start("s2")
command("model")
end("s1")
command("steer")
end("s2")
command("new")
command("help", user_id=None)
`)
    const commands = records.filter(({ hook, payload }) => `${hook} ${payload['name']}`.includes('command:'))
    expect(brief(commands)).toEqual([
      ['command:model', {}],
      ['on_turn_event', { session_id: 's2', name: 'command:steer' }],
      ['command:new', {}],
      ['command:help', {}],
    ])
  })

  test("uses the plugin's queue as soon as that is loaded", async () => {
    const records = await told(`
plugin = sys.modules.pop("shim.receiver")
gateway("gateway:startup", platforms=[])
sys.modules["hookspan_receiver"].sender().drain(60)
sys.modules["shim.receiver"] = plugin
start("s1")
fire("pre_llm_call", session_id="s1")
`)
    const [alone, ...together] = records.map(({ delivery_id }) => delivery_id.split('-')[0])
    expect(new Set(together).size).toBe(1)
    expect(together).not.toContain(alone)
  })

  test('harms nothing, with any data', async () => {
    const records = await told(`
for context in ({}, {"session_id": 7}, {"session_id": object()}):
    for event in ("agent:start", "agent:step", "agent:end", "session:compress", "command:x", "agent:new", None):
        assert handler.handle(event, context) is None
assert handler.handle("agent:start", None) is None
gateway("agent:start", session_id="s1", user_id=object(), platform=["x"], chat_type=None)
gateway("agent:step", session_id="s1", iteration=float("nan"))
for number in range(3000):
    start("s%d" % number)
assert len(handler.running) <= 1000
`)
    const hooks = records.filter(({ hook }) => !hook.includes(':'))
    expect(brief(hooks).slice(0, 1)).toEqual([['on_session_start', { session_id: 's1' }]])
    expect(hooks).toHaveLength(3001)
  })
})
