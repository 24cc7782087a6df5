import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
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

/** Tokens of an answer of the model server. */
const OF_AN_ANSWER = 137
const LOOK_MILLIS = 50

export type Answer = (request: ModelRequest) => ModelReply

/** Calls these once, then says that it is done. */
export function calls(...toolCalls: NonNullable<ModelReply['toolCalls']>): Answer {
  return ({ toolResults }) => (toolResults === 0 ? { text: 'I will look.', toolCalls } : { text: 'Done.' })
}

export function shell(cmd: string, id: string, more: object = {}): NonNullable<ModelReply['toolCalls']>[number] {
  return { name: 'exec_command', arguments: { cmd, ...more }, id }
}

/** Somebody who has hookspan and Codex, and has run `hookspan init codex`. */
export class CodexUser {
  readonly home: string = scratchHome()
  readonly project: string = join(this.home, 'project')
  readonly codexHome: string = join(this.home, '.codex')
  readonly #model: ModelServer

  constructor(model: ModelServer) {
    this.#model = model
    mkdirSync(this.project)
    mkdirSync(this.codexHome)
    writeFileSync(join(this.codexHome, 'config.toml'), this.#config())
  }

  #config(): string {
    const provider = { name: 'fake', base_url: `${this.#model.url}/v1`, wire_api: 'responses', env_key: 'FAKE_KEY' }
    const retries = ['request_max_retries = 1', 'stream_max_retries = 1']
    return [
      'model = "fake-1"\nmodel_provider = "fake"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false',
      '[model_providers.fake]',
      ...Object.entries(provider).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
      ...retries,
      `[projects.${JSON.stringify(this.project)}]\ntrust_level = "trusted"\n`,
    ].join('\n')
  }

  async hookspan(...args: readonly string[]): Promise<string> {
    const program = join(hookspanFolder(), 'dist', 'cli', 'main.js')
    const { stdout, stderr } = await runHost(hostNode(), [program, ...args], { home: this.home, cwd: this.project })
    return stdout + stderr
  }

  /** `codex`, while it runs. */
  start(...args: readonly string[]): HostProcess {
    const [command = '', ...first] = hostCommand()
    const env = { CODEX_HOME: this.codexHome, FAKE_KEY: 'dummy' }
    return startHost(command, [...first, ...args], { home: this.home, cwd: this.project, env })
  }

  /** `codex exec`: one prompt, and the end. */
  exec(prompt: string): Promise<Ended> {
    return this.startExec(prompt).end()
  }

  startExec(prompt: string): HostProcess {
    const codex = this.start('exec', ...UNATTENDED, '--sandbox', 'danger-full-access', prompt)
    // It reads to the end what it is given, before it begins.
    void codex.end()
    return codex
  }

  /** The last session goes on. */
  resume(prompt: string): Promise<Ended> {
    return this.start('exec', 'resume', '--last', ...UNATTENDED, prompt).end()
  }

  /** A tool makes this file when it runs. */
  async sees(name: string): Promise<void> {
    while (!existsSync(join(this.project, name))) await sleep(LOOK_MILLIS)
  }

  /** To the receiver of this user. */
  signal(signal: NodeJS.Signals): void {
    const file = join(this.home, '.local', 'state', 'hookspan', 'receiver', 'address.json')
    process.kill((JSON.parse(readFileSync(file, 'utf8')) as { pid: number }).pid, signal)
  }

  /** What was traced, when the receiver has worked off what it has. */
  async traces(): Promise<Traces> {
    // It may still be starting.
    await this.hookspan('serve', '--detach')
    await this.hookspan('serve', '--stop')
    return await tracesOf(this.home)
  }
}

/** Nobody is there to trust the hooks, as `init` says that somebody has to. */
const UNATTENDED = ['--dangerously-bypass-hook-trust', '--skip-git-repo-check']

export interface Scene {
  /** Name and line of the fixture that a recording makes of it; without, it makes none. */
  readonly scenario?: string
  readonly description?: string
  readonly answer: Answer
  readonly run: (user: CodexUser) => Promise<unknown>
}

/** Traces by their starts, a blank line between two. */
export async function lived({ answer, run, scenario, description = '' }: Scene): Promise<string> {
  let served = 0
  const model = await startModelServer(request => {
    const reply = answer(request)
    if (reply.status === undefined && reply.truncate !== true) served += OF_AN_ANSWER
    return reply
  })
  const user = new CodexUser(model)
  try {
    expect(await user.hookspan('init', 'codex')).toContain('Trust all and continue')
    await user.hookspan('serve', '--detach')
    await run(user)
    const { trees, spans } = await user.traces()
    if (scenario !== undefined) capture(user.home, 'codex', scenario, description)
    const traced = spans.reduce((sum, { attributes }) => {
      const number = (name: string): number => Number(attributes[`gen_ai.usage.${name}_tokens`] ?? 0)
      return sum + number('input') + number('output')
    }, 0)
    expect(traced).toBe(served)
    return trees.join('\n\n')
  } finally {
    await user.hookspan('serve', '--stop')
    await model.close()
  }
}
