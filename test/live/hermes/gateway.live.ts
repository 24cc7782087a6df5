import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StoredSpan } from '../../../src/viewer/stored-span.ts'
import type { ModelReply, ModelRequest, ModelToolCall } from '../../support/model-server.mjs'
import type { Traces } from '../live-host.ts'
import { HermesGateway, type Prompt, type Run } from './gateway.ts'
import { type Recorded, recordsOf } from './hermes-home.ts'
import { record, replayed, tokensOf, totalOnRoots } from './scene.ts'
import { type Answer, isSideCall, RefusingProxy, ScriptedModel } from './scripted-model.ts'

let model: ScriptedModel
let proxy: RefusingProxy
let gateway: HermesGateway
let scenes = 0

beforeAll(async () => {
  model = await ScriptedModel.start()
  proxy = await RefusingProxy.start()
  const settings = {
    // The memory is reviewed after the third turn of a session.
    memory: { nudge_interval: 3 },
  }
  gateway = await HermesGateway.start({ modelUrl: model.url, proxyUrl: proxy.url, settings })
})

afterAll(async () => {
  await gateway?.close()
  await proxy?.close()
  await model?.close()
})

interface Scene {
  readonly scenario: string
  readonly description: string
  readonly answer: Answer
  /** Default: one prompt. */
  readonly act?: (session: string) => Promise<unknown>
  readonly choice?: Prompt['choice']
  /** Then everything has been recorded: what goes on after the turn. */
  readonly until?: (records: readonly Recorded[]) => boolean
}

interface Lived extends Traces {
  readonly records: readonly Recorded[]
}

/** Has Hermes do it, makes a fixture of it where one is wanted, and compares what was served with what was traced. */
async function lived({ scenario, description, answer, act, choice, until = () => true }: Scene): Promise<Lived> {
  const before = recordsOf(gateway.hermes).length
  const told = (): Recorded[] => recordsOf(gateway.hermes).slice(before)
  model.play(answer)
  scenes += 1
  const session = `${scenario}-${scenes}`
  await (act?.(session) ?? say({ session, text: 'Do it.', choice }))
  while (!until(told())) await new Promise(resolve => setTimeout(resolve, 50))
  const records = told()
  record(gateway.hermes, records, scenario, `hermes gateway: ${description}`)
  const traces = await replayed(records)
  expect(tokensOf(traces.spans)).toEqual(model.served)
  expect(totalOnRoots(traces.spans)).toBe(model.served.input + model.served.output)
  expect(traces.tree).not.toMatch(/parent missing|ambiguous|retroactive/)
  return { ...traces, records }
}

async function say(prompt: Prompt): Promise<Run> {
  return await gateway.run(prompt)
}

const shell = (command: string): ModelToolCall => ({ name: 'terminal', arguments: { command } })
const read = (path: string): ModelToolCall => ({ name: 'read_file', arguments: { path } })

/** Asks for these calls, and says this once their results are there. */
function asksFor(toolCalls: readonly ModelToolCall[], text: string): Answer {
  return ({ toolResults }) => (toolResults >= toolCalls.length ? { text } : { toolCalls })
}

