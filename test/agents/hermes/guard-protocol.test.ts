import { expect, test } from 'vitest'
import { HermesGuardProtocol, hermesGuardProtocol } from '../../../src/agents/hermes/guard-protocol.ts'
import { ask, block, inject, pass, retry, rewrite } from '../../../src/guards/index.ts'
import type { AnyVerdict } from '../../../src/guards/verdict.ts'
import { told } from '../guarded.ts'

const IDS = { session_id: 's1', turn_id: 't1' }
const record = (hook: string, payload: object): object => ({
  hook,
  at: 1,
  host: 'hermes',
  payload: { ...IDS, ...payload },
})
const CALL = { tool_name: 'terminal', args: { command: 'rm x', timeout: 5 }, tool_call_id: 'c1', api_request_id: 'r1' }
const PROMPT = record('pre_llm_call', { user_message: 'Clean up' })
const TOOL = record('pre_tool_call', CALL)
const READ = record('pre_tool_call', { ...CALL, tool_name: 'read_file', args: { path: 'a' } })
const RESULT = record('transform_tool_result', { ...CALL, result: '{"output":"gone"}', status: 'success' })
const ANSWER = record('transform_llm_output', { response_text: 'Done.', turn_id: undefined })

test.each<[string, object, readonly AnyVerdict[], object | undefined]>([
  ['a prompt, passed', PROMPT, [pass()], undefined],
  ['a prompt, which cannot be blocked', PROMPT, [block('No.')], undefined],
  [
    'a prompt, with lines beside it',
    PROMPT,
    [inject('Be brief.'), inject('Be kind.', 'system')],
    { context: 'Be brief.\n\nBe kind.' },
  ],
  ['a tool, passed', TOOL, [pass()], undefined],
  ['a tool, blocked', TOOL, [block('No rm.', { detail: 'secret' })], { action: 'block', message: 'No rm.' }],
  [
    'a tool, blocked without a word',
    TOOL,
    [block(' ')],
    { action: 'block', message: 'The hook hook-1 has blocked this.' },
  ],
  ['a tool, rewritten', TOOL, [rewrite({ command: 'ls' })], { action: 'modify', args: { command: 'ls' } }],
  [
    'a tool, to be asked about: the prompt of Hermes shows only its text',
    TOOL,
    [ask('Really?')],
    { action: 'approve', message: 'Really?\nrm x', rule_key: 'hookspan:hook-1:terminal:rm x' },
  ],
  [
    'a tool that is no command, to be asked about',
    READ,
    [ask('Really?')],
    { action: 'approve', message: 'Really?\n{"path":"a"}', rule_key: 'hookspan:hook-1:read_file:{"path":"a"}' },
  ],
  [
    'a tool, rewritten, and then asked about: what was asked is what runs',
    TOOL,
    [rewrite({ command: 'ls' }), ask('Really?')],
    {
      action: 'approve',
      message: 'Really?\nls',
      rule_key: 'hookspan:hook-2:terminal:ls',
      args: { command: 'ls' },
    },
  ],
  ['a tool, rewritten and then blocked', TOOL, [rewrite({}), block('No.')], { action: 'block', message: 'No.' }],
  ['a tool, where nothing can be injected', TOOL, [inject('Careful.')], undefined],
  ['a result, passed', RESULT, [pass()], undefined],
  ['a result, rewritten', RESULT, [rewrite('masked')], { result: 'masked' }],
  ['a result, rewritten to no text', RESULT, [rewrite({ a: 1 })], { result: '{"a":1}' }],
  ['a result, blocked', RESULT, [block('Secrets.')], { result: '{"error":"Secrets."}' }],
  ['an answer, rewritten', ANSWER, [rewrite('Well done.')], { result: 'Well done.' }],
  ['an answer, rewritten to nothing', ANSWER, [rewrite('')], { result: ' ' }],
  ['an answer, which cannot be sent on', ANSWER, [retry()], undefined],
])('translates an answer: %s', async (_, body, verdicts, answer) => {
  expect(await told(hermesGuardProtocol, body, ...verdicts)).toEqual({ body: answer })
})

test('uses the ids of the trace, and those of the open turn for an answer', () => {
  const guarding = new HermesGuardProtocol()
  expect(guarding.requestIn(TOOL)).toMatchObject({
    phase: 'beforeTool',
    ids: { sessionId: 's1', turnId: 't1', toolCallId: 'c1', requestId: 'r1' },
    event: { tool: { name: 'terminal', kind: 'shell', command: 'rm x', id: 'c1' } },
  })
  expect(guarding.requestIn(ANSWER)?.ids).toMatchObject({ sessionId: 's1', turnId: 't1' })
  expect(new HermesGuardProtocol().requestIn(ANSWER)?.ids.turnId).toBeUndefined()
})

test('builds a request from the input of a shell hook', () => {
  const { turn_id, ...beside } = { turn_id: 't1', tool_call_id: 'c1' }
  const body = {
    hook_event_name: 'pre_tool_call',
    session_id: 's1',
    tool_name: 'terminal',
    tool_input: { command: 'rm x' },
    cwd: '/app',
    extra: { turn_id, ...beside },
  }
  expect(hermesGuardProtocol.requestIn(body)).toMatchObject({
    ids: { sessionId: 's1', turnId: 't1', toolCallId: 'c1' },
    event: { tool: { command: 'rm x', cwd: '/app' } },
  })
})

test.each([
  [{ status: 'success' }, false],
  [{ status: 'error' }, true],
  [{ error_message: 'no' }, true],
  [{ error_message: '' }, false],
])('detects a failed tool: %j', (said, isError) => {
  const body = record('transform_tool_result', { ...CALL, result: 'x', ...said })
  expect(hermesGuardProtocol.requestIn(body)).toMatchObject({ event: { isError } })
})

test.each([
  [
    'a prompt with pictures',
    [{ type: 'text', text: 'Look' }, { type: 'image' }, { type: 'text', text: 'here' }],
    'Look\nhere',
  ],
  ['none', undefined, ''],
])('reads a question: %s', (_, user_message, prompt) => {
  expect(hermesGuardProtocol.requestIn(record('pre_llm_call', { user_message }))).toMatchObject({ event: { prompt } })
})

test.each([
  ['a tool', TOOL, { body: { action: 'block', message: 'Closed.' } }],
  ['a result', RESULT, { body: { result: '{"error":"Closed."}' } }],
  ['a prompt, which cannot be', PROMPT, {}],
  ['an answer, which the model has given', ANSWER, {}],
  ['a text', 'hello', {}],
])('has the right reply if closed: %s', (_, body, answer) => {
  expect(hermesGuardProtocol.failClosedReply(body, 'Closed.')).toEqual(answer)
})

test.each(['post_tool_call', 'on_session_end', 'constructor', '', undefined, 7])('asks nothing for %s', hook => {
  const body = { ...TOOL, hook }
  expect(hermesGuardProtocol.requestIn(body)).toBeUndefined()
  expect(hermesGuardProtocol.reply(body, {} as never)).toEqual({})
})

test('ends the turn with its answer', () => {
  expect([ANSWER, TOOL, PROMPT].map(body => hermesGuardProtocol.isEndOfTurn(body))).toEqual([true, false, false])
})
