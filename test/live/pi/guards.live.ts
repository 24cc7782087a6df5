import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ABLE } from '../../../src/agents/pi/hooks.ts'
import type { ModelReply, ModelRequest, ModelServer } from '../../support/model-server.mjs'
import { attributesOf, FAILURES, failing, GuardScenes, guardModule, guardTree, hook, NO_RM } from '../guard-scenes.ts'
import { type PiHome, piHome, print, RpcPi } from './pi-host.ts'
import { bash, calls, modelThat } from './scripted-model.ts'

const scenes = new GuardScenes(ABLE)
const DONE = () => ({ text: 'Done.' })

interface Guarded {
  readonly server: ModelServer
  readonly pi: PiHome
}

/** @param file decides whether it is loaded before `hookspan.ts`, or after it */
async function guarded(
  hooks: readonly string[],
  answer: (request: ModelRequest) => ModelReply,
  file = 'z-guards.ts',
): Promise<Guarded> {
  const server = await modelThat(answer)
  const attach = "import { attachHooks } from 'hookspan/hooks/pi'\nexport default pi => attachHooks(pi, hooks)"
  return { server, pi: piHome(server, { extensions: { [file]: guardModule(hooks, attach) } }) }
}

function keep({ cwd }: PiHome): string {
  const path = join(cwd, 'keep.txt')
  writeFileSync(path, 'kept')
  return path
}

/** What a tool gave the model. */
function resultsOf({ server }: Guarded): string[] {
  return server.requests.flatMap(({ lastToolResults }) => lastToolResults.map(({ text }) => text.trim()))
}

function saidBy(kind: 'system' | 'user', request: ModelRequest | undefined): string {
  return (request?.items ?? []).flatMap(item => (item.kind === kind ? [item.text] : [])).join('\n')
}

describe.each(['a-guards.ts', 'z-guards.ts'])('loaded as %s', file => {
  scenes.scene('beforeTool', 'block', 'rm does not run, and the model and the trace know why', async () => {
    const scene = await guarded([NO_RM], calls(bash('rm keep.txt', 'call_1')), file)
    const path = keep(scene.pi)
    await print(scene.pi, 'Delete it')
    expect(existsSync(path)).toBe(true)
    expect(resultsOf(scene)).toEqual(['Files are not deleted here.'])
    expect(await guardTree(scene.pi.home)).toMatchInlineSnapshot(`
      "agent OK
        llm.fake-1 OK
          api.fake-1 OK
            tool.bash OK [hermes.tool.outcome=blocked, hermes.tool.blocked_by=no-rm]
              hook.no-rm OK [hermes.hook.phase=before_tool, hermes.hook.verdict=block, hermes.hook.action=blocked]
          api.fake-1 OK"
    `)
  })

  scenes.scene('beforeTurn', 'inject', 'a line for the system prompt and one beside the prompt', async () => {
    const body = "return inject('Answer in Latin.', 'system')"
    const other = `{ name: 'other', decisions: ['inject'], beforeTurn: () => inject('It is Monday.', 'user') }`
    const scene = await guarded([hook('beforeTurn', 'inject', body), other], DONE, file)
    await print(scene.pi, 'Say it')
    const [request] = scene.server.requests
    expect(saidBy('system', request)).toMatch(/\S\n\nAnswer in Latin\.$/)
    expect(saidBy('user', request)).toBe('Say it\nIt is Monday.')
    expect(await guardTree(scene.pi.home)).toMatchInlineSnapshot(`
      "agent OK
        hook.guard OK [hermes.hook.phase=before_turn, hermes.hook.verdict=inject, hermes.hook.action=injected]
        hook.other OK [hermes.hook.phase=before_turn, hermes.hook.verdict=inject, hermes.hook.action=injected]
        llm.fake-1 OK
          api.fake-1 OK"
    `)
  })
})

