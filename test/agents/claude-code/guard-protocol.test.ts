import { expect, test } from 'vitest'
import { claudeCodeGuards } from '../../../src/agents/claude-code/guard-protocol.ts'
import type { HookReply } from '../../../src/agents/guard-protocol.ts'
import { everyReply, injected, outcome, rewritten } from '../outcomes.ts'

const IN = { session_id: 's', prompt_id: 'p', cwd: '/home/me' }
const SUBMIT = { ...IN, hook_event_name: 'UserPromptSubmit', prompt: 'Go' }
const BASH = { tool_name: 'Bash', tool_use_id: 't', tool_input: { command: 'rm x' } }
const PRE = { ...IN, hook_event_name: 'PreToolUse', ...BASH }
const STDOUT = { stdout: 'a secret', stderr: 'another', interrupted: false }
const POST = { ...IN, hook_event_name: 'PostToolUse', ...BASH, tool_response: STDOUT }
const STOP = { ...IN, hook_event_name: 'Stop', last_assistant_message: 'Done.', stop_hook_active: false }
const CHILD_STOP = { ...STOP, hook_event_name: 'SubagentStop', agent_id: 'a' }

const TOOL = {
  name: 'Bash',
  kind: 'shell',
  arguments: { command: 'rm x' },
  command: 'rm x',
  paths: [],
  url: undefined,
  cwd: '/home/me',
  agentCwd: '/home/me',
  id: 't',
}

test.each<[string, object, object | undefined]>([
  ['a prompt', SUBMIT, { phase: 'beforeTurn', ids: { sessionId: 's', turnId: 'p' }, event: { prompt: 'Go' } }],
  [
    'a tool',
    PRE,
    { phase: 'beforeTool', ids: { sessionId: 's', turnId: 'p', toolCallId: 't' }, event: { tool: TOOL } },
  ],
  [
    'a tool of a child, which has a session of its own in the trace',
    { ...PRE, agent_id: 'a' },
    { phase: 'beforeTool', ids: { sessionId: 'a', toolCallId: 't' }, event: { tool: TOOL } },
  ],
  [
    'a result',
    POST,
    {
      phase: 'afterTool',
      ids: { sessionId: 's', turnId: 'p', toolCallId: 't' },
      event: { tool: TOOL, result: `${STDOUT.stdout}\n${STDOUT.stderr}`, isError: false, attempt: 0 },
    },
  ],
  [
    'an answer',
    STOP,
    { phase: 'afterTurn', ids: { sessionId: 's', turnId: 'p' }, event: { answer: 'Done.', attempt: 0 } },
  ],
  [
    'one that was sent on',
    { ...STOP, stop_hook_active: true },
    { phase: 'afterTurn', ids: { sessionId: 's', turnId: 'p' }, event: { answer: 'Done.', attempt: 1 } },
  ],
  [
    'the end of a child',
    CHILD_STOP,
    { phase: 'afterTurn', ids: { sessionId: 'a' }, event: { answer: 'Done.', attempt: 0 } },
  ],
  ['a tool that has failed', { ...POST, hook_event_name: 'PostToolUseFailure' }, undefined],
  ['a permission request', { ...PRE, hook_event_name: 'PermissionRequest' }, undefined],
  ['a tool without a name', { ...PRE, tool_name: undefined }, undefined],
  ['an event without a session', { ...PRE, session_id: undefined }, undefined],
  ['a list', [], undefined],
])('asks about %s with the ids of its trace', (_, body, question) => {
  expect(claudeCodeGuards.requestIn(body)).toEqual(question)
})

const blocked = { decision: 'block', reason: 'Not that.' } as const
const pre = (said: object): HookReply => ({ body: { hookSpecificOutput: { hookEventName: 'PreToolUse', ...said } } })
const post = (said: object): HookReply => ({ body: { hookSpecificOutput: { hookEventName: 'PostToolUse', ...said } } })

