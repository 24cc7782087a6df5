import { expect, test } from 'vitest'
import type { HookReply } from '../../../src/agents/guard-protocol.ts'
import { qwenGuards } from '../../../src/agents/qwen/guard-protocol.ts'
import { everyReply, injected, outcome, rewritten } from '../outcomes.ts'

const IN = { session_id: 's', prompt_id: 'p' }
const SUBMIT = { ...IN, hook_event_name: 'UserPromptSubmit', prompt: 'Go' }
const SHELL = { tool_name: 'run_shell_command', tool_input: { command: 'rm x' }, tool_use_id: 'toolu_1' }
const PRE = { ...IN, hook_event_name: 'PreToolUse', ...SHELL, tool_call_id: 'call_1' }
const POST = { ...PRE, hook_event_name: 'PostToolUse', tool_response: { llmContent: 'x' } }
const STOP = { ...IN, hook_event_name: 'Stop', last_assistant_message: 'Done.' }

test('uses the call id, not the hook id', () => {
  expect(qwenGuards.requestIn(PRE)).toMatchObject({
    phase: 'beforeTool',
    ids: { sessionId: 's', turnId: 'p', toolCallId: 'call_1' },
    event: { tool: { name: 'run_shell_command', kind: 'shell', command: 'rm x', id: 'call_1' } },
  })
  expect(qwenGuards.requestIn({ ...PRE, tool_call_id: undefined })?.ids.toolCallId).toBe('toolu_1')
})

const blocked = { decision: 'block', reason: 'Not that.' } as const
const specific = (hookEventName: string, said: object): HookReply => ({
  body: { hookSpecificOutput: { hookEventName, ...said } },
})

test.each<[string, object, Parameters<typeof outcome>[0], HookReply]>([
  ['a prompt passes', SUBMIT, {}, {}],
  ['a prompt is blocked', SUBMIT, blocked, { body: { decision: 'block', reason: 'Not that.' } }],
  [
    'a line is injected beside a prompt',
    SUBMIT,
    injected('a line'),
    specific('UserPromptSubmit', { additionalContext: 'a line' }),
  ],
  ['a tool passes', PRE, {}, {}],
  [
    'a tool is blocked',
    PRE,
    blocked,
    specific('PreToolUse', { permissionDecision: 'deny', permissionDecisionReason: 'Not that.' }),
  ],
  [
    'the user is asked',
    PRE,
    { decision: 'ask', reason: 'Really?' },
    specific('PreToolUse', { permissionDecision: 'ask', permissionDecisionReason: 'Really?' }),
  ],
  ['no fields that it ignores', PRE, { ...rewritten({ command: 'ls' }), ...injected('a line') }, {}],
  ['a line is injected beside a result', POST, injected('x'), specific('PostToolUse', { additionalContext: 'x' })],
  ['a result stays as it is', POST, { ...blocked, ...rewritten('***') }, {}],
  ['a turn ends', STOP, {}, {}],
  [
    'a turn is sent on',
    STOP,
    { decision: 'retry', reason: 'Again.' },
    { body: { decision: 'block', reason: 'Again.' } },
  ],
])('translates an answer: %s', (_, body, said, reply) => {
  expect(qwenGuards.reply(body, outcome(said))).toStrictEqual(reply)
})

test('never approves a tool', () => {
  expect(everyReply(qwenGuards, [SUBMIT, PRE, POST, STOP]).join('\n')).not.toMatch(/allow|approve/)
})

test.each<[string, object, HookReply]>([
  ['a prompt is not taken', SUBMIT, { body: { decision: 'block', reason: 'Nobody.' } }],
  [
    'a tool does not run',
    PRE,
    specific('PreToolUse', { permissionDecision: 'deny', permissionDecisionReason: 'Nobody.' }),
  ],
  ['a finished tool continues', POST, {}],
  ['a turn ends', STOP, {}],
])('has the right reply if closed: %s', (_, body, reply) => {
  expect(qwenGuards.failClosedReply(body, 'Nobody.')).toStrictEqual(reply)
})
