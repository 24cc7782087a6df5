import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { describePython, ShimScene, type Told } from './scene.ts'

const CALL = 'tool_name="terminal", args={"command": "rm x"}, session_id="s1", tool_call_id="c1"'
const REASON = 'hookspan could not ask the hooks that guard this agent, which is set up to do nothing then.'
const OPEN = { HOOKSPAN_GUARDS: 'open' }
const CLOSED = { HOOKSPAN_GUARDS: 'closed' }

/** What Hermes does with a tool: middleware, then the hook, with what the first has made of the arguments. */
const TOOL = `
changed = ask("tool_request", ${CALL}, original_args={"command": "rm x"}) or {"args": {"command": "rm x"}}
print(json.dumps([changed["args"], ask("pre_tool_call", ${CALL.replace('args={"command": "rm x"}', 'args=changed["args"]')})]))
drained()
`

async function asked(answer: (record: Told) => object | undefined, scenario = TOOL, env: object = OPEN) {
  const scene = new ShimScene()
  await scene.listen('takes it', {}, answer)
  return { scene, said: JSON.parse(await scene.play(scenario, { env: { ...env } })) as unknown }
}

describePython('hooks that act in Hermes', () => {
  test('asks and registers nothing unless configured', async () => {
    const scene = new ShimScene()
    await scene.listen('takes it', {}, () => ({ action: 'block', message: 'No.' }))
    const play = 'print(len(context.middleware))\nfire("pre_tool_call", tool_name="terminal", args={})\ndrained()'
    expect(await scene.play(play)).toBe('0\n')
    expect(await scene.play(play, { env: { HOOKSPAN_GUARDS: 'off' } })).toBe('0\n')
    expect(scene.requests.map(({ headers }) => headers['x-hookspan-decide'])).toEqual([undefined, undefined])
  })

  test('asks about a tool once, with all of its data, and records that', async () => {
    const { scene, said } = await asked(() => undefined)
    expect(said).toEqual([{ command: 'rm x' }, null])
    expect(scene.posted().map(({ hook, payload }) => ({ hook, payload }))).toEqual([
      {
        hook: 'pre_tool_call',
        payload: { tool_name: 'terminal', args: { command: 'rm x' }, session_id: 's1', tool_call_id: 'c1' },
      },
    ])
    expect(scene.requests[0]?.headers['x-hookspan-decide']).toBe('open')
  })

  test.each([
    ['a block', { action: 'block', message: 'No.' }, [{ command: 'rm x' }, { action: 'block', message: 'No.' }]],
    [
      'a question',
      { action: 'approve', message: 'Really?', rule_key: 'k' },
      [{ command: 'rm x' }, { action: 'approve', message: 'Really?', rule_key: 'k' }],
    ],
    [
      'other arguments',
      { action: 'modify', args: { command: 'ls' } },
      [{ command: 'ls' }, { action: 'modify', args: { command: 'ls' } }],
    ],
    [
      'other arguments, and a question about these',
      { action: 'approve', message: 'Really?', args: { command: 'ls' } },
      [{ command: 'ls' }, { action: 'approve', message: 'Really?', args: { command: 'ls' } }],
    ],
    ['something else', { nonsense: 1 }, [{ command: 'rm x' }, null]],
  ])('returns %s to Hermes', async (_, answer, said) => {
    expect((await asked(() => answer)).said).toEqual(said)
  })

  test('asks again about data that changed since', async () => {
    const play = `
ask("tool_request", ${CALL})
print(json.dumps(ask("pre_tool_call", tool_name="terminal", args={"command": "rm -rf /"}, tool_call_id="c1")))
`
    const { scene, said } = await asked(({ payload }) => {
      const { command } = payload['args'] as { command: string }
      return command === 'rm x' ? undefined : { action: 'block', message: command }
    }, play)
    expect(said).toEqual({ action: 'block', message: 'rm -rf /' })
    expect(scene.posted()).toHaveLength(2)
  })

  test('returns a line beside the prompt, another result and another answer', async () => {
    const play = `
print(json.dumps([
    ask("pre_llm_call", session_id="s1", user_message="hi", conversation_history=[{"secret": 1}]),
    ask("transform_tool_result", tool_name="terminal", args={}, result="long" * 200_000),
    ask("transform_llm_output", response_text="yes"),
]))
`
    const answers: Record<string, object> = {
      pre_llm_call: { context: 'Be brief.' },
      transform_tool_result: { result: 'masked' },
      transform_llm_output: { result: 'no' },
    }
    const { scene, said } = await asked(({ hook }) => answers[hook], play)
    expect(said).toEqual([{ context: 'Be brief.' }, 'masked', 'no'])
    const [prompt, result] = scene.posted()
    expect(prompt?.payload).toEqual({ session_id: 's1', user_message: 'hi' })
    expect(String(result?.payload['result'])).toHaveLength(800_000)
  })

  test('delivers earlier events before a question', async () => {
    const play = `fire("post_api_request", session_id="s1")\n${TOOL}`
    const { scene } = await asked(() => undefined, play)
    expect(scene.posted().map(({ hook }) => hook)).toEqual(['post_api_request', 'pre_tool_call'])
  })

  describe('without an answer', () => {
    const THEN = `
print(json.dumps([ask("pre_tool_call", ${CALL}), ask("transform_tool_result", result="x"), ask("pre_llm_call")]))
drained()
`
    const silent = ['nobody is there', 'hangs', 'refuses'] as const

    test.each(silent)('continues if open (%s)', async behaviour => {
      const scene = new ShimScene()
      if (behaviour !== 'nobody is there') await scene.listen(behaviour)
      expect(JSON.parse(await scene.play(THEN, { env: OPEN, isImpatient: true }))).toEqual([null, null, null])
    })

    test.each(silent)('runs no tool and shows no result if closed (%s)', async behaviour => {
      const scene = new ShimScene()
      if (behaviour !== 'nobody is there') await scene.listen(behaviour)
      expect(JSON.parse(await scene.play(THEN, { env: CLOSED, isImpatient: true }))).toEqual([
        { action: 'block', message: REASON },
        JSON.stringify({ error: REASON }),
        null,
      ])
    })

    test('records the question all the same', async () => {
      const scene = new ShimScene()
      await scene.play(THEN, { env: CLOSED })
      const hooks = scene.spooled().map(({ body }) => body.hook)
      expect(hooks.toSorted()).toEqual(['pre_llm_call', 'pre_tool_call', 'transform_tool_result'])
    })

    test('blocks if closed a tool whose data are no JSON', async () => {
      const play = 'print(json.dumps(ask("pre_tool_call", tool_name="terminal", args={"command": {1, 2}})))'
      expect((await asked(() => undefined, play, CLOSED)).said).toEqual({ action: 'block', message: REASON })
      expect((await asked(() => undefined, play, OPEN)).said).toBeNull()
    })
  })

  test.each([
    ['open', 'open\n', 'open'],
    ['closed', 'closed\n', 'closed'],
    ['an unknown word: it was meant to guard', 'clsed', 'closed'],
  ])('reads the file beside its configuration: %s', async (_, text, failing) => {
    const scene = new ShimScene()
    await scene.listen()
    const hermes = join(scene.home, '.hermes')
    mkdirSync(hermes)
    writeFileSync(join(hermes, 'hookspan-guards'), text, { mode: 0o600 })
    await scene.play(TOOL, { env: { HERMES_HOME: hermes } })
    await scene.play(TOOL)
    expect(scene.requests.map(({ headers }) => headers['x-hookspan-decide'])).toEqual([failing, failing])
  })

  test('closes for a file that may not be read', async () => {
    const scene = new ShimScene()
    await scene.listen()
    mkdirSync(join(scene.home, '.hermes'))
    symlinkSync('/etc/hostname', join(scene.home, '.hermes', 'hookspan-guards'))
    await scene.play(TOOL)
    expect(scene.requests[0]?.headers['x-hookspan-decide']).toBe('closed')
  })
})
