import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { drawRecords } from '../../agents/locus/records.ts'
import { REPOSITORY } from '../../cli/program.ts'
import { describePython, played, SHIM, ShimScene } from './scene.ts'

const python = (name: string): string => readFileSync(join(SHIM, name), 'utf8')

test('is small, and of the standard library alone', () => {
  const files = readdirSync(SHIM).filter(name => name.endsWith('.py'))
  // Not the example in the description of the whole.
  const code = files.map(name => python(name).split('"""').toSpliced(1, 1).join(''))
  const imported = code.flatMap(text =>
    [...text.matchAll(/^\s*(?:import|from) (\S+)/gm)].map(([, module = '']) => module),
  )
  const STANDARD = `asyncio atexit base64 contextlib contextvars functools hashlib heapq http.client itertools json math os queue
    shutil socket stat subprocess sys threading time tomllib traceback zipfile`
  const OWN = ['.', '.plain', '.runs', '.tools', 'locus.hooks', 'locus.tools.context']
  expect(new Set(imported)).toEqual(new Set([...STANDARD.split(/\s+/), ...OWN]))
  for (const name of files) expect(python(name).split('\n').length, name).toBeLessThanOrEqual(250)
})

test('shares the text of its path to the receiver with the other agent', () => {
  const folders = readdirSync(join(REPOSITORY, 'integrations'))
  const texts = folders.flatMap(folder => {
    const path = join(REPOSITORY, 'integrations', folder)
    if (!readdirSync(path).includes('receiver.py')) return []
    const text = readFileSync(join(path, 'receiver.py'), 'utf8')
    expect(text, folder).toContain(`HOST = "0.1.0", "${folder}"\n`)
    return [text.replace(`HOST = "0.1.0", "${folder}"`, 'HOST')]
  })
  expect(new Set(texts).size).toBe(1)
})

/** Of each record the hook, and what it says of these fields. */
function brief({ records }: Awaited<ReturnType<typeof played>>, ...fields: readonly string[]): unknown[][] {
  return records.map(({ hook, payload }) => [hook, ...fields.map(field => payload[field])])
}

