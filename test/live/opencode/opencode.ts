import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { onTestFinished } from 'vitest'
import { type ModelReply, type ModelRequest, startModelServer } from '../../support/model-server.mjs'
import {
  capture,
  type Ended,
  type HostProcess,
  hookspanFolder,
  hostCommand,
  isRecording,
  runHost,
  scratchHome,
  scratchProject,
  startHost,
  TAP_MODULE,
  type Traces,
  tracesOf,
} from '../live-host.ts'

const MODEL = 'fake/fake-1'
/** A start takes seconds, and nobody else's work is to make a test fail. */
const TIMEOUT_MILLIS = 100_000

/** opencode has no way to be told not to look for these on the network. */
const QUIET = {
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
}

export interface Script {
  /** What the model says in the loop. Titles are seen to. */
  readonly answer: (request: ModelRequest) => ModelReply
  /** Further keys of `opencode.json`. */
  readonly settings?: Readonly<Record<string, unknown>>
}

export interface Opencode {
  readonly home: string
  readonly project: string
  readonly env: Readonly<Record<string, string>>
}

/** A home in which hookspan was enabled as its documentation says, and a project whose model is ours. */
export function installed(modelUrl: string, settings: Readonly<Record<string, unknown>> = {}): Opencode {
  const home = scratchHome()
  const config = join(home, '.config', 'opencode')
  if (settings['plugin'] === undefined) enable(config)
  // opencode installs its plugin package into this folder, from the network, unless it looks as if it had.
  mkdirSync(join(config, 'node_modules'), { recursive: true })
  const dependencies = { '@opencode-ai/plugin': '*' }
  write(join(config, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages: { '': { dependencies } } }))
  const fake = {
    npm: '@ai-sdk/openai-compatible',
    options: { baseURL: `${modelUrl}/v1`, apiKey: 'dummy' },
    models: { 'fake-1': { name: 'Fake', tool_call: true, limit: { context: 128_000, output: 4096 } } },
  }
  const all = { model: MODEL, small_model: MODEL, share: 'disabled', provider: { fake }, ...settings }
  const project = scratchProject(home, { files: { 'opencode.json': all, 'notes.txt': 'a note\n' } })
  return { home, project, env: QUIET }
}

/** As `hookspan init opencode` does it. */
function enable(config: string): void {
  const entry = pathToFileURL(join(hookspanFolder(), 'dist', 'agents', 'opencode', 'index.js')).href
  // No option of Bun's reaches a program that was compiled: what records is loaded with the plugin.
  const recorder = isRecording() ? `import '${pathToFileURL(TAP_MODULE).href}'\n` : ''
  write(join(config, 'plugins', 'hookspan.js'), `${recorder}export { HookspanPlugin } from '${entry}'\n`)
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** The requests of opencode's own agents offer no tools. */
export async function modelFor({ answer }: Script): Promise<Awaited<ReturnType<typeof startModelServer>>> {
  const server = await startModelServer(request =>
    request.tools.length === 0 ? { text: 'A fitting title' } : answer(request),
  )
  onTestFinished(() => server.close())
  return server
}

interface ToolPart {
  readonly tool?: string
  readonly state?: { readonly status: string }
}

/** One prompt, as `opencode run` takes it. */
export async function ranWith(
  prompt: string,
  script: Script,
): Promise<{
  readonly ended: Ended
  readonly traces: Traces
  readonly home: string
  readonly requests: readonly ModelRequest[]
}> {
  const server = await modelFor(script)
  const { home, project, env } = installed(server.url, script.settings)
  const ended = await ran(prompt, { home, project, env })
  return { ended, home, requests: server.requests, traces: await tracesOf(home) }
}

export function ran(prompt: string, { home, project, env }: Opencode): Promise<Ended> {
  const [program = '', ...args] = hostCommand()
  const options = { home, cwd: project, env, timeoutMillis: TIMEOUT_MILLIS }
  return runHost(program, [...args, 'run', '--model', MODEL, prompt], options)
}

export function record(home: string, scenario: string, description: string): void {
  capture(home, 'opencode', scenario, description)
}

/** `opencode serve`, and what its API offers to a client: several prompts in a session, and answers to what it asks. */
export class OpencodeServer {
  readonly #process: HostProcess
  readonly #url: string

  static async start({ home, project, env }: Opencode): Promise<OpencodeServer> {
    const [program = '', ...args] = hostCommand()
    const options = { home, cwd: project, env, timeoutMillis: TIMEOUT_MILLIS }
    const host = startHost(program, [...args, 'serve', '--hostname', '127.0.0.1', '--port', '0'], options)
    await host.sees('listening on')
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(host.stdout) ?? []
    if (url === undefined) throw new Error(`no address in: ${host.stdout}`)
    return new OpencodeServer(host, url)
  }

  private constructor(host: HostProcess, url: string) {
    this.#process = host
    this.#url = url
  }

  async session(): Promise<string> {
    const { id } = (await this.post('/session', {})) as { id: string }
    return id
  }

  /** Says something, and waits for the answer. */
  prompt(session: string, text: string): Promise<unknown> {
    return this.post(`/session/${session}/message`, { parts: [{ type: 'text', text }] })
  }

  /** Says something, and waits for nothing. */
  async tell(session: string, text: string): Promise<void> {
    await this.post(`/session/${session}/prompt_async`, { parts: [{ type: 'text', text }] })
  }

  /** Waits for somebody to be asked, and answers. */
  async reply(choice: 'once' | 'always' | 'reject'): Promise<void> {
    const [asked] = await this.#until<{ id: string }>(() => this.#get('/permission'))
    await this.post(`/permission/${asked?.id}/reply`, { reply: choice })
  }

  /** Waits for a tool of this name to run. */
  async works(tool: string): Promise<void> {
    await this.#until(async () => {
      const [session] = (await this.#get('/session')) as { id: string }[]
      const messages = (await this.#get(`/session/${session?.id}/message`)) as { parts: ToolPart[] }[]
      return messages
        .flatMap(({ parts }) => parts)
        .filter(part => part.tool === tool && part.state?.status === 'running')
    })
  }

  async idle(session: string): Promise<void> {
    await this.#until(async () => {
      const working = (await this.#get('/session/status')) as Record<string, unknown>
      return working[session] === undefined ? [true] : []
    })
  }

  /** Ends as a client does that closes its project, then the process. */
  async stop(): Promise<void> {
    await this.post('/instance/dispose', {})
    await this.#process.stop()
  }

  async post(path: string, body: unknown): Promise<unknown> {
    const headers = { 'content-type': 'application/json' }
    return this.#answerOf(await fetch(this.#url + path, { method: 'POST', headers, body: JSON.stringify(body) }), path)
  }

  async #get(path: string): Promise<unknown> {
    return this.#answerOf(await fetch(this.#url + path), path)
  }

  async #answerOf(response: Response, path: string): Promise<unknown> {
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  /** The test's own limit of time is the end of it. */
  async #until<Found>(look: () => Promise<unknown>): Promise<readonly Found[]> {
    for (;;) {
      const found = (await look()) as readonly Found[]
      if (found.length > 0) return found
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }
}
