import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { type ModelReply, type ModelRequest, type ModelServer, startModelServer } from '../../support/model-server.mjs'
import {
  capture,
  type Ended,
  type HostProcess,
  hookspanFolder,
  hostCommand,
  hostNode,
  runHost,
  scratchHome,
  startHost,
  type Traces,
  tracesOf,
} from '../live-host.ts'

const LOOK_MILLIS = 50

export type Answer = (request: ModelRequest, user: CopilotUser) => ModelReply
export type ToolCall = NonNullable<ModelReply['toolCalls']>[number]

/** Calls these tools once, then answers. */
export function calls(...toolCalls: readonly ToolCall[]): (request: ModelRequest) => ModelReply {
  return ({ toolResults }) => (toolResults === 0 ? { text: 'I will look.', toolCalls } : { text: 'Done.' })
}

export function shell(command: string, id: string): ToolCall {
  return { name: 'bash', arguments: { command, description: `run ${id}` }, id }
}

export function task(name: string, id: string, mode: 'sync' | 'background' = 'sync'): ToolCall {
  const prompt = `do the child task ${name}`
  return { name: 'task', arguments: { agent_type: 'task', name, description: `task ${name}`, prompt, mode }, id }
}

/** A user who has hookspan and Copilot CLI, and has run `hookspan init copilot`. */
export class CopilotUser {
  readonly home: string = scratchHome()
  readonly project: string = join(this.home, 'project')
  readonly #model: ModelServer

  constructor(model: ModelServer) {
    this.#model = model
    mkdirSync(this.project)
  }

  async hookspan(...args: readonly string[]): Promise<string> {
    const program = join(hookspanFolder(), 'dist', 'cli', 'main.js')
    const { stdout, stderr } = await runHost(hostNode(), [program, ...args], { home: this.home, cwd: this.project })
    return stdout + stderr
  }

  /** `copilot -p`: one prompt. */
  start(prompt: string, ...args: readonly string[]): HostProcess {
    const [command = '', ...first] = hostCommand()
    const env = {
      COPILOT_PROVIDER_BASE_URL: `${this.#model.url}/v1`,
      COPILOT_PROVIDER_API_KEY: 'dummy',
      COPILOT_MODEL: 'fake-1',
      COPILOT_OFFLINE: 'true',
    }
    const options = { home: this.home, cwd: this.project, env, timeoutMillis: 120_000 }
    const copilot = startHost(command, [...first, '-p', prompt, ...args], options)
    // It reads its input to the end before it begins.
    void copilot.end()
    return copilot
  }

  /** With every tool allowed. */
  run(prompt: string, ...args: readonly string[]): Promise<Ended> {
    return this.start(prompt, '--allow-all-tools', ...args).end()
  }

  /** Resolves when a tool has made this file in the project. */
  async sees(name: string): Promise<void> {
    while (!existsSync(join(this.project, name))) await sleep(LOOK_MILLIS)
  }

  /** Resolves when the session file has a line of this type: Copilot writes it in batches. */
  async recorded(type: string): Promise<void> {
    const folder = join(this.home, '.copilot', 'session-state')
    const hasLine = (name: string): boolean => {
      const file = join(folder, name, 'events.jsonl')
      return existsSync(file) && readFileSync(file, 'utf8').includes(`"type":"${type}"`)
    }
    while (!existsSync(folder) || !readdirSync(folder).some(hasLine)) await sleep(LOOK_MILLIS)
  }

  /** Sends a signal to the receiver of this user. */
  signal(signal: NodeJS.Signals): void {
    const file = join(this.home, '.local', 'state', 'hookspan', 'receiver', 'address.json')
    process.kill((JSON.parse(readFileSync(file, 'utf8')) as { pid: number }).pid, signal)
  }

  /** The traces, read when the receiver has processed all events. */
  async traces(): Promise<Traces> {
    // It may still be starting.
    await this.hookspan('serve', '--detach')
    await this.hookspan('serve', '--stop')
    return await tracesOf(this.home)
  }
}

export interface Scene {
  /** Name and first line of the fixture that a recording writes. */
  readonly scenario?: string
  readonly description?: string
  readonly answer: Answer
  readonly run: (user: CopilotUser) => Promise<unknown>
}

/** Traces by their starts, with a blank line between two. Every answer has its own token count, so that none can stand for another. */
export async function observed({ answer, run, scenario, description = '' }: Scene): Promise<string> {
  let served = 0
  let count = 0
  const model = await startModelServer(request => {
    const reply = answer(request, user)
    if (reply.status !== undefined || reply.truncate === true) return reply
    count += 1
    const usage = {
      prompt: 1000 + count,
      cached: 900 + count,
      completion: 10 + count,
      reasoning: count,
      ...reply.usage,
    }
    served += usage.prompt + usage.completion
    return { ...reply, usage }
  })
  const user = new CopilotUser(model)
  try {
    expect(await user.hookspan('init', 'copilot')).toContain('Copilot loads it at its next start')
    await user.hookspan('serve', '--detach')
    await run(user)
    const { trees, spans } = await user.traces()
    if (scenario !== undefined) capture(user.home, 'copilot', scenario, description)
    const counted = spans.reduce((sum, { attributes }) => {
      const number = (name: string): number => Number(attributes[`gen_ai.usage.${name}_tokens`] ?? 0)
      return sum + number('input') + number('output')
    }, 0)
    expect(counted).toBe(served)
    return trees.map(withoutTokens).join('\n\n')
  } finally {
    await user.hookspan('serve', '--stop')
    await model.close()
  }
}

/** Requests at once are served in any order, so their token counts are compared as a sum. */
function withoutTokens(tree: string): string {
  return tree
    .replace(/(?:gen_ai\.usage\.[\w.]+|hermes\.turn\.tokens\.total)=\d+(?:, )?/g, '')
    .replace(/, \]/g, ']')
    .replace(/ \[\]/g, '')
}
