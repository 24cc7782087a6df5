/**
 * The examples of two documents that asked for hooks that act, or have them: a request to Hermes for runtime extensions, and the
 * page of Locus about its hooks. Each is here in TypeScript, and does what its document says; where real code does something
 * else, the case says so.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  contentFilter,
  guardrails,
  modelRetry,
  steering,
  structuredLogging,
  workflowGuard,
} from '../../src/guards/builtin/index.ts'
import {
  type AfterToolCallEvent,
  type AnyHook,
  type BeforeToolCallEvent,
  createHooks,
  type Extension,
  fromExtension,
  fromProvider,
  HookPriority,
  type HookProvider,
  runHooks,
  toolCallOf,
} from '../../src/guards/index.ts'
import { createTestPlugin } from '../../src/testing.ts'
import { afterwards } from '../support/afterwards.ts'
import { calling, EVENTS, inWords } from './asking.ts'
import { Agent } from './builtin/steps.ts'

describe('the request: three places in the loop of an agent', () => {
  const is_implementation_request = (text: string): boolean => /\b(fix|implement|add)\b/i.test(text)

  // The document names arguments by position and takes the rest as **kwargs: here all are one object.
  const my_input_hook = (has_valid_plan: () => boolean): Extension => ({
    transform_user_input: ({ user_message }) =>
      is_implementation_request(user_message) && !has_valid_plan()
        ? { action: 'rewrite', value: `/start-feature ${user_message}` }
        : { action: 'pass' },
  })

  test.each([
    ['fix the bug', false, '/start-feature fix the bug'],
    ['fix the bug', true, 'fix the bug'],
    ['what is this?', false, 'what is this?'],
  ])('transforms the prompt in transform_user_input: "%s", plan %s: "%s"', async (prompt, hasPlan, said) => {
    const agent = new Agent(
      fromExtension(
        my_input_hook(() => hasPlan),
        { name: 'workflow', priority: 10 },
      ),
    )
    expect((await agent.ask('beforeTurn', { prompt })).value).toBe(said)
  })

  test('adds in before_llm_call: guardrails with a plan, a reminder without one', async () => {
    const state = { hasPlan: false }
    const extension: Extension = {
      before_llm_call: ({ messages, system_prompt }) => {
        expect([messages.at(-1)?.content, system_prompt]).toEqual(['Fix the bug.', 'Be brief.'])
        return state.hasPlan
          ? { action: 'inject_system', value: 'Follow TDD. Be surgical.' }
          : { action: 'inject_user', value: 'No valid plan exists. Create one first.' }
      },
    }
    const agent = new Agent(fromExtension(extension, { name: 'workflow' }))
    const reminded = await agent.ask('beforeModel')
    expect(reminded.injected).toEqual([
      { text: 'No valid plan exists. Create one first.', role: 'user', by: 'workflow' },
    ])
    state.hasPlan = true
    // The document appends it to the cached system prompt, which then grows with each request: here it is in this request alone.
    for (let request = 0; request < 3; request++) {
      const guarded = await agent.ask('beforeModel')
      expect(guarded.injected).toEqual([{ text: 'Follow TDD. Be surgical.', role: 'system', by: 'workflow' }])
      expect(guarded.value).toEqual(EVENTS.beforeModel.messages)
    }
  })

  test("replaces the model's answer by a block in before_llm_call", async () => {
    const extension: Extension = { before_llm_call: () => ({ action: 'block', value: 'Budget spent.' }) }
    const agent = new Agent(fromExtension(extension, { name: 'workflow' }))
    expect(inWords(await agent.ask('beforeModel'))).toBe('block by workflow: Budget spent.')
  })

  test('blocks edits of the project in intercept_tool_call without a plan, except in plans/ and handoff/', async () => {
    const extension: Extension = {
      intercept_tool_call: ({ tool_name, tool_args }) => {
        const isWriting = ['write', 'edit'].includes(tool_name)
        const isAllowed = ['plans/', 'handoff/'].some(folder => String(tool_args['path']).startsWith(folder))
        return isWriting && !isAllowed ? { action: 'block', value: 'No valid plan. Plan first.' } : { action: 'pass' }
      },
    }
    const agent = new Agent(fromExtension(extension, { name: 'workflow' }))
    expect(await agent.call('edit', { path: 'src/a.ts' })).toBe('block by workflow: No valid plan. Plan first.')
    expect(await agent.call('write', { path: 'plans/a.md' })).toBe('pass')
    expect(await agent.call('read', { path: 'src/a.ts' })).toBe('pass')
  })

  test('runs lower priority earlier, passes rewrites on, and stops at a block', async () => {
    const seen: string[] = []
    const append = (name: string, priority: number): AnyHook =>
      fromExtension(
        {
          transform_user_input: ({ user_message }) => {
            seen.push(`${name} saw ${user_message}`)
            return name === 'stop'
              ? { action: 'block', value: 'Enough.' }
              : { action: 'rewrite', value: `${user_message} ${name}` }
          },
        },
        { name, priority },
      )
    const agent = new Agent(append('last', 30), append('second', 20), append('stop', 25), append('first', 10))
    expect(inWords(await agent.ask('beforeTurn', { prompt: 'go' }))).toBe('block by stop: Enough.')
    expect(seen).toEqual(['first saw go', 'second saw go first', 'stop saw go first second'])
  })

  test('passes metadata to later hooks', async () => {
    const seen: unknown[] = []
    const agent = new Agent(
      fromExtension(
        { transform_user_input: () => ({ action: 'pass', metadata: { route: 'plan' } }) },
        { name: 'a', priority: 1 },
      ),
      fromExtension(
        {
          transform_user_input: ({ metadata }) => {
            seen.push(metadata)
            return { action: 'pass', metadata: null }
          },
        },
        { name: 'b', priority: 2 },
      ),
    )
    await agent.ask('beforeTurn')
    expect(seen).toEqual([{ route: 'plan' }])
  })

  test('keeps the state of a turn for all of its tools, and drops it afterwards', async () => {
    const seen: unknown[] = []
    const extension: Extension = {
      transform_user_input: ({ turn_state }) => {
        // The document asks `get_turn_state(session_id)` for it; two turns of a session would have one.
        turn_state['plan_required'] = true
        turn_state['authorized_paths'] = ['plans/', 'handoff/']
        return { action: 'pass' }
      },
      intercept_tool_call: ({ turn_state }) => void seen.push({ ...turn_state }),
    }
    const agent = new Agent(fromExtension(extension, { name: 'workflow' }))
    await agent.ask('beforeTurn')
    await agent.call('edit')
    agent.turn('t2')
    await agent.call('edit')
    expect(seen).toEqual([{ plan_required: true, authorized_paths: ['plans/', 'handoff/'] }, {}])
  })

  test("has each action's effect in the loop of an agent", async () => {
    const extension: Extension = {
      transform_user_input: ({ user_message }) =>
        user_message === 'stop'
          ? { action: 'block', value: 'Not today.' }
          : { action: 'rewrite', value: `${user_message}!` },
      before_llm_call: () => ({ action: 'inject_user', value: 'Be careful.' }),
      intercept_tool_call: ({ tool_name, tool_args }) => {
        if (tool_name === 'write') return { action: 'block', value: 'Plan first.' }
        return { action: 'rewrite', value: { ...tool_args, dry_run: true } }
      },
    }
    const hooks = runHooks(createHooks([fromExtension(extension, { name: 'workflow' })]), { host: 'mine' })
    const ids = { sessionId: 's1', turnId: 't1' }
    const ran: unknown[] = []

    async function run_conversation(user_message: string, function_name: string): Promise<object> {
      const said = await hooks.run('beforeTurn', ids, { prompt: user_message })
      if (said.decision === 'block') return { final_response: said.reason, blocked: true }
      const messages = [{ role: 'user' as const, text: said.value }]
      const asked = await hooks.run('beforeModel', ids, { model: undefined, messages })
      const sent = [...asked.value, ...asked.injected].map(({ text }) => text)
      const tool = toolCallOf({ name: function_name, arguments: { path: 'a' } })
      const called = await hooks.run('beforeTool', ids, { tool })
      if (called.decision === 'block') return { sent, result: { error: called.reason, blocked_by_extension: true } }
      ran.push(called.value)
      return { sent, result: 'done' }
    }

    expect(await run_conversation('stop', 'edit')).toEqual({ final_response: 'Not today.', blocked: true })
    expect(await run_conversation('go', 'write')).toEqual({
      sent: ['go!', 'Be careful.'],
      result: { error: 'Plan first.', blocked_by_extension: true },
    })
    expect(await run_conversation('go', 'edit')).toMatchObject({ result: 'done' })
    expect(ran).toEqual([{ path: 'a', dry_run: true }])
  })

  // In Pi, as the document has it: `{ rewrite }` is ignored without a word, `systemPrompt` replaces the whole prompt, a `message`
  // that is a text is none, and `event.tool` is `event.toolName`. Written once, it need not know.
  test('runs the guard of the document as an extension for every agent', async () => {
    const plan = { exists: false }
    const workflow_guard: Extension = {
      transform_user_input: ({ user_message }) =>
        is_implementation_request(user_message) && !plan.exists
          ? { action: 'rewrite', value: `/start-feature ${user_message}` }
          : undefined,
      before_llm_call: () =>
        plan.exists
          ? { action: 'inject_system', value: 'Follow TDD. Be surgical. Run tests before claiming done.' }
          : { action: 'inject_user', value: 'No valid plan exists. Create one before implementing.' },
      intercept_tool_call: ({ tool_name }) =>
        !plan.exists && ['edit', 'write'].includes(tool_name)
          ? { action: 'block', value: 'No valid plan. Plan first.' }
          : undefined,
    }
    const agent = new Agent(fromExtension(workflow_guard, { name: 'workflow-guard' }))
    const turn = async () => [
      (await agent.ask('beforeTurn', { prompt: 'implement it' })).value,
      (await agent.ask('beforeModel')).injected[0]?.text,
      await agent.call('edit', { path: 'a.ts' }),
    ]
    expect(await turn()).toEqual([
      '/start-feature implement it',
      'No valid plan exists. Create one before implementing.',
      'block by workflow-guard: No valid plan. Plan first.',
    ])
    plan.exists = true
    expect(await turn()).toEqual(['implement it', 'Follow TDD. Be surgical. Run tests before claiming done.', 'pass'])
  })

  test('runs its configuration with the ready-made guard', async () => {
    const root = mkdtempSync(join(tmpdir(), 'documents-'))
    afterwards(() => rmSync(root, { recursive: true }))
    const agent = new Agent(
      workflowGuard({
        planPath: 'plans/active/plan.md',
        // A tool is known by what it does, and these by their names.
        blockedTools: ['write', 'edit', 'patch'],
        allowedPaths: ['plans/', 'handoff/'],
        root,
      }),
    )
    const call = async (name: string, path: string) =>
      (await agent.call(name, { path: join(root, path) })).split(' ')[0]
    expect([
      await call('edit', 'src/a.ts'),
      await call('patch', 'src/a.ts'),
      await call('write', 'plans/a.md'),
    ]).toEqual(['block', 'block', 'pass'])
    mkdirSync(join(root, 'plans/active'), { recursive: true })
    writeFileSync(join(root, 'plans/active/plan.md'), '# Plan')
    expect(await call('edit', 'src/a.ts')).toBe('pass')
  })
})

describe('the page of Locus: providers with six phases', () => {
  test('prints input and output in an audit', async () => {
    const printed: string[] = []
    class AuditHook implements HookProvider {
      readonly name = 'audit'
      readonly priority = HookPriority.OBSERVABILITY_MIN
      async on_before_tool_call(event: BeforeToolCallEvent): Promise<void> {
        printed.push(`→ ${event.tool_name}(${JSON.stringify(event.arguments)})`)
      }
      async on_after_tool_call(event: AfterToolCallEvent): Promise<void> {
        printed.push(`← ${event.tool_name} = ${JSON.stringify(event.result)}`)
      }
    }
    const agent = new Agent(fromProvider(new AuditHook()))
    await agent.call('search', { query: 'x' })
    await agent.ask('afterTool', { ...calling('search'), result: [1] })
    expect(printed).toEqual(['→ search({"query":"x"})', '← search = [1]'])
    expect(agent.lines).toEqual([])
  })

  test('mirrors each call of a tool into a queue of the host, by its id', async () => {
    class ActionQueueHook implements HookProvider {
      readonly priority = HookPriority.BUSINESS_DEFAULT
      readonly #queue: object[]
      constructor(queue: object[]) {
        this.#queue = queue
      }
      async on_after_tool_call(event: AfterToolCallEvent): Promise<void> {
        if (event.error === null)
          this.#queue.push({
            id: event.tool_call_id,
            tool: event.tool_name,
            args: event.arguments,
            result: event.result,
          })
      }
    }
    const queue: object[] = []
    const hook = fromProvider(new ActionQueueHook(queue))
    expect(hook.name).toBe('ActionQueueHook')
    const agent = new Agent(hook)
    const ended = (id: string, result: unknown, isError = false) =>
      agent.ask('afterTool', { ...calling('book', { to: id }, id), result, isError })
    await Promise.all([ended('c1', 'ok'), ended('c2', 'no seat', true), ended('c3', 'ok')])
    expect(queue).toEqual([
      { id: 'c1', tool: 'book', args: { to: 'c1' }, result: 'ok' },
      { id: 'c3', tool: 'book', args: { to: 'c3' }, result: 'ok' },
    ])
  })

  test("calls only the existing ones of a provider's six phases", async () => {
    const called: string[] = []
    const note = (name: string) => (): void => void called.push(name)
    const provider: HookProvider = {
      name: 'all',
      on_before_invocation: note('before invocation'),
      on_after_invocation: note('after invocation'),
      on_before_model_call: note('before model'),
      on_after_model_call: note('after model'),
      on_before_tool_call: note('before tool'),
      on_after_tool_call: note('after tool'),
    }
    const agent = new Agent(fromProvider(provider))
    for (const phase of ['beforeTurn', 'beforeModel', 'afterModel', 'beforeTool', 'afterTool', 'afterTurn'] as const)
      await agent.ask(phase)
    expect(called).toEqual([
      'before invocation',
      'before model',
      'after model',
      'before tool',
      'after tool',
      'after invocation',
    ])
    const one = createHooks([fromProvider({ name: 'one', on_before_tool_call: () => undefined })])
    expect(one.hooks[0]?.phases).toEqual(['beforeTool'])
  })

  test('runs lower priorities first before, and last after', async () => {
    const order: string[] = []
    const at = (name: string, priority: number): AnyHook =>
      fromProvider({
        name,
        priority,
        on_before_tool_call: () => order.push(`before ${name}`),
        on_after_tool_call: () => order.push(`after ${name}`),
      })
    const agent = new Agent(
      at('pretty', HookPriority.COSMETIC_MIN),
      at('guard', HookPriority.SECURITY_MAX),
      // The page says BUSINESS_LOGIC_MIN, its code BUSINESS_MIN.
      at('domain', HookPriority.BUSINESS_LOGIC_MIN),
      at('log', HookPriority.OBSERVABILITY_MIN),
    )
    await agent.ask('beforeTool')
    await agent.ask('afterTool')
    const names = ['guard', 'log', 'domain', 'pretty']
    expect(order).toEqual([...names.map(name => `before ${name}`), ...names.toReversed().map(name => `after ${name}`)])
    expect(HookPriority.BUSINESS_LOGIC_MIN).toBe(HookPriority.BUSINESS_MIN)
  })

  // In Locus 3.0.1 `event.cancel(reason=…)` is an error, for `cancel` is a field: both are taken.
  const CANCELLED: Record<string, (event: BeforeToolCallEvent) => void> = {
    'as the page calls it': event => (event.cancel as any)({ reason: 'SQL injection blocked by GuardrailsHook' }),
    'with the reason alone': event => (event.cancel as any)('SQL injection blocked by GuardrailsHook'),
    'as the code sets it': event => {
      event.cancel = 'SQL injection blocked by GuardrailsHook'
    },
  }

  test.each(Object.entries(CANCELLED))('cancels a statement that drops a table, %s', async (_, cancel) => {
    const agent = new Agent(
      fromProvider({
        name: 'sql',
        async on_before_tool_call(event) {
          // The page says str(event.arguments); its own guard reads only the first 8 KiB, so that text in front lets it pass.
          if (JSON.stringify(event.arguments).includes('DROP TABLE')) cancel(event)
        },
      }),
    )
    const blocked = 'block by sql: SQL injection blocked by GuardrailsHook'
    expect(await agent.call('query', { sql: 'DROP TABLE users' })).toBe(blocked)
    expect(await agent.call('query', { sql: `${' '.repeat(9000)}DROP TABLE users` })).toBe(blocked)
    expect(await agent.call('query', { sql: 'SELECT 1' })).toBe('pass')
  })

  test('freezes events', async () => {
    const agent = new Agent(
      fromProvider(
        {
          name: 'writes',
          on_after_tool_call(event) {
            ;(event as any).foo = 'bar'
          },
          on_before_tool_call(event) {
            ;(event as any).tool_name = 'other'
          },
        },
        { onFailure: 'block' },
      ),
    )
    // The page says that it is a ValidationError, and in its code it is an AttributeError; here it is a TypeError, and the hook has failed.
    expect(await agent.call('ls')).toMatch(/^block by writes: The hook writes failed to check this/)
    expect(inWords(await agent.ask('afterTool'))).toMatch(/^block by writes: /)
    expect(agent.lines).toHaveLength(2)
    expect(agent.lines.join()).toMatch(/read only property.*not extensible/)
  })

  test('composes the ready-made guards in one list', async () => {
    const lines: string[] = []
    const plugin = createTestPlugin({ host: 'mine' })
    // TelemetryHook is the plugin itself. SteeringHook(approver=) and ModelRetryHook(backoff_seconds=) are errors in the code.
    const hooks = createHooks([
      structuredLogging({ write: line => void lines.push(line) }),
      modelRetry({ retries: 3 }),
      // With its defaults the real one blocks `git status && ls`, and lets `rm -rf /home` run.
      guardrails({ commands: { block: ['rm'] }, sql: { tools: { query: 'sql' }, block: ['DROP'] }, cards: 'block' }),
      contentFilter(),
      steering({
        judge: call =>
          call.name === 'book_flight' ? { verdict: 'guide', reason: 'Search first.' } : { verdict: 'proceed' },
      }),
    ])
    const agent = runHooks(hooks, { host: 'mine', plugin: () => plugin })
    const ids = { sessionId: 's1', turnId: 't1' }
    const call = (name: string) => agent.run('beforeTool', ids, calling(name))
    expect(inWords(await call('book_flight'))).toBe('block by steering: Search first.')
    expect(inWords(await call('search'))).toBe('pass')
    const shell = (command: string) => agent.run('beforeTool', ids, calling('bash', { command }))
    expect(inWords(await shell('git status && ls'))).toBe('pass')
    expect((await shell('rm -rf /home')).by).toBe('guardrails')
    expect((await agent.run('beforeTool', ids, calling('query', { sql: 'DROP TABLE users' }))).by).toBe('guardrails')
    expect((await agent.run('beforeTool', ids, calling('pay', { card: '4111 1111 1111 1111' }))).by).toBe('guardrails')
    const empty = await agent.run('afterModel', ids, { ...EVENTS.afterModel, text: '' })
    expect([empty.decision, empty.delayMillis]).toEqual(['retry', 500])
    // What guardrails have blocked came no further.
    expect(lines.map(line => JSON.parse(line).phase)).toEqual([
      'before_tool',
      'before_tool',
      'before_tool',
      'after_model',
    ])
  })

  // The page has a judge that votes "rewrite", too; its code has none, and lets the call run where the judge fails.
  test('runs nothing if the second model that approves tools fails', async () => {
    const approver = async (name: string): Promise<'approve' | 'reject'> => {
      if (name === 'pay') throw new Error('no connection')
      return name === 'search' ? 'approve' : 'reject'
    }
    const judge = async ({ name }: { readonly name: string }) => ({
      verdict: (await approver(name)) === 'approve' ? ('proceed' as const) : ('stop' as const),
    })
    const agent = new Agent(steering({ judge }))
    const made = await Promise.all(['search', 'book', 'pay'].map(name => agent.call(name)))
    expect(made.map(words => words.split(' ')[0])).toEqual(['pass', 'block', 'block'])
  })
})
