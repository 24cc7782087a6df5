import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { calls, observed, shell, task } from './copilot.ts'

test('nests tools below their request, with outcomes from exit codes', async () => {
  const tree = await observed({
    scenario: 'outcomes',
    description: 'three tools at once: one succeeds, one exits with 3, one finds no file',
    answer: (request, { project }) =>
      calls(shell('echo hi', 'call_A'), shell('exit 3', 'call_B'), {
        name: 'view',
        arguments: { path: `${project}/nowhere` },
        id: 'call_C',
      })(request),
    run: user => user.run('Go'),
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=completed]
          tool.bash ERROR tool_error [hermes.tool.outcome=error]
          tool.view ERROR tool_error [hermes.tool.outcome=error]
        api.fake-1 OK [gen_ai.response.finish_reason=stop]"
  `)
})

test('draws child agents in the tree of their parent', async () => {
  const tree = await observed({
    scenario: 'children',
    description: 'two child agents at once, each with a tool',
    answer: ({ prompt, toolResults }) => {
      const child = /child task (\w+)/.exec(prompt)?.[1]
      if (child !== undefined)
        return toolResults === 0
          ? { toolCalls: [shell(`echo ${child}`, `call_${child}`)] }
          : { text: `Child ${child}.` }
      return toolResults === 0 ? { toolCalls: [task('one', 'call_T1'), task('two', 'call_T2')] } : { text: 'All done.' }
    },
    run: user => user.run('Go'),
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.response.finish_reason=tool_calls]
          tool.task OK [hermes.tool.outcome=completed]
            subagent.task OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.response.finish_reason=tool_calls]
                    tool.bash OK [hermes.tool.outcome=completed]
                  api.fake-1 OK [gen_ai.response.finish_reason=stop]
          tool.task OK [hermes.tool.outcome=completed]
            subagent.task OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.response.finish_reason=tool_calls]
                    tool.bash OK [hermes.tool.outcome=completed]
                  api.fake-1 OK [gen_ai.response.finish_reason=stop]
        api.fake-1 OK [gen_ai.response.finish_reason=stop]"
  `)
})

test('draws a child agent that outlives the turn, and the turn that answers it', async () => {
  const tree = await observed({
    scenario: 'background',
    description: 'a child agent in the background; its end begins a turn of its own',
    answer: ({ prompt, toolResults, body }) => {
      if (prompt.includes('child task'))
        return toolResults === 0
          ? { delayMillis: 1500, toolCalls: [shell('echo child', 'call_X')] }
          : { text: 'Child done.' }
      if (JSON.stringify(body).includes('has finished processing')) return { text: 'It has finished.' }
      return toolResults === 0 ? { toolCalls: [task('one', 'call_T1', 'background')] } : { text: 'Started.' }
    },
    run: user => user.run('Go'),
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.response.finish_reason=tool_calls]
          tool.task OK [hermes.tool.outcome=completed]
            subagent.task OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.response.finish_reason=tool_calls]
                    tool.bash OK [hermes.tool.outcome=completed]
                  api.fake-1 OK [gen_ai.response.finish_reason=stop]
        api.fake-1 OK [gen_ai.response.finish_reason=stop]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        tool.read_agent OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.response.finish_reason=stop]"
  `)
})

test('draws a denied tool as blocked, with the approval', async () => {
  const tree = await observed({
    scenario: 'denied',
    description: 'a command that nobody can approve, beside one that needs no approval',
    answer: calls(shell('touch file.txt', 'call_A'), shell('echo hi', 'call_B')),
    run: user => user.start('Go').end(),
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=blocked]
            approval.bash OK [hermes.approval.choice=deny]
          tool.bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.response.finish_reason=stop]"
  `)
})

test('draws each failed attempt', async () => {
  const tree = await observed({
    scenario: 'retry',
    description: 'a request that is answered with 429 and then succeeds',
    answer: ({ attempt }) => (attempt === 1 ? { status: 429, error: 'slow down' } : { text: 'Hello.' }),
    run: user => user.run('Go'),
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 ERROR rate_limit_error (inferred)
        api.fake-1 OK [gen_ai.response.finish_reason=stop]"
  `)
})

test('has the HTTP status of the attempt that ended the turn', async () => {
  const tree = await observed({
    scenario: 'failed',
    description: 'a request that is answered with 400',
    answer: () => ({ status: 400, error: 'no such thing' }),
    run: user => user.run('Go'),
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent ERROR invalid_request_error [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=error]
      llm.fake-1 OK
        api.fake-1 ERROR invalid_request_error (inferred) [http.response.status_code=400]"
  `)
})

test('continues the count of turns when a session is continued', async () => {
  const tree = await observed({
    scenario: 'continued',
    description: 'a prompt, and another one in the same session, by another process',
    answer: () => ({ text: 'Hello.' }),
    run: async user => {
      await user.run('One')
      await user.run('Two', '--continue')
    },
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.response.finish_reason=stop]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.response.finish_reason=stop]"
  `)
})

test('ends a turn that the user interrupts', async () => {
  const tree = await observed({
    scenario: 'interrupted',
    description: 'SIGINT while a tool runs',
    answer: calls(shell('touch began; sleep 30', 'call_A')),
    run: async user => {
      const copilot = user.start('Go', '--allow-all-tools')
      await user.sees('began')
      await copilot.stop('SIGINT')
    },
  })
  // Copilot itself writes one or the other, as the signal comes before or after its answer to it.
  expect(tree.replace('user_initiated', 'user_abort')).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=user_abort]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=cancelled]"
  `)
})

test('ends the turn of a killed process when the session continues', async () => {
  const tree = await observed({
    scenario: 'killed',
    description: 'SIGKILL while a tool runs, then the session is continued',
    answer: ({ toolResults, prompt }) =>
      toolResults === 0 && !prompt.includes('Again')
        ? { toolCalls: [shell('touch began; sleep 30', 'call_A')] }
        : { text: 'Hello again.' },
    run: async user => {
      const copilot = user.start('Go', '--allow-all-tools')
      await user.sees('began')
      await user.recorded('tool.execution_start')
      await copilot.stop('SIGKILL')
      await user.run('Again', '--continue')
    },
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=abandoned]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=cancelled]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.response.finish_reason=stop]"
  `)
})

test('loses nothing when the receiver is killed during a turn', async () => {
  const tree = await observed({
    answer: ({ toolResults }, user) => {
      if (toolResults === 1) user.signal('SIGKILL')
      return toolResults < 3 ? { toolCalls: [shell(`echo ${toolResults}`, `call_${toolResults}`)] } : { text: 'Done.' }
    },
    run: async user => {
      await user.run('Go')
      expect(existsSync(join(user.home, '.copilot', 'session-state'))).toBe(true)
    },
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.response.finish_reason=stop]"
  `)
})
