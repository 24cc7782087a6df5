import { expect, test } from 'vitest'
import type { ModelReply } from '../../support/model-server.mjs'
import { asksFor, read, reviewedBy, shell } from './answers.ts'
import { gatewayScenes } from './gateway-scene.ts'

const lived = gatewayScenes()

test('traces a tool', async () => {
  const { tree, spans } = await lived({
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
  // The hooks of transforms fire for each result and each answer, and nobody has changed any.
  expect(spans.flatMap(({ events }) => events)).toEqual([])
})

test('traces tools side by side', async () => {
  const { tree } = await lived({
    scenario: 'parallel',
    description: 'four tools in one answer: two files side by side, two shell commands',
    answer: asksFor(
      [read('one.txt'), read('two.txt'), shell('sleep 0.3; echo one'), shell('sleep 0.2; echo two')],
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

const FAILING: readonly ModelReply[] = [
  { toolCalls: [shell('ls /does-not-exist')] },
  { toolCalls: [read('/does/not/exist.txt')] },
  { toolCalls: [{ name: 'no_such_tool', arguments: {} }] },
]

test('traces tools that fail', async () => {
  const { tree } = await lived({
    scenario: 'tools-fail',
    description: 'a shell command that ends with 2, a file that is missing, a tool that there is not',
    answer: ({ toolResults }) => FAILING[toolResults] ?? { text: 'All failed.' },
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

test('traces a tool that is stopped', async () => {
  const { tree } = await lived({
    scenario: 'stopped',
    description: 'a person stops the turn while a shell command runs',
    answer: asksFor([shell('sleep 60')], 'Slept.'),
    act: async ({ gateway, session, until }) => {
      const run = await gateway.begin({ session, text: `Do it: ${session}` })
      await until(records => records.some(({ hook }) => hook === 'pre_tool_call'))
      await gateway.stop(run)
      await gateway.ended(run)
    },
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=1042]
      llm.fake-1 UNSET (incomplete: turn_ended)
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.terminal OK [hermes.tool.outcome=cancelled]
    "
  `)
})

const REMOVES = shell('rm -rf /srv/nothing-there')

test('traces a command that the user allows', async () => {
  const { tree } = await lived({
    scenario: 'allowed',
    description: 'a dangerous command: the model does not know, a person allows it once',
    answer: reviewedBy('ESCALATE', asksFor([REMOVES], 'Done with it.')),
    act: ({ say }) => say({ choice: 'once' }),
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2106]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.terminal OK [hermes.tool.outcome=completed]
            approval.delete in root path OK [hermes.approval.choice=escalated]
            approval.delete in root path OK [hermes.approval.choice=once]
        api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
})

test('traces a command that the user denies', async () => {
  const { tree } = await lived({
    scenario: 'denied',
    description: 'a dangerous command: the model does not know, a person denies it',
    answer: reviewedBy('ESCALATE', asksFor([REMOVES], 'Then not.')),
    act: ({ say }) => say({ choice: 'deny' }),
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2106]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.terminal OK [hermes.tool.outcome=blocked]
            approval.delete in root path OK [hermes.approval.choice=escalated]
            approval.delete in root path OK [hermes.approval.choice=deny]
        api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
})

test('traces a command that the model finds harmless', async () => {
  const { tree } = await lived({
    scenario: 'found-harmless',
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