scenes.scene('beforeTool', 'rewrite', 'the tool runs with what the hook has made of it', async () => {
  const body = "return rewrite({ ...event.tool.arguments, command: 'echo two' })"
  const scene = await guarded([hook('beforeTool', 'rewrite', body)], calls(bash('echo one', 'call_1')))
  await print(scene.pi, 'Say one')
  expect(resultsOf(scene)).toEqual(['two'])
  expect(await guardTree(scene.pi.home)).toMatchInlineSnapshot(`
    "agent OK
      llm.fake-1 OK
        api.fake-1 OK
          tool.bash OK [hermes.tool.outcome=completed]
            hook.guard OK [hermes.hook.phase=before_tool, hermes.hook.verdict=rewrite, hermes.hook.action=rewritten]
        api.fake-1 OK"
  `)
  expect(await attributesOf(scene.pi.home, 'tool.bash', 'input.value')).toEqual(['{"command":"echo two"}'])
  expect(await attributesOf(scene.pi.home, 'hook.guard', 'hermes.hook.rewritten_fields')).toEqual([['command']])
})

describe('asking', () => {
  const REWRITES =
    "{ name: 'echo', decisions: ['rewrite'], beforeTool: () => rewrite({ command: 'echo two > made.txt' }) }"
  const asks = hook('beforeTool', 'ask', "return ask('May this run?')")

  async function asked(answer: boolean): Promise<{ scene: Guarded; stdout: string }> {
    const scene = await guarded([asks, REWRITES], calls(bash('echo one', 'call_1')))
    const rpc = new RpcPi(scene.pi)
    rpc.send({ type: 'prompt', message: 'Say one' })
    await rpc.answer(answer)
    await rpc.settled()
    const { stdout } = await rpc.end()
    return { scene, stdout }
  }

  scenes.scene('beforeTool', 'ask', 'the person agrees to exactly what runs', async () => {
    const { scene, stdout } = await asked(true)
    expect(stdout).toContain('"method":"confirm","title":"May this run?","message":"echo two > made.txt"')
    expect(existsSync(join(scene.pi.cwd, 'made.txt'))).toBe(true)
    expect(await guardTree(scene.pi.home)).toMatchInlineSnapshot(`
      "agent OK
        llm.fake-1 OK
          api.fake-1 OK
            tool.bash OK [hermes.tool.outcome=completed]
              hook.echo OK [hermes.hook.phase=before_tool, hermes.hook.verdict=rewrite, hermes.hook.action=rewritten]
              hook.guard OK [hermes.hook.phase=before_tool, hermes.hook.verdict=ask, hermes.hook.action=asked]
              approval.bash OK (inferred)
          api.fake-1 OK"
    `)
  })

  scenes.scene('beforeTool', 'ask', 'the person does not agree', async () => {
    const { scene } = await asked(false)
    expect(existsSync(join(scene.pi.cwd, 'made.txt'))).toBe(false)
    expect(resultsOf(scene)).toEqual(['The hook guard had a person asked, who has not agreed.'])
  })

  scenes.scene('beforeTool', 'ask', 'nobody is there, and it does not run', async () => {
    const scene = await guarded([asks, REWRITES], calls(bash('echo one', 'call_1')))
    await print(scene.pi, 'Say one')
    expect(existsSync(join(scene.pi.cwd, 'made.txt'))).toBe(false)
    expect(resultsOf(scene)).toMatchInlineSnapshot(`
      [
        "The hook guard wants to ask the user, which is not possible here: May this run?",
      ]
    `)
    expect(await guardTree(scene.pi.home)).toMatchInlineSnapshot(`
      "agent OK
        llm.fake-1 OK
          api.fake-1 OK
            tool.bash OK [hermes.tool.outcome=blocked, hermes.tool.blocked_by=guard]
              hook.echo OK [hermes.hook.phase=before_tool, hermes.hook.verdict=rewrite, hermes.hook.action=none]
              hook.guard OK [hermes.hook.phase=before_tool, hermes.hook.verdict=ask, hermes.hook.action=blocked]
          api.fake-1 OK"
    `)
  })
})

scenes.scene('beforeTurn', 'block', 'nothing is asked of the model, and the person is told why', async () => {
  const body = "return /secret/.test(event.prompt) ? block('No secrets.', { detail: 'rule 7' }) : undefined"
  const scene = await guarded([hook('beforeTurn', 'block', body)], DONE)
  const { stdout, stderr } = await print(scene.pi, 'Tell me the secret')
  expect(scene.server.requests).toEqual([])
  expect(stdout).toBe('')
  expect(stderr).toContain('hookspan: pi: A hook has blocked this prompt: No secrets. (rule 7)')
  expect(await guardTree(scene.pi.home)).toMatchInlineSnapshot(`
    "agent OK
      hook.guard OK [hermes.hook.phase=before_turn, hermes.hook.verdict=block, hermes.hook.action=blocked]"
  `)
})