describePython('a run', () => {
  test('is a turn of its conversation, with its requests and tools', async () => {
    const { records } = await played(`
agent = Agent(hook, thread="t1")
await agent.begin()
weather = call("get_weather", "a", city="Rome")
await agent.ask(said(None, weather))
await agent.before(weather)
await agent.after(weather, "sunny")
await agent.fold(recorded(weather, "sunny"))
await agent.ask(said("It is sunny."))
await agent.end()
`)
    const { tree, leftOpen } = await drawRecords(records)
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=24]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=2, gen_ai.response.finish_reason=stop]
            tool.get_weather OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=2, gen_ai.response.finish_reason=stop]"
    `)
    expect(leftOpen).toBe(0)
    const ids = records.map(({ payload }) => [payload['session_id'], payload['turn_id']])
    expect(new Set(ids.map(String))).toEqual(new Set(['t1,r1']))
    expect(records.find(({ hook }) => hook === 'pre_api_request')?.payload).toMatchObject({
      model: 'fake-1',
      base_url: 'http://model.local/v1',
      temperature: 0.5,
      max_tokens: 100,
    })
  })

  test('has the start of its iterations, and the confidence', async () => {
    const { records } = await played(`
agent = Agent(hook, hook)
await agent.begin()
for number in range(1, 3):
    await agent.ask(said(None, call("get_weather", "a")))
    agent.state.confidence = number / 10
    await agent.fire("on_iteration_end", number - 1, agent.state)
    await agent.fire("on_iteration_start", number, agent.state)
await agent.end()
`)
    const { plugin } = await drawRecords(records)
    const [root] = plugin.spans().filter(({ name }) => name === 'agent')
    expect(root?.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      ['hermes.turn.iteration', { 'hermes.iteration.number': 0 }],
      ['hermes.turn.iteration', { 'hermes.iteration.number': 1, 'hermes.iteration.confidence': 0.1 }],
      ['hermes.turn.iteration', { 'hermes.iteration.number': 2, 'hermes.iteration.confidence': 0.2 }],
    ])
  })

  test('is distinguished from another that runs at once, of one hook', async () => {
    const { records } = await played(`
first, second = Agent(hook, thread="a"), Agent(hook, thread="b")
weather = call("get_weather", "a", city="Rome")
for agent, run in ((first, "r1"), (second, "r2")):
    await agent.begin(run)
for agent in (first, second):
    await agent.ask(said(None, weather))
for agent in (second, first):
    await agent.before(weather)
for agent in (first, second):
    await agent.after(weather, agent.thread)
    await agent.fold(recorded(weather, agent.thread))
for agent in (second, first):
    await agent.ask(said("Done."))
    await agent.end()
`)
    const { tree } = await drawRecords(records)
    const [one, other] = tree.split('\n\n')
    expect(one).toBe(other)
    expect(one).toContain('tool.get_weather OK')
    const ends = records.filter(({ hook }) => hook === 'post_tool_call')
    expect(ends.map(({ payload }) => payload['result'])).toEqual(ends.map(({ payload }) => payload['session_id']))
  })

  test('gets a session of its own beside another of its conversation', async () => {
    const told = await played(`
for run in ("r1", "r2"):
    agent = Agent(hook, thread="t1")
    await agent.begin(run)
    await agent.ask(said("Hello."))
    if run == "r1":
        first = agent
await agent.end()
await first.end()
`)
    expect(new Set(brief(told, 'turn_id', 'session_id').map(said => String(said.slice(1))))).toEqual(
      new Set(['r1,t1', 'r2,t1:r2']),
    )
  })

  test('has failed if a later hook refuses its prompt, though no hook reports its end', async () => {
    const { records } = await played(`
class Strict:
    name = "strict"
    async def on_before_invocation(self, prompt, state):
        raise ValueError("Blocked word detected: " + prompt)

agent = Agent(hook, Strict(), thread="t1")
task = asyncio.ensure_future(agent.begin(prompt="the secret"))
await asyncio.wait([task])
await asyncio.sleep(0)
task.exception()
`)
    const { tree } = await drawRecords(records)
    expect(tree).toMatchInlineSnapshot(`
      "agent ERROR failed [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=strict]
        llm.fake-1 OK"
    `)
    expect(JSON.stringify(records)).not.toContain('the secret')
  })

  test("is tagged with the guardrails' actions, and not with their findings", async () => {
    const { records } = await played(`
class Guard:
    async def on_before_invocation(self, prompt, state):
        found = {"rule_name": "pii_email", "action": "warn", "matched_content": "a@example.org"}
        state.metadata = {"guardrail_violations": [found]}

agent = Agent(hook, Guard())
await agent.begin()
await agent.ask(said("Hello."))
await agent.end()
`)
    expect(records[0]?.payload['tags']).toEqual(['guardrail:pii_email:warn'])
    expect(JSON.stringify(records)).not.toContain('a@example.org')
  })

  test('has not failed with an exception in whose handler it runs', async () => {
    const told = await played(`
agent = Agent(hook)
try:
    raise KeyError("of somebody else")
except KeyError:
    await agent.begin()
    await agent.ask(said("Hello."))
    await agent.end()
`)
    expect(brief(told, 'completed', 'failed').at(-1)).toEqual(['on_session_end', true, false])
  })

  test('is interrupted if its reader leaves it, as is its request', async () => {
    const { records } = await played(`
agent = Agent(hook, thread="t1")
await agent.begin()
await agent.fire("on_before_model_call", run=agent.run, messages=[], tools=[])
try:
    raise asyncio.CancelledError()
except asyncio.CancelledError:
    await agent.fire("on_after_invocation", agent.state, True)
`)
    expect((await drawRecords(records)).tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=aborted]
        llm.fake-1 OK
          api.fake-1 ERROR aborted"
    `)
  })

  test('is found for an event that does not name its run', async () => {
    const told = await played(`
agent = Agent(hook)
await agent.begin()
agent.run = None
await agent.fire("on_before_model_call", run=None, messages=[], tools=[])
await agent.answer(said("Hello."))
await agent.end()
`)
    expect(brief(told, 'turn_id')).toEqual(
      [
        'on_session_start',
        'pre_llm_call',
        'on_iteration_start',
        'pre_api_request',
        'post_api_request',
        'post_llm_call',
        'on_session_end',
      ].map(hook => [hook, 'r1']),
    )
  })
})