test.each<[string, object, Parameters<typeof outcome>[0], HookReply]>([
  ['a prompt passes', SUBMIT, {}, {}],
  ['a prompt is blocked', SUBMIT, blocked, { body: { decision: 'block', reason: 'Not that.' } }],
  [
    'lines are injected beside a prompt',
    SUBMIT,
    injected('one', 'two'),
    { body: { hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext: 'one\n\ntwo' } } },
  ],
  ['a tool passes', PRE, {}, {}],
  ['a tool is blocked', PRE, blocked, pre({ permissionDecision: 'deny', permissionDecisionReason: 'Not that.' })],
  [
    'a blocked tool is not rewritten, too',
    PRE,
    { ...blocked, ...rewritten({ command: 'ls' }) },
    pre({ permissionDecision: 'deny', permissionDecisionReason: 'Not that.' }),
  ],
  ['a rewrite permits nothing', PRE, rewritten({ command: 'ls' }), pre({ updatedInput: { command: 'ls' } })],
  [
    'the user is asked',
    PRE,
    { decision: 'ask', reason: 'Really?' },
    pre({ permissionDecision: 'ask', permissionDecisionReason: 'Really?' }),
  ],
  [
    'the user is asked about the rewrite',
    PRE,
    { decision: 'ask', reason: 'Really?', ...rewritten({ command: 'ls' }), ...injected('a line') },
    pre({
      permissionDecision: 'ask',
      permissionDecisionReason: 'Really?',
      updatedInput: { command: 'ls' },
      additionalContext: 'a line',
    }),
  ],
  ['a line is injected beside a tool', PRE, injected('a line'), pre({ additionalContext: 'a line' })],
  ['a result passes', POST, {}, {}],
  ['a line is injected beside a result', POST, injected('a line'), post({ additionalContext: 'a line' })],
  ['a result is rewritten', POST, rewritten({ stdout: '' }), post({ updatedToolOutput: { stdout: '' } })],
  [
    'a text takes the place of what a command has printed',
    POST,
    rewritten('***'),
    post({ updatedToolOutput: { stdout: '***', stderr: '', interrupted: false } }),
  ],
  [
    'of a file',
    { ...POST, tool_response: { type: 'text', file: { filePath: '/x', content: 'a secret' } } },
    rewritten('***'),
    post({ updatedToolOutput: { type: 'text', file: { filePath: '/x', content: '***' } } }),
  ],
  [
    'of what a tool server has answered',
    { ...POST, tool_response: [{ type: 'text', text: 'a secret' }] },
    rewritten('***'),
    post({ updatedToolOutput: [{ type: 'text', text: '***' }] }),
  ],
  ['a text of a text', { ...POST, tool_response: 'a secret' }, rewritten('***'), post({ updatedToolOutput: '***' })],
  ['a turn ends', STOP, {}, {}],
  [
    'a turn is sent on',
    STOP,
    { decision: 'retry', reason: 'The tests fail.' },
    { body: { decision: 'block', reason: 'The tests fail.' } },
  ],
  [
    'a child, too',
    CHILD_STOP,
    { decision: 'retry' },
    { body: { decision: 'block', reason: 'A hook has decided so.' } },
  ],
  ['no answer to an event that is no question', { ...PRE, hook_event_name: 'Notification' }, blocked, {}],
])('translates an answer: %s', (_, body, said, reply) => {
  expect(claudeCodeGuards.reply(body, outcome(said))).toStrictEqual(reply)
})

test('never approves a tool', () => {
  const said = everyReply(claudeCodeGuards, [SUBMIT, PRE, POST, STOP, CHILD_STOP]).join('\n')
  expect(said).not.toMatch(/allow|approve/)
})

test.each<[string, object, HookReply]>([
  ['a prompt is not taken', SUBMIT, { body: { decision: 'block', reason: 'Nobody is there.' } }],
  ['a tool does not run', PRE, pre({ permissionDecision: 'deny', permissionDecisionReason: 'Nobody is there.' })],
  ['a finished tool continues', POST, {}],
  ['a turn ends: it would go on for ever', STOP, {}],
])('has the right reply if closed: %s', (_, body, reply) => {
  expect(claudeCodeGuards.failClosedReply(body, 'Nobody is there.')).toStrictEqual(reply)
})

test('ends a turn with its last hook', () => {
  const ends = [SUBMIT, PRE, POST, STOP, CHILD_STOP].map(body => claudeCodeGuards.isEndOfTurn(body))
  expect(ends).toEqual([false, false, false, true, true])
})
