import { expect, test } from 'vitest'
import { calls, lived, shell } from './codex.ts'

test('traces a tool', async () => {
  const tree = await lived({
    scenario: 'basic',
    description: 'one tool',
    answer: calls(shell('echo hi', 'call_A')),
    run: user => user.exec('say hi'),
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('traces two tools at once', async () => {
  const tree = await lived({
    scenario: 'parallel',
    description: 'two tools at once, the second one faster',
    answer: calls(shell('sleep 0.3; echo a', 'call_A'), shell('sleep 0.1; echo b', 'call_B')),
    run: user => user.exec('do both'),
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.Bash OK [hermes.tool.outcome=completed]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('traces a tool that fails, and a missing one', async () => {
  const tree = await lived({
    answer: calls(shell('echo oops >&2; exit 3', 'call_A'), { name: 'telescope', arguments: {}, id: 'call_B' }),
    run: user => user.exec('fail'),
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.telescope ERROR tool_error [hermes.tool.outcome=error]
          tool.Bash ERROR tool_error [hermes.tool.outcome=error]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('traces a tool that continues in the background', async () => {
  const tree = await lived({
    answer: calls(shell('sleep 60', 'call_A', { yield_time_ms: 250 })),
    run: user => user.exec('wait'),
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.Bash OK [hermes.tool.outcome=background]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('traces two prompts, the second one in the resumed session', async () => {
  const tree = await lived({
    scenario: 'sessions',
    description: 'a prompt, and another one in the session that is resumed',
    answer: calls(shell('echo hi', 'call_A')),
    run: async user => {
      await user.exec('first prompt')
      await user.resume('second prompt')
    },
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('traces a model that fails until Codex gives up', async () => {
  const tree = await lived({
    scenario: 'failed-request',
    description: 'a model that fails until Codex gives up',
    answer: () => ({ status: 500, error: 'the model is broken' }),
    run: user => user.exec('hello'),
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent ERROR internal_server_error [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=internal_server_error]
      llm.fake-1 OK
        api.fake-1 ERROR internal_server_error"
  `)
})

test('continues after a kill while a tool runs', async () => {
  const tree = await lived({
    scenario: 'killed',
    description: 'killed while a command runs, and resumed',
    answer: ({ prompt, toolResults }) =>
      prompt === 'sleep long' && toolResults === 0
        ? { toolCalls: [shell('touch running; sleep 20', 'call_A')] }
        : { text: 'Here again.' },
    run: async user => {
      const codex = user.startExec('sleep long')
      await user.sees('running')
      await codex.stop('SIGKILL')
      await user.resume('again')
    },
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=137, hermes.turn.exit_reason=abandoned]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.Bash OK [hermes.tool.outcome=cancelled]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('ends when its user stops it while a tool runs', async () => {
  const tree = await lived({
    scenario: 'interrupted',
    description: 'SIGINT while a command runs',
    answer: calls(shell('touch running; sleep 20', 'call_A')),
    run: async user => {
      const codex = user.startExec('sleep long')
      await user.sees('running')
      await codex.stop('SIGINT')
    },
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=137, hermes.turn.exit_reason=interrupted]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.Bash OK [hermes.tool.outcome=cancelled]"
  `)
})

test('traces a child agent', async () => {
  const agents = 'multi_agent_v1'
  const tree = await lived({
    scenario: 'subagent',
    description: 'a child agent',
    answer: ({ prompt, toolResults, lastToolResults }) => {
      if (prompt.includes('child task')) {
        return toolResults === 0 ? { toolCalls: [shell('echo child', 'call_C')] } : { text: 'The child is done.' }
      }
      if (toolResults === 0) {
        const task = { message: 'do the child task', agent_type: 'default' }
        return { toolCalls: [{ name: 'spawn_agent', namespace: agents, arguments: task, id: 'call_S' }] }
      }
      if (toolResults > 1) return { text: 'Done.' }
      const targets = [/"agent_id":"([^"]+)"/.exec(lastToolResults[0]?.text ?? '')?.[1]]
      const wait = { targets, timeout_ms: 20_000 }
      return { toolCalls: [{ name: 'wait_agent', namespace: agents, arguments: wait, id: 'call_W' }] }
    },
    run: user => user.exec('delegate'),
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=411, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.spawn_agent OK [hermes.tool.outcome=completed]
            subagent.default OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
                    tool.Bash OK [hermes.tool.outcome=completed]
                  api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.multi_agent_v1wait_agent OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('keeps the turn whole if the receiver is killed while a tool runs', async () => {
  const tree = await lived({
    answer: calls(shell('touch running; sleep 1', 'call_A')),
    run: async user => {
      const codex = user.startExec('say hi')
      await user.sees('running')
      user.signal('SIGKILL')
      await codex.end()
    },
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('does not affect Codex if the receiver hangs', async () => {
  await lived({
    answer: calls(shell('echo hi', 'call_A')),
    run: async user => {
      user.signal('SIGSTOP')
      try {
        const { code, stdout } = await user.exec('say hi')
        expect({ code, stdout }).toEqual({ code: 0, stdout: 'Done.\n' })
      } finally {
        user.signal('SIGCONT')
      }
    },
  })
})