describePython('tools', () => {
  const ENDS = ['tool_call_id', 'status', 'result'] as const

  test('is distinguished by its id, and the first of two alike comes first', async () => {
    const { records } = await played(`
agent = Agent(hook)
await agent.begin()
alike, nameless = call("get_weather", "same", city="Rome"), call("get_weather", "", city="Oslo")
await agent.ask(said(None, alike, alike, nameless, nameless))
for each in (alike, alike, nameless, nameless):
    await agent.before(each)
for number, each in enumerate((alike, alike, nameless, nameless)):
    await agent.after(each, f"result {number}")
await agent.end()
`)
    const ends = records.filter(({ hook }) => hook === 'post_tool_call')
    expect(ends.map(({ payload, correlation }) => [payload['tool_call_id'], payload['result'], correlation])).toEqual([
      ['same', 'result 0', undefined],
      ['same#2', 'result 1', undefined],
      ['call', 'result 2', 'inferred'],
      ['call#2', 'result 3', 'inferred'],
    ])
  })

  test('ends at its own time in a batch: at once, few at once, and one after the other', async () => {
    const { printed, records } = await played(`
for how, most in (("concurrent", 10), ("concurrent", 2), ("sequential", 10)):
    agent = Agent(hook)
    agent.config.tool_execution, agent.config.max_concurrency = how, most
    await agent.begin(how + str(most))
    calls = [call("wait", str(number)) for number in range(3)]
    await agent.ask(said(None, *calls))
    for each in calls:
        await agent.before(each)
    began = clock.now
    clock.now += 10
    for each in calls:
        await agent.after(each, "done")
    await agent.fold(*(recorded(each, "done", duration_ms=took) for each, took in zip(calls, (300, 100, 200))))
    await agent.end()
    print(began * 1000)
`)
    const began = printed.split('\n').map(Number)
    const ends = records.filter(({ hook }) => hook === 'post_tool_call')
    const after = ends.map(({ at = 0, payload }, index) => [
      payload['duration_ms'],
      Math.round(at - (began[Math.floor(index / 3)] ?? 0)),
    ])
    expect(after).toEqual([
      [300, 300],
      [100, 100],
      [200, 200],
      [300, 300],
      [100, 100],
      [200, 300],
      [300, 300],
      [100, 400],
      [200, 600],
    ])
  })

  test('is blocked if a hook cancels it, also one after ours', async () => {
    const told = await played(`
class Policy:
    async def on_before_tool_call(self, event):
        event.cancel = "Not without a ticket"

agent = Agent(hook, Policy())
await agent.begin()
erase = call("delete_file", "a", path="/x")
await agent.ask(said(None, erase))
await agent.before(erase)
await agent.fold(recorded(erase, "Not without a ticket", duration_ms=None))
await agent.end()
`)
    expect(brief(told, ...ENDS)).toContainEqual(['post_tool_call', 'a', 'blocked', 'Not without a ticket'])
  })

  test('is blocked if a hook refuses it by raising, and that hook fails the run', async () => {
    const told = await played(`
class Guard:
    name = "guard"
    async def on_before_tool_call(self, event):
        raise ValueError("because of " + event.arguments["path"])

for hooks in ((Guard(), hook), (hook, Guard())):
    agent = Agent(*hooks, thread="t")
    await agent.begin("r" + str(hooks.index(hook)))
    erase = call("delete_file", "a", path="/hidden")
    await agent.ask(said(None, erase))
    try:
        await agent.before(erase)
    except ValueError:
        await agent.fire("on_after_invocation", agent.state, False)
`)
    expect(brief(told, 'tool_name', 'status').filter(([hook]) => hook === 'post_tool_call')).toEqual([
      ['post_tool_call', 'delete_file', 'blocked'],
      ['post_tool_call', 'delete_file', 'blocked'],
    ])
    const ends = told.records.filter(({ hook }) => hook === 'on_session_end')
    expect(ends.map(({ payload }) => [payload['failed'], payload['turn_exit_reason']])).toEqual([
      [true, 'guard'],
      [true, 'guard'],
    ])
    expect(JSON.stringify(told.records)).not.toContain('because of')
    expect(JSON.stringify(told.records)).not.toContain('hidden')
  })

  test('has the arguments after all hooks, at any position of ours among them', async () => {
    const { records } = await played(`
class Redacts:
    async def on_before_tool_call(self, event):
        event.arguments = {"to": "[REDACTED_EMAIL]"}

for hooks in ((Redacts(), hook), (hook, Redacts())):
    agent = Agent(*hooks)
    await agent.begin("r" + str(hooks.index(hook)))
    calls = [call("mail", "a", to="a@example.org"), call("mail", "b", to="b@example.org")]
    await agent.ask(said(None, *calls))
    for each in calls:
        await agent.before(each)
    await asyncio.sleep(0)
    for each in calls:
        await agent.after(each, "sent")
    await agent.end()
`)
    const starts = records.filter(({ hook }) => hook === 'pre_tool_call')
    expect(starts.map(({ payload }) => payload['args'])).toEqual(Array(4).fill({ to: '[REDACTED_EMAIL]' }))
    expect(JSON.stringify(records)).not.toContain('example.org')
  })

  test('is two if a hook runs it again', async () => {
    const { records } = await played(`
class Again:
    async def on_after_tool_call(self, event):
        event.retry = True

agent = Agent(Again(), hook)
await agent.begin()
weather = call("get_weather", "a", city="Rome")
await agent.ask(said(None, weather))
await agent.before(weather)
await agent.after(weather, None, "TimeoutError: too slow")
await agent.fold(recorded(weather, "sunny"))
await agent.end()
`)
    expect((await drawRecords(records)).tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=12]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=2, gen_ai.response.finish_reason=stop]
            tool.get_weather ERROR TimeoutError [hermes.tool.outcome=error]
            tool.get_weather OK (inferred) [hermes.tool.outcome=completed]"
    `)
  })

  test('has the result that the model reads, marked as replaced, if a hook replaces it', async () => {
    const { records } = await played(`
class Filter:
    async def on_after_tool_call(self, event):
        event.result = "[REDACTED]"

agent = Agent(Filter(), hook)
await agent.begin()
read = call("read_file", "a", path="/x")
await agent.ask(said(None, read))
await agent.before(read)
await agent.after(read, "a@example.org")
await agent.fold(recorded(read, "[REDACTED]"))
await agent.end()
`)
    const { plugin } = await drawRecords(records)
    const [tool] = plugin.spans().filter(({ name }) => name === 'tool.read_file')
    expect(tool?.attributes['output.value']).toBe('[REDACTED]')
    expect(tool?.events.map(({ name }) => name)).toEqual(['hermes.tool.result_transformed'])
    expect(JSON.stringify(plugin.spans())).not.toContain('a@example.org')
  })

  test('is cached if it runs nothing, because the same has run', async () => {
    const told = await played(`
agent = Agent(hook)
await agent.begin()
book = call("book", "a", room=1)
await agent.ask(said(None, book))
await agent.before(book)
await agent.fold(recorded(book, "booked", idempotent_cache_hit=True))
await agent.end()
`)
    expect(brief(told, ...ENDS)).toContainEqual(['post_tool_call', 'a', 'cached', 'booked'])
  })
})

describePython('requests', () => {
  test('counts the cache as a part of the input, wherever the model counts it', async () => {
    const told = await played(`
counts = (
    {"prompt_tokens": 120, "completion_tokens": 17, "cached_tokens": 20, "cache_write_tokens": 5},
    {"prompt_tokens": 95, "completion_tokens": 17, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 5},
    {},
)
agent = Agent(hook)
await agent.begin()
for each in counts:
    await agent.ask(said("Hello.", usage=each or {"completion_tokens": 0}))
await agent.end()
`)
    const usage = {
      prompt_tokens: 120,
      output_tokens: 17,
      total_tokens: 137,
      cache_read_tokens: 20,
      cache_write_tokens: 5,
    }
    expect(brief(told, 'usage').filter(([hook]) => hook === 'post_api_request')).toEqual([
      ['post_api_request', usage],
      ['post_api_request', usage],
      ['post_api_request', undefined],
    ])
  })

  test('has an attempt for each repetition by the loop, at its time', async () => {
    const { records } = await played(`
from datetime import datetime, timezone
agent = Agent(hook)
await agent.begin()
await agent.fire("on_before_model_call", run=agent.run, messages=[], tools=[])
began = clock.now
at = datetime.fromtimestamp(began + 1, timezone.utc)
agent.run.retry_events.append(Some(timestamp=at, error="RateLimitError: slow down", reason="rate_limit", status_code=429,
                                   delay_seconds=2.0))
clock.now += 5
await agent.answer(said("Hello."))
await agent.end()
print(began * 1000)
`)
    const { tree } = await drawRecords(records)
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=12]
        llm.fake-1 OK
          api.fake-1 ERROR RateLimitError [http.response.status_code=429]
          api.fake-1 OK [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=2, gen_ai.response.finish_reason=stop]"
    `)
    const [first, failed, second] = records.filter(
      ({ hook }) => hook.endsWith('api_request') || hook === 'api_request_error',
    )
    const since = (record?: { readonly at?: number | undefined }): number =>
      Math.round(((record?.at ?? 0) - (first?.at ?? 0)) / 1000)
    expect([since(failed), since(second)]).toEqual([1, 3])
  })

  test('is repeated if a hook rejects its answer', async () => {
    const { records } = await played(`
class Again:
    async def on_after_model_call(self, event):
        event.retry = event.response.message.content == "Hm."

agent = Agent(Again(), hook)
await agent.begin()
await agent.ask(said("Hm."), said("Hello."))
await agent.end()
`)
    expect((await drawRecords(records)).tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=24]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=2, gen_ai.response.finish_reason=stop]
          api.fake-1 OK (inferred) [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=2, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('has texts only with full capture', async () => {
    const SAYS = `
agent = Agent(hook)
await agent.begin()
user = Some(role=Some(value="user"), content="a long story", tool_calls=[], tool_call_id=None)
await agent.fire("on_before_model_call", run=agent.run, messages=[user], tools=[{"type": "function"}])
await agent.answer(said("Hm.", call("get_weather", "a", city="Rome")))
await agent.ask(said("Hello."))
await agent.end()
`
    expect(JSON.stringify((await played(SAYS)).records)).not.toMatch(/a long story|"tools"|Rome/)
    const full = (await played(SAYS, { HOOKSPAN_CONTENT_CAPTURE: 'full' })).records
    expect(full.find(({ hook }) => hook === 'pre_api_request')?.payload['request']).toEqual({
      body: { messages: [{ role: 'user', content: 'a long story' }], tools: [{ type: 'function' }] },
    })
    expect(JSON.stringify(full)).toContain('"arguments":{"city":"Rome"}')
  })
})

