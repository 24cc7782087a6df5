import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ModelReply, type ModelRequest, startModelServer } from '../../support/model-server.mjs'
import {
  hookspanFolder,
  hostCommand,
  hostNode,
  runHost,
  scratchHome,
  scratchProject,
  type Traces,
  tracesOf,
} from '../live-host.ts'
import { call } from './claude.ts'

/** A user who has hookspan and Claude Code, and nothing that runs. */
class User {
  readonly home: string = scratchHome()
  readonly #project: string = scratchProject(this.home)
  readonly #model: string

  constructor(model: string) {
    this.#model = model
  }

  async hookspan(...args: readonly string[]): Promise<string> {
    const program = join(hookspanFolder(), 'dist', 'cli', 'main.js')
    const { stdout, stderr } = await runHost(hostNode(), [program, ...args], { home: this.home, cwd: this.#project })
    return stdout + stderr
  }

  async claude(...args: readonly string[]): Promise<string> {
    const [command = '', ...first] = hostCommand()
    const ended = await runHost(command, [...first, '-p', ...args, '--allowedTools', 'Bash(echo:*)', 'Bash(sleep:*)'], {
      home: this.home,
      cwd: this.#project,
      env: {
        ANTHROPIC_BASE_URL: this.#model,
        ANTHROPIC_API_KEY: 'dummy',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
      },
    })
    return ended.stdout.trim()
  }

  /** To the receiver of this user. */
  signal(signal: NodeJS.Signals): void {
    process.kill(JSON.parse(this.#ofReceiver('address.json')).pid, signal)
  }

  #ofReceiver(...path: readonly string[]): string {
    return readFileSync(join(this.home, '.local', 'state', 'hookspan', 'receiver', ...path), 'utf8')
  }

  /** What was traced, when the receiver has worked off what it has. */
  async traces(): Promise<Traces> {
    // It may still be starting.
    await this.hookspan('serve', '--detach')
    await this.hookspan('serve', '--stop')
    return await tracesOf(this.home)
  }
}

async function asUser(
  answer: (request: ModelRequest, user: User) => ModelReply,
  run: (user: User) => Promise<void>,
): Promise<void> {
  const server = await startModelServer(request => answer(request, user))
  const user = new User(server.url)
  try {
    await run(user)
  } finally {
    await user.hookspan('serve', '--stop')
    await server.close()
  }
}

/** A model thinks about as long as a receiver takes to start. */
const THINKS = { delayMillis: 3000 }

const ONE_TOOL = ({ toolResults }: ModelRequest): ModelReply =>
  toolResults === 0 ? { ...call('Bash', { command: 'echo hi' }), ...THINKS } : { text: 'Done.' }

test('traces the first prompt after init, though no receiver ran', async () => {
  await asUser(ONE_TOOL, async user => {
    expect(await user.hookspan('init', 'claude-code')).toContain('Done: Claude Code will load hookspan.')
    expect(await user.claude('Say hi')).toBe('Done.')
    const { tree, spans } = await user.traces()
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
        llm.claude-opus-5-5 OK
          api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
            tool.Bash OK [hermes.tool.outcome=completed]
          api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
    `)
    expect(spans.find(({ name }) => name === 'agent')?.attributes['input.value']).toBe('Say hi')
    expect(await user.hookspan('init', 'claude-code', '--undo')).toContain('Done:')
  })
})

test('keeps the turn whole if the receiver is killed while a tool runs', async () => {
  let isKilled = false
  const answer = ({ prompt, toolResults }: ModelRequest, user: User): ModelReply => {
    if (prompt.includes('again')) return { text: 'Still here.', ...THINKS }
    if (toolResults === 0) return call('Bash', { command: 'echo hi' })
    if (!isKilled) user.signal('SIGKILL')
    isKilled = true
    return { text: 'Done.' }
  }
  await asUser(answer, async user => {
    await user.hookspan('init', 'claude-code')
    await user.hookspan('serve', '--detach')
    expect(await user.claude('Say hi')).toBe('Done.')
    expect(await user.claude('--continue', 'again')).toBe('Still here.')
    expect((await user.traces()).tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
        llm.claude-opus-5-5 OK
          api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
            tool.Bash OK [hermes.tool.outcome=completed]
          api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]
      agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
        llm.claude-opus-5-5 OK
          api.claude-opus-5-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
    `)
  })
})

test('does not affect the agent if the receiver hangs', async () => {
  await asUser(ONE_TOOL, async user => {
    await user.hookspan('init', 'claude-code')
    await user.hookspan('serve', '--detach')
    user.signal('SIGSTOP')
    try {
      expect(await user.claude('Say hi')).toBe('Done.')
    } finally {
      user.signal('SIGCONT')
      // The agent's hooks have had another one start, which may still be waiting for its turn.
      await user.traces()
      await user.traces()
    }
  })
})