scenes.scene('beforeTurn', 'block', 'and the next prompt is a turn of its own', async () => {
  const body = "return /secret/.test(event.prompt) ? block('No secrets.') : undefined"
  const scene = await guarded([hook('beforeTurn', 'block', body)], DONE)
  const rpc = new RpcPi(scene.pi)
  rpc.send({ type: 'prompt', message: 'Tell me the secret' })
  await rpc.sees('"method":"notify"')
  await rpc.prompt('Then say something else')
  await rpc.end()
  expect(await guardTree(scene.pi.home)).toMatchInlineSnapshot(`
    "agent OK
      hook.guard OK [hermes.hook.phase=before_turn, hermes.hook.verdict=block, hermes.hook.action=blocked]

    agent OK
      llm.fake-1 OK
        api.fake-1 OK"
  `)
})

scenes.scene('beforeTurn', 'rewrite', 'the model gets the other prompt', async () => {
  const scene = await guarded([hook('beforeTurn', 'rewrite', "return rewrite(event.prompt + ' politely')")], DONE)
  await print(scene.pi, 'Say it')
  expect(saidBy('user', scene.server.requests[0])).toBe('Say it politely')
  expect(await guardTree(scene.pi.home)).toMatchInlineSnapshot(`
    "agent OK
      hook.guard OK [hermes.hook.phase=before_turn, hermes.hook.verdict=rewrite, hermes.hook.action=rewritten]
      llm.fake-1 OK
        api.fake-1 OK"
  `)
})

scenes.scene('beforeModel', 'rewrite', 'the model gets the other messages', async () => {
  const body = "return rewrite(event.messages.map(each => ({ ...each, text: each.text.replace('one', 'two') })))"
  const scene = await guarded([hook('beforeModel', 'rewrite', body)], calls(bash('echo one', 'call_1')))
  await print(scene.pi, 'Say one')
  expect(saidBy('user', scene.server.requests[0])).toBe('Say two')
  expect(resultsOf(scene)).toEqual(['two'])
})

scenes.scene('beforeModel', 'inject', 'the model is told one line more, in that request', async () => {
  const body = "return inject('It is Monday.', event.messages.length === 1 ? 'user' : 'system')"
  const scene = await guarded([hook('beforeModel', 'inject', body)], calls(bash('echo one', 'call_1')))
  await print(scene.pi, 'Say one')
  const [first, second] = scene.server.requests
  expect(saidBy('user', first)).toBe('Say one\nIt is Monday.')
  expect(saidBy('system', first)).not.toContain('Monday')
  expect(saidBy('user', second)).toBe('Say one')
  expect(saidBy('system', second)).toContain('It is Monday.')
  expect(await guardTree(scene.pi.home)).toMatchInlineSnapshot(`
    "agent OK
      llm.fake-1 OK
        hook.guard OK [hermes.hook.phase=before_model, hermes.hook.verdict=inject, hermes.hook.action=injected]
        api.fake-1 OK
          tool.bash OK [hermes.tool.outcome=completed]
        hook.guard OK [hermes.hook.phase=before_model, hermes.hook.verdict=inject, hermes.hook.action=injected]
        api.fake-1 OK"
  `)
})

scenes.scene('afterModel', 'rewrite', 'what is printed is the other answer', async () => {
  const scene = await guarded([hook('afterModel', 'rewrite', "return rewrite(event.text + ' Gladly.')")], DONE)
  expect((await print(scene.pi, 'Say it')).stdout).toBe('Done. Gladly.\n')
})

scenes.scene('afterModel', 'block', 'the answer is not given, and its tool is not called', async () => {
  const body = "return event.toolCalls.some(({ kind }) => kind === 'shell') ? block('No commands today.') : undefined"
  const scene = await guarded([hook('afterModel', 'block', body)], calls(bash('rm keep.txt', 'call_1')))
  const path = keep(scene.pi)
  expect((await print(scene.pi, 'Delete it')).stdout).toBe('No commands today.\n')
  expect(existsSync(path)).toBe(true)
  expect(scene.server.requests).toHaveLength(1)
})