describePython('a hook', () => {
  test('raises nothing, changes nothing and passes the state on, with any arguments', async () => {
    const { printed } = await played(`
class Broken:
    def __getattr__(self, name):
        raise RuntimeError(name)

class State2(State):
    pass

state = State2("r1")
assert await hook.on_before_invocation(Broken(), state) is state
broken = Broken()
assert await hook.on_before_invocation("", broken) is broken
for name in ("on_before_model_call", "on_after_model_call", "on_before_tool_call", "on_after_tool_call"):
    for event in (Broken(), None, 1, Some(run=Some(run_id="r1"), _run_ctx=None)):
        assert await getattr(hook, name)(event) is None
for name in ("on_iteration_start", "on_iteration_end"):
    assert await getattr(hook, name)(0, Broken()) is None
assert await hook.on_after_invocation(Broken(), True) is None
event = Some(run=Some(run_id="r1", thread_id=None, agent_name=None), _run_ctx=None, tool_name="t", tool_call_id="a",
             arguments={"deep": [Broken(), float("nan"), {"\\ud800": object}]}, cancel=False)
before = dict(vars(event))
assert await hook.on_before_tool_call(event) is None
assert vars(event) == before
print("well")
`)
    expect(printed).toBe('well')
  })

  test('emits once if it is there twice, or beside another of us', async () => {
    const told = await played(`
agent = Agent(hook, hook, shim.create_hook())
await agent.begin()
await agent.ask(said("Hello."))
await agent.end()
`)
    expect(brief(told).map(([hook]) => hook)).toEqual([
      'on_session_start',
      'pre_llm_call',
      'on_iteration_start',
      'pre_api_request',
      'post_api_request',
      'post_llm_call',
      'on_session_end',
    ])
  })

  test('does nothing if it is not enabled', async () => {
    const { records, printed } = await played(`
off = shim.create_hook(enabled=False)
agent = Agent(off)
await agent.begin()
await agent.ask(said("Hello."))
await agent.end()
print(off.name == hook.name, off.priority == hook.priority, isinstance(hook, type(off)))
`)
    expect(records).toEqual([])
    expect(printed).toBe('True True True')
  })

  test('drops a run that never ends after a time', async () => {
    const { printed } = await played(`
sys.modules["hookspan_locus.runs"].MOST = 3
for number in range(5):
    await hook.on_before_invocation("", State(str(number)))
print(list(shim.RUNS))
`)
    expect(printed).toBe("['2', '3', '4']")
  })

  test('reaches a receiver, also out of a fork', async () => {
    const scene = new ShimScene()
    await scene.listen()
    const { records } = await scene.play(`
agent = Agent(hook)
await agent.begin("parent")
await agent.ask(said("Hello."))
shim.receiver.sender().drain(60)
child = os.fork()
if child == 0:
    await agent.end()
    shim.receiver.sender().drain(60)
    os._exit(0)
os.waitpid(child, 0)
`)
    expect(scene.posted).toHaveLength(records.length)
    expect((await drawRecords(records)).tree).toContain('agent OK')
    expect(records.at(-1)?.hook).toBe('on_session_end')
  })
})
