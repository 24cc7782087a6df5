import { expect, test } from 'vitest'
import type { ModelReply, ModelRequest } from '../../support/model-server.mjs'
import { call, runClaude, TYPED, talk } from './claude.ts'

const ECHO = ['--allowedTools', 'Bash(echo:*)', 'Bash(exit:*)', 'Bash(sleep:*)', 'Read', 'Agent']

/** Prompts are written as `CHILD …` for a child agent. */
function isChild({ prompt }: ModelRequest): boolean {
  return prompt.startsWith('CHILD')
}

test('traces tools, one of which fails', async () => {
  const run = await runClaude({
    scenario: 'tools',
    description: 'thoughts, a text and two commands in one answer: the second fails',
    runs: [['-p', 'Look around', ...ECHO]],
    answer: ({ toolResults }) =>
      toolResults > 0
        ? { text: 'Done.' }
        : {
            thinking: 'Hm.',
            text: 'Two at once.',
            toolCalls: [
              { name: 'Bash', arguments: { command: 'echo one' } },
              { name: 'Bash', arguments: { command: 'exit 3' } },
            ],
          },
  })
  expect(run.said).toEqual(['Done.'])
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=completed]
          tool.Bash ERROR tool_error [hermes.tool.outcome=error]
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces tools at once', async () => {
  const run = await runClaude({
    scenario: 'parallel',
    description: 'three files are read at once, none of which is there',
    runs: [['-p', 'Read them', ...ECHO]],
    answer: ({ toolResults }) =>
      toolResults > 0
        ? { text: 'None is there.' }
        : { toolCalls: ['a', 'b', 'c'].map(name => ({ name: 'Read', arguments: { file_path: `${name}.txt` } })) },
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.Read ERROR tool_error [hermes.tool.outcome=error]
          tool.Read ERROR tool_error [hermes.tool.outcome=error]
          tool.Read ERROR tool_error [hermes.tool.outcome=error]
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces a tool without a user, one that a rule forbids, and one that does not exist', async () => {
  const run = await runClaude({
    scenario: 'refused',
    description: 'a file outside of the project, a command that is not allowed, an unknown tool',
    runs: [['-p', 'Write it', '--disallowedTools', 'Bash(rm:*)']],
    answer: ({ toolResults }) => {
      if (toolResults === 0) return call('Write', { file_path: '/elsewhere/x.txt', content: 'y' })
      if (toolResults > 1) return { text: 'I may not.' }
      const [rm, unknown] = [call('Bash', { command: 'rm x' }), call('NoSuchTool', { a: 1 })]
      return { toolCalls: [...(rm.toolCalls ?? []), ...(unknown.toolCalls ?? [])] }
    },
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=411, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.Write OK [hermes.tool.outcome=blocked]
            approval.Write OK (inferred) [hermes.approval.choice=deny]
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.NoSuchTool ERROR tool_error [hermes.tool.outcome=error]
          tool.Bash OK [hermes.tool.outcome=blocked]
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces a tool that is permitted, and one that is denied', async () => {
  const run = await runClaude({
    scenario: 'asked',
    description: 'two prompts in one process; somebody is asked about a command in each',
    runs: [TYPED],
    meanwhile: claude => talk(claude, { prompts: ['one', 'two'], permits: command => command.includes('yes') }),
    answer: ({ prompt, lastToolResults }) =>
      lastToolResults.length > 0
        ? { text: `That was ${prompt}.` }
        : call('Bash', { command: `touch ${prompt === 'one' ? 'yes' : 'no'}.txt` }),
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=completed]
            approval.Bash OK (inferred) [hermes.approval.choice=once]
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=blocked]
            approval.Bash OK (inferred) [hermes.approval.choice=deny]
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces child agents that run at once', async () => {
  const run = await runClaude({
    scenario: 'children',
    description: 'two children in the foreground, each with a tool',
    runs: [['-p', 'Have two look', ...ECHO]],
    answer: request => {
      if (isChild(request)) {
        return request.toolResults > 0 ? { text: `Done: ${request.prompt}` } : call('Bash', { command: 'echo child' })
      }
      if (request.toolResults > 0) return { text: 'Both are done.' }
      const agents = ['a', 'b'].map(name => ({
        name: 'Agent',
        arguments: {
          description: name,
          prompt: `CHILD ${name}`,
          subagent_type: 'general-purpose',
          run_in_background: false,
        },
      }))
      return { toolCalls: agents }
    },
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.Agent OK [hermes.tool.outcome=completed]
            subagent.general-purpose OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
                llm.claude-opus-5-5 OK
                  api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
                    tool.Bash OK [hermes.tool.outcome=completed]
                  api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]
          tool.Agent OK [hermes.tool.outcome=completed]
            subagent.general-purpose OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
                llm.claude-opus-5-5 OK
                  api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
                    tool.Bash OK [hermes.tool.outcome=completed]
                  api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces a child agent in the background', async () => {
  const run = await runClaude({
    scenario: 'background-child',
    description: 'it outlives the turn, and its end begins another one',
    runs: [['-p', 'Have somebody look', ...ECHO]],
    answer: request => {
      if (isChild(request)) {
        return request.toolResults > 0 ? { text: 'Seen.' } : call('Bash', { command: 'sleep 1; echo child' })
      }
      if (request.toolResults > 0) return { text: request.prompt.includes('<task') ? 'So it was.' : 'Somebody is.' }
      return call('Agent', { description: 'look', prompt: 'CHILD look', subagent_type: 'general-purpose' })
    },
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.Agent OK [hermes.tool.outcome=async_launched]
            subagent.general-purpose OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
                llm.claude-opus-5-5 OK
                  api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
                    tool.Bash OK [hermes.tool.outcome=completed]
                  api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces a child agent whose model fails', async () => {
  const run = await runClaude({
    scenario: 'child-fails',
    description: 'all requests of a child get HTTP 500',
    env: { CLAUDE_CODE_MAX_RETRIES: '0' },
    runs: [['-p', 'Have somebody look', ...ECHO]],
    answer: request => {
      if (isChild(request)) return { status: 500 }
      if (request.toolResults > 0) return { text: 'It failed.' }
      const how = { subagent_type: 'general-purpose', run_in_background: false }
      return call('Agent', { description: 'look', prompt: 'CHILD look', ...how })
    },
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.Agent ERROR tool_error [hermes.tool.outcome=error]
            subagent.general-purpose ERROR failed
              agent ERROR server_error [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=server_error]
                llm.claude-opus-5-5 OK
                  api.claude-opus-5-5 ERROR server_error [http.response.status_code=500]
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces two prompts in two processes', async () => {
  const run = await runClaude({
    scenario: 'continued',
    description: 'a session that another process goes on with',
    runs: [
      ['-p', 'one'],
      ['-p', '--continue', 'two'],
    ],
    answer: ({ prompt }) => ({ text: `That was ${prompt}.` }),
  })
  expect(run.said).toEqual(['That was one.', 'That was two.'])
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces a request that fails once', async () => {
  const run = await runClaude({
    scenario: 'retried',
    description: 'one HTTP 500, then success',
    runs: [['-p', 'Try again']],
    answer: ({ attempt }) => (attempt === 1 ? { status: 500 } : { text: 'There it is.' }),
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 ERROR server_error [http.response.status_code=500]
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces a request that always fails', async () => {
  const run = await runClaude({
    scenario: 'always-500',
    description: 'HTTP 500, twice',
    env: { CLAUDE_CODE_MAX_RETRIES: '1' },
    runs: [['-p', 'Try']],
    answer: () => ({ status: 500 }),
  })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent ERROR server_error [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=server_error]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 ERROR server_error [http.response.status_code=500]
        api.claude-opus-5-5 ERROR server_error [http.response.status_code=500]"
  `)
})

test('traces a kill while a tool runs', async () => {
  let kill = (): void => undefined
  const isAtWork = new Promise<void>(resolve => {
    kill = resolve
  })
  const run = await runClaude({
    scenario: 'killed',
    description: 'killed while its second tool runs; another process goes on with the session',
    runs: [
      ['-p', 'one', ...ECHO],
      ['-p', '--continue', 'two'],
    ],
    meanwhile: async claude => {
      claude.end().catch(() => undefined)
      await isAtWork
      await claude.stop('SIGKILL')
    },
    answer: ({ prompt, toolResults }) => {
      if (prompt === 'two') return { text: 'Back again.' }
      if (toolResults === 0) return call('Bash', { command: 'echo a' })
      setTimeout(kill, 1500)
      return call('Bash', { command: 'sleep 9' })
    },
  })
  expect(run.said.at(-1)).toBe('Back again.')
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=274, hermes.turn.exit_reason=abandoned]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=cancelled]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces an interruption', async () => {
  let atWork = (): void => undefined
  const interrupts = new Promise<void>(resolve => {
    atWork = resolve
  })
  const run = await runClaude({
    scenario: 'interrupted',
    description: 'stopped while the model is at work; another prompt follows',
    runs: [TYPED],
    meanwhile: claude => talk(claude, { prompts: ['one', 'two'], interrupts }),
    answer: ({ prompt }) => {
      if (prompt.includes('two')) return { text: 'Two.' }
      setTimeout(atWork, 500)
      return { status: 418, delayMillis: 5000 }
    },
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=interrupted]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.response.finish_reason=aborted]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces a hook that makes the agent continue', async () => {
  const once = 'test -e once || { touch once; echo go on >&2; exit 2; }'
  const run = await runClaude({
    scenario: 'stopped-twice',
    description: 'a hook of somebody else has the agent go on where it had stopped',
    hooks: { Stop: [{ hooks: [{ type: 'command', command: 'sh', args: ['-c', once] }] }] },
    runs: [['-p', 'one', ...ECHO]],
    answer: ({ toolResults, body }) => {
      if (toolResults > 0) return { text: 'Now it is done.' }
      return JSON.stringify(body).includes('go on') ? call('Bash', { command: 'echo more' }) : { text: 'Done.' }
    },
  })
  expect(run.said).toEqual(['Now it is done.'])
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=411, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces a compaction', async () => {
  const run = await runClaude({
    scenario: 'compaction',
    description: 'a prompt, /compact, a prompt',
    runs: [
      ['-p', 'one'],
      ['-p', '--continue', '/compact'],
      ['-p', '--continue', 'two'],
    ],
    answer: () => ({ text: 'As you say.' }),
  })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]

    aux.compression OK

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('recovers the hooks that time out from the transcripts, and counts them', async () => {
  const run = await runClaude({
    scenario: 'lost-hooks',
    description: 'two child agents at once; the hooks that start children and end tools time out',
    loses: ['SubagentStart', 'PostToolUse', 'PostToolUseFailure', 'PostToolBatch'],
    runs: [['-p', 'Delegate', ...ECHO]],
    answer: request => {
      if (!isChild(request)) return request.toolResults > 0 ? { text: 'Done.' } : delegation('CHILD one', 'CHILD two')
      const isSecond = request.prompt.includes('two')
      if (request.toolResults > 0) return { text: 'Seen.' }
      return call('Bash', { command: isSecond ? 'exit 3' : 'echo child' })
    },
  })
  expect(run.said).toEqual(['Done.'])
  expect(run.traced).toBe(run.served)
  // Two children, a tool each, their two calls, and three batches.
  expect(run.lostHooks).toBe(9)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-opus-5-5 OK
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.Agent OK [hermes.tool.outcome=completed]
            subagent.general-purpose OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
                llm.claude-opus-5-5 OK
                  api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
                    tool.Bash OK [hermes.tool.outcome=completed]
                  api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]
          tool.Agent OK [hermes.tool.outcome=completed]
            subagent.general-purpose OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
                llm.claude-opus-5-5 OK
                  api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
                    tool.Bash ERROR tool_error [hermes.tool.outcome=error]
                  api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]
        api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

function delegation(...prompts: readonly string[]): ModelReply {
  const toolCalls = prompts.map(prompt => {
    const about = { description: prompt, prompt, subagent_type: 'general-purpose', run_in_background: false }
    return { name: 'Agent', arguments: about }
  })
  return { toolCalls }
}