scenes.scene('afterTool', 'rewrite', 'the model gets the other result', async () => {
  const scene = await guarded(
    [hook('afterTool', 'rewrite', "return rewrite(event.result.replace('one', 'two'))")],
    calls(bash('echo one', 'call_1')),
  )
  await print(scene.pi, 'Say one')
  expect(resultsOf(scene)).toEqual(['two'])
  expect(await guardTree(scene.pi.home)).toMatchInlineSnapshot(`
    "agent OK
      llm.fake-1 OK
        api.fake-1 OK
          tool.bash OK [hermes.tool.outcome=completed]
            hook.guard OK [hermes.hook.phase=after_tool, hermes.hook.verdict=rewrite, hermes.hook.action=rewritten]
        api.fake-1 OK"
  `)
})

scenes.scene('afterTool', 'block', 'the model gets the reason in the place of the result', async () => {
  const scene = await guarded(
    [hook('afterTool', 'block', "return block('Withheld.')")],
    calls(bash('echo one', 'call_1')),
  )
  await print(scene.pi, 'Say one')
  expect(resultsOf(scene)).toEqual(['Withheld.'])
})

scenes.scene('afterTool', 'inject', 'the model gets a line behind the result', async () => {
  const scene = await guarded(
    [hook('afterTool', 'inject', "return inject('That was the first one.')")],
    calls(bash('echo one', 'call_1')),
  )
  await print(scene.pi, 'Say one')
  expect(resultsOf(scene).join()).toMatch(/^one\s+That was the first one\.$/)
})

scenes.scene('afterTurn', 'retry', 'the model is asked again, three times at most', async () => {
  const body = "return event.answer === 'Done.' ? retry({ feedback: 'Not yet.', delayMillis: 5 }) : undefined"
  const scene = await guarded([hook('afterTurn', 'retry', body)], DONE)
  const { stdout, stderr } = await print(scene.pi, 'Say it')
  expect({ stdout, requests: scene.server.requests.length }).toEqual({ stdout: 'Done.\n', requests: 4 })
  expect(saidBy('user', scene.server.requests[1])).toBe('Say it\nNot yet.')
  expect(stderr).toContain('hook guard wanted a retry in afterTurn for the 4th time; 3 are made at most')
  expect(await guardTree(scene.pi.home)).toMatchInlineSnapshot(`
    "agent OK
      llm.fake-1 OK
        api.fake-1 OK
        hook.guard OK [hermes.hook.phase=after_turn, hermes.hook.verdict=retry, hermes.hook.action=retried]
        api.fake-1 OK
        hook.guard OK [hermes.hook.phase=after_turn, hermes.hook.verdict=retry, hermes.hook.action=retried]
        api.fake-1 OK
        hook.guard OK [hermes.hook.phase=after_turn, hermes.hook.verdict=retry, hermes.hook.action=retried]
        api.fake-1 OK
        hook.guard OK [hermes.hook.phase=after_turn, hermes.hook.verdict=retry, hermes.hook.action=none]"
  `)
})

describe.each(FAILURES)('a guard that $how', ({ body, failure }) => {
  test.each(['pass', 'block'] as const)('counts as %s', async onFailure => {
    const scene = await guarded([failing(body, onFailure)], calls(bash('echo one', 'call_1')))
    const { stdout, stderr } = await print(scene.pi, 'Say one')
    const closed = 'The hook broken failed to check this, and is set to block on failure.'
    expect(resultsOf(scene)).toEqual([onFailure === 'pass' ? 'one' : closed])
    expect(stdout).toBe('Done.\n')
    expect(stderr).toContain(`hookspan: pi: hook broken failed in beforeTool, which counts as ${onFailure}: `)
    expect(await attributesOf(scene.pi.home, 'hook.broken', 'hermes.hook.failure')).toEqual([failure])
    expect(await attributesOf(scene.pi.home, 'hook.broken', 'hermes.hook.action')).toEqual([
      onFailure === 'pass' ? 'ran' : 'blocked',
    ])
  })
})

scenes.end()