test('a tool', async () => {
  const { tree } = await lived({
    scenario: 'tool',
    description: 'one shell command',
    answer: asksFor([shell('echo hi')], 'It said hi.'),
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2106]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.terminal OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
})

test('tools side by side', async () => {
  const { tree } = await lived({
    scenario: 'parallel',
    description: 'four tools in one answer: two files side by side, two shell commands',
    answer: asksFor(
      [read('/etc/hostname'), read('/etc/passwd'), shell('sleep 0.3; echo one'), shell('sleep 0.2; echo two')],
      'Read four.',
    ),
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2139]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.read_file OK [hermes.tool.outcome=completed]
          tool.read_file OK [hermes.tool.outcome=completed]
          tool.terminal OK [hermes.tool.outcome=completed]
          tool.terminal OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=1070, gen_ai.usage.cache_read.input_tokens=107, gen_ai.usage.output_tokens=27, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
})

test('tools that fail', async () => {
  const { tree } = await lived({
    scenario: 'tools-fail',
    description: 'a shell command that ends with 2, a file that is missing, arguments that are no JSON, an unknown tool',
    answer: ({ items }) => failing[items.filter(({ kind }) => kind === 'result').length] ?? { text: 'All failed.' },
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=4300]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.terminal OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.read_file ERROR tool_error [hermes.tool.outcome=error]
        api.fake-1 OK [gen_ai.usage.input_tokens=1060, gen_ai.usage.cache_read.input_tokens=106, gen_ai.usage.output_tokens=26, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
        api.fake-1 OK [gen_ai.usage.input_tokens=1080, gen_ai.usage.cache_read.input_tokens=108, gen_ai.usage.output_tokens=28, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
})

const failing: readonly ModelReply[] = [
  { toolCalls: [shell('ls /does-not-exist')] },
  { toolCalls: [read('/does/not/exist.txt')] },
  { toolCalls: [{ name: 'no_such_tool', arguments: {} }] },
]

const REMOVES = shell('rm -rf /srv/nothing-there')

/** The model is asked first, beside the turn, whether a command is harmless. */
function reviewedBy(verdict: string, answer: Answer): Answer {
  return request => (isSideCall(request) ? { text: verdict } : answer(request))
}

test.each(['once', 'deny'] as const)('an approval that a person is asked for: %s', async choice => {
  const { tree } = await lived({
    scenario: `approval-${choice}`,
    description: `a dangerous command: the model does not know, a person says ${choice}`,
    answer: reviewedBy('ESCALATE', asksFor([REMOVES], 'Done with it.')),
    choice,
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot()
})

test('a command that the model finds harmless', async () => {
  const { tree } = await lived({
    scenario: 'approval-smart',
    description: 'a dangerous command that the model approves of',
    answer: reviewedBy('APPROVE', asksFor([REMOVES], 'Done with it.')),
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2106]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.terminal OK [hermes.tool.outcome=completed]
            approval.delete in root path OK [hermes.approval.choice=smart_approve]
        api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
})

test('a delegation', async () => {
  const { tree } = await lived({
    scenario: 'delegation',
    description: 'a child agent that runs one shell command',
    answer: request =>
      request.prompt.includes('count')
        ? asksFor([shell('echo 1 2 3 | wc -w')], 'There are three.')(request)
        : asksFor([{ name: 'delegate_task', arguments: { goal: 'count them', context: 'none' } }], 'Three.')(request),
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2106]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.delegate_task OK [hermes.tool.outcome=completed]
            subagent.leaf OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2106]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
                    tool.terminal OK [hermes.tool.outcome=completed]
                  api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
        api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
})

test('three children at once, one of which has to try again', async () => {
  const tasks = ['the first', 'the second', 'the third'].map(goal => ({ goal, context: 'none' }))
  const { tree } = await lived({
    scenario: 'batch',
    description: 'three child agents at once: a tool, a 503 and then an answer, an answer',
    answer: request => {
      if (request.prompt.includes('the first')) return asksFor([shell('echo 1')], 'One.')(request)
      if (request.prompt.includes('the second'))
        return request.attempt < 3 ? { status: 503, error: 'too busy' } : { text: 'Two.' }
      if (request.prompt.includes('the third')) return { text: 'Three.', delayMillis: 100 }
      return asksFor([{ name: 'delegate_task', arguments: { tasks } }], 'All three.')(request)
    },
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2106]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.delegate_task OK [hermes.tool.outcome=completed]
            subagent.leaf OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2106]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
                    tool.terminal OK [hermes.tool.outcome=completed]
                  api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
            subagent.leaf OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=1042]
                llm.fake-1 OK
                  api.fake-1 ERROR InternalServerError [http.response.status_code=503]
                  api.fake-1 ERROR InternalServerError [http.response.status_code=503]
                  api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
            subagent.leaf OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=1042]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
        api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
})

test('attempts that fail, then an answer', async () => {
  const { tree } = await lived({
    scenario: 'retry',
    description: 'a 500 while streaming and without, a 429, then an answer',
    answer: ({ attempt }) => {
      if (attempt <= 2) return { status: 500, error: 'the model is on fire' }
      return attempt === 3 ? { status: 429, error: 'too much' } : { text: 'Better now.' }
    },
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=1042]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
})

test('a turn that fails, and the next prompt', async () => {
  const { tree, spans } = await lived({
    scenario: 'fatal',
    description: 'a 401, which is not tried again; then another prompt in the session, which is answered',
    answer: ({ prompt }) => (prompt === 'Do it.' ? { status: 401, error: 'no such key' } : { text: 'There I am.' }),
    act: async session => {
      expect(await say({ session, text: 'Do it.' })).toMatchObject({ status: 'failed' })
      await say({ session, text: 'Are you there?' })
    },
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted]
      llm.fake-1 UNSET (incomplete: turn_ended)
        api.fake-1 ERROR AuthenticationError [http.response.status_code=401]
    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=1042]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
  expectToEndTogether(spans)
})

test('a turn whose attempts are used up', async () => {
  const { tree, spans } = await lived({
    scenario: 'used-up',
    description: 'a 500 at every attempt',
    answer: () => ({ status: 500, error: 'the model is on fire' }),
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent UNSET (incomplete: shutdown) [hermes.turn.number=1, hermes.turn.final_status=incomplete]
      llm.fake-1 UNSET (incomplete: shutdown)
        api.fake-1 ERROR InternalServerError [http.response.status_code=500]
        api.fake-1 ERROR InternalServerError [http.response.status_code=500]
        api.fake-1 ERROR InternalServerError [http.response.status_code=500]
    "
  `)
  expectToEndTogether(spans)
})

test('an answer that is cut off, and goes on', async () => {
  const { tree, spans } = await lived({
    scenario: 'cut-off',
    description: 'an answer that has as many tokens as it may have, then the rest of it',
    answer: ({ items }) =>
      items.some(({ kind }) => kind === 'answer') ? { text: 'the rest.' } : { text: 'This is ', isCutOff: true },
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=1064]
      llm.fake-1 OK
        api.fake-1 UNSET (incomplete: turn_ended)
        api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
  const [first, second] = spans.filter(({ name }) => name.startsWith('api.')).toSorted((a, b) => a.startAt - b.startAt)
  expect(first?.endAt).toBe(second?.startAt)
})

test('a tool call that is cut off', async () => {
  const { tree } = await lived({
    scenario: 'tool-cut-off',
    description: 'a tool call whose arguments are cut off, at every attempt',
    answer: () => ({ toolCalls: [{ name: 'terminal', arguments: '{"command": "echo' }], isCutOff: true }),
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent UNSET (incomplete: shutdown) [hermes.turn.number=1, hermes.turn.final_status=incomplete]
      llm.fake-1 UNSET (incomplete: shutdown)
        api.fake-1 UNSET (incomplete: superseded)
        api.fake-1 UNSET (incomplete: superseded)
        api.fake-1 UNSET (incomplete: superseded)
        api.fake-1 UNSET (incomplete: superseded)
        api.fake-1 UNSET (incomplete: shutdown)
    "
  `)
})

test('a turn that is stopped while its tool works', async () => {
  const { tree } = await lived({
    scenario: 'stopped',
    description: 'a person stops the turn while a shell command runs',
    answer: asksFor([shell('sleep 60')], 'Slept.'),
    act: async session => {
      const before = recordsOf(gateway.hermes).length
      const id = await gateway.begin({ session, text: 'Do it.' })
      while (!recordsOf(gateway.hermes).slice(before).some(({ hook }) => hook === 'pre_tool_call')) await briefly()
      await gateway.stop(id)
      await gateway.ended(id)
    },
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=1042]
      llm.fake-1 UNSET (incomplete: turn_ended)
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.terminal OK [hermes.tool.outcome=completed]
    "
  `)
})

test('a review in the background', async () => {
  const { tree, spans } = await lived({
    scenario: 'review',
    description: 'the third turn of a session, after which Hermes reviews it, and the fourth',
    answer: reviewed,
    act: async session => {
      const history = ['one', 'two'].flatMap(text => [
        { role: 'user' as const, content: text },
        { role: 'assistant' as const, content: `I heard ${text}.` },
      ])
      await say({ session, text: 'three', history })
    },
    until: records => records.filter(({ hook }) => hook === 'post_api_request').length >= 2,
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=1086]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1060, gen_ai.usage.cache_read.input_tokens=106, gen_ai.usage.output_tokens=26, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=1108]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1080, gen_ai.usage.cache_read.input_tokens=108, gen_ai.usage.output_tokens=28, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
  expect(spans.map(({ attributes }) => attributes['hermes.session.kind'])).toContain('background')
})

function reviewed({ prompt }: ModelRequest): ModelReply {
  return { text: prompt.startsWith('Review the conversation') ? 'Nothing to save.' : `I heard ${prompt}.` }
}

test('three sessions at once', async () => {
  const { trees } = await lived({
    scenario: 'at-once',
    description: 'three sessions at once, a shell command each',
    answer: asksFor([shell('sleep 0.2')], 'Done.'),
    act: async session => {
      await Promise.all(['a', 'b', 'c'].map(name => say({ session: `${session}-${name}`, text: 'Do it.' })))
    },
  })
  expect(new Set(trees).size).toBe(1)
  expect(trees).toHaveLength(3)
  expect(`\n${trees[0]}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2106]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.terminal OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
})

test('nothing but the model is asked', () => {
  expect(proxy.asked).toEqual([])
})

/** The root ends where the last of its model requests has. */
function expectToEndTogether(spans: readonly StoredSpan[]): void {
  const failed = spans.filter(({ attributes }) => attributes['hermes.turn.final_status'] === 'failed')
  expect(failed).toHaveLength(1)
  for (const root of failed) {
    const requests = spans.filter(({ traceId, name }) => traceId === root.traceId && name.startsWith('api.'))
    expect(root.endAt).toBe(Math.max(...requests.map(({ endAt }) => endAt)))
  }
}

function briefly(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 50))
}
