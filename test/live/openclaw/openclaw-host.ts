import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { freePorts } from '../../backends/support/free-port.ts'
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

/** It loads thousands of modules: half a minute on an idle machine, minutes on a busy one. */
const RUN_TIMEOUT_MILLIS = 240_000
const TOKEN = 'a-token-for-the-tests'

export interface OpenClawHome {
  readonly home: string
  readonly port: number
}

export interface HomeOptions {
  /** Whether we may see conversations, as a user allows it. Default true. */
  readonly seesConversation?: boolean
  /** Source of another plugin, which may see conversations too: its `register`, and what comes before that. */
  readonly plugin?: string
  readonly pluginHead?: string
}

/** A home in which OpenClaw asks our model server, with this package as its plugin: what `openclaw.json` says of it. */
export async function openClawHome(server: ModelServer, options: HomeOptions = {}): Promise<OpenClawHome> {
  const { seesConversation = true, plugin, pluginHead = '' } = options
  const home = scratchHome()
  // The gateway wants a number beforehand.
  const [port = 0] = await freePorts(1)
  if (plugin !== undefined) writePlugin(home, plugin, pluginHead)
  const entry = { enabled: true, hooks: { allowConversationAccess: seesConversation } }
  write(configFile(home), {
    gateway: { mode: 'local', bind: 'loopback', port, auth: { mode: 'token', token: TOKEN } },
    models: { providers: { fake: fakeProvider(server) } },
    agents: { defaults: { model: { primary: 'fake/fake-1' }, workspace: join(home, 'workspace') } },
    plugins: {
      load: { paths: [hookspanFolder(), ...(plugin === undefined ? [] : [join(home, 'other')])] },
      entries: { hookspan: entry, ...(plugin === undefined ? {} : { other: entry }) },
    },
  })
  // After so many attempts OpenClaw gives up; it would go on for a minute and a half.
  write(join(stateFolder(home), 'agents', 'main', 'agent', 'settings.json'), { retry: { provider: { maxRetries: 2 } } })
  mkdirSync(join(home, 'workspace'))
  return { home, port }
}

function fakeProvider(server: ModelServer): object {
  const cost = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 0 }
  const model = { id: 'fake-1', name: 'fake-1', contextWindow: 128_000, maxTokens: 4096, cost }
  return { baseUrl: `${server.url}/v1`, apiKey: 'dummy', api: 'openai-completions', models: [model] }
}

function writePlugin(home: string, register: string, head: string): void {
  const folder = join(home, 'other')
  write(join(folder, 'package.json'), { name: 'other', type: 'module', openclaw: { extensions: ['./index.js'] } })
  write(join(folder, 'openclaw.plugin.json'), {
    id: 'other',
    activation: { onStartup: true },
    configSchema: { type: 'object', additionalProperties: false },
  })
  const source = `${head}\nexport default { id: 'other', name: 'other', register(api) { ${register} } }\n`
  write(join(folder, 'index.js'), source)
}

function write(path: string, content: unknown): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content, null, 2))
}

function stateFolder(home: string): string {
  return join(home, '.openclaw')
}

function configFile(home: string): string {
  return join(stateFolder(home), 'openclaw.json')
}

function environment({ home }: OpenClawHome): Record<string, string> {
  return { OPENCLAW_STATE_DIR: stateFolder(home), OPENCLAW_CONFIG_PATH: configFile(home) }
}

function options(host: OpenClawHome): { home: string; env: Record<string, string>; timeoutMillis: number } {
  return { home: host.home, env: environment(host), timeoutMillis: RUN_TIMEOUT_MILLIS }
}

/** `openclaw agent`: one prompt. With `--local` in a process of its own, else by the gateway. */
export function prompt(host: OpenClawHome, message: string, ...flags: readonly string[]): Promise<Ended> {
  const [program = '', ...args] = hostCommand()
  const agent = ['agent', '--agent', 'main', '--session-id', 'talk', '--message', message, '--json']
  return runHost(program, [...args, ...agent, ...flags], options(host))
}

/** `openclaw gateway run`, until it takes requests. */
export async function startGateway(host: OpenClawHome): Promise<HostProcess> {
  const [program = '', ...args] = hostCommand()
  const gateway = startHost(program, [...args, 'gateway', 'run'], options(host))
  await isUp(host.port)
  return gateway
}

async function isUp(port: number): Promise<void> {
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined)
    if (answer?.ok === true) return
    await new Promise(resolve => setTimeout(resolve, 250))
  }
}
