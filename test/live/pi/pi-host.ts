import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ModelServer } from '../../support/model-server.mjs'
import {
  type Ended,
  type HostProcess,
  hookspanFolder,
  hostCommand,
  runHost,
  scratchHome,
  startHost,
} from '../live-host.ts'

/** As somebody has it who has installed the package in the home directory. */
const OUR_EXTENSION = "export { default } from 'hookspan/pi'\n"
const MODEL = ['--provider', 'fake', '--model', 'fake-1']

export interface PiHome {
  readonly home: string
  readonly cwd: string
}

/** Where each protocol is spoken, below the address of the model server. */
const PROTOCOLS = { 'openai-completions': '/v1', 'openai-responses': '/v1', 'anthropic-messages': '' } as const

export interface PiHomeOptions {
  /** Extensions of the user, by file name. Default: ours alone. */
  readonly extensions?: Readonly<Record<string, string>>
  /** How Pi speaks to the model. */
  readonly api?: keyof typeof PROTOCOLS
  readonly settings?: object
}

/** A home in which Pi asks our model server. */
export function piHome(server: ModelServer, given: PiHomeOptions = {}): PiHome {
  const { api = 'openai-completions', settings = {}, extensions = {} } = given
  const home = scratchHome()
  const cwd = join(home, 'project')
  const agent = agentFolder(home)
  const model = {
    id: 'fake-1',
    name: 'Fake 1',
    contextWindow: 32_000,
    maxTokens: 4096,
    input: ['text'],
    reasoning: false,
  }
  const cost = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }
  const fake = { baseUrl: `${server.url}${PROTOCOLS[api]}`, api, apiKey: 'dummy', models: [{ ...model, cost }] }
  write(join(agent, 'models.json'), JSON.stringify({ providers: { fake } }))
  write(join(agent, 'settings.json'), JSON.stringify({ retry: { maxRetries: 2, baseDelayMs: 50 }, ...settings }))
  for (const [name, source] of Object.entries({ 'hookspan.ts': OUR_EXTENSION, ...extensions })) {
    if (source !== '') write(join(agent, 'extensions', name), source)
  }
  mkdirSync(join(home, 'node_modules'))
  symlinkSync(hookspanFolder(), join(home, 'node_modules', 'hookspan'))
  mkdirSync(cwd)
  return { home, cwd }
}

function agentFolder(home: string): string {
  return join(home, '.pi', 'agent')
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

function options({ home, cwd }: PiHome): { home: string; cwd: string; env: Record<string, string> } {
  return { home, cwd, env: { PI_CODING_AGENT_DIR: agentFolder(home), PI_OFFLINE: '1' } }
}

/** `pi install`, of a folder. */
export function install(pi: PiHome, folder: string): Promise<Ended> {
  const [program = '', ...args] = hostCommand()
  return runHost(program, [...args, 'install', folder], options(pi))
}

/** `pi -p`: one prompt, and the end. */
export function print(pi: PiHome, prompt: string, env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const [program = '', ...args] = hostCommand()
  const { home, cwd, env: own } = options(pi)
  return runHost(program, [...args, ...MODEL, '-p', prompt], { home, cwd, env: { ...own, ...env } })
}

/** `pi --mode rpc`, as an editor runs it. */
export class RpcPi {
  readonly #process: HostProcess
  #settled = 0

  constructor(pi: PiHome) {
    const [program = '', ...args] = hostCommand()
    this.#process = startHost(program, [...args, ...MODEL, '--mode', 'rpc'], options(pi))
  }

  send(command: Readonly<Record<string, unknown>>): void {
    this.#process.write(`${JSON.stringify(command)}\n`)
  }

  sees(text: string, times = 1): Promise<void> {
    return this.#process.sees(text, times)
  }

  /** A prompt, until the agent is idle again. */
  async prompt(message: string): Promise<void> {
    this.send({ type: 'prompt', message })
    await this.settled()
  }

  async settled(): Promise<void> {
    this.#settled += 1
    await this.sees('{"type":"agent_settled"', this.#settled)
  }

  /** Answers the question that an extension asks. */
  async answer(confirmed: boolean): Promise<void> {
    await this.sees('"method":"confirm"')
    const [, id] = /"type":"extension_ui_request","id":"([^"]+)","method":"confirm"/.exec(this.#process.stdout) ?? []
    this.send({ type: 'extension_ui_response', id, confirmed })
  }

  end(): Promise<Ended> {
    return this.#process.end()
  }
}
