import { freePorts } from '../../backends/support/free-port.ts'
import { type HostProcess, hostCommand, startHost } from '../live-host.ts'
import { type BareHome, type HermesHome, type HomeOptions, hermesHome } from './hermes-home.ts'

const KEY = 'a-key-for-the-tests-of-no-value'
const POLL_MILLIS = 50
/** As long as all tests of a file may take. */
const GATEWAY_TIMEOUT_MILLIS = 10 * 60_000
const WORKING: ReadonlySet<unknown> = new Set(['queued', 'running', 'stopping', 'waiting_for_approval'])

export interface Run {
  readonly status: string
  readonly output?: string
  readonly error?: string
}

export interface Prompt {
  readonly session: string
  readonly text: string
  /** What was said before, when it is not the first prompt. */
  readonly history?: readonly { readonly role: 'user' | 'assistant'; readonly content: string }[]
  /** Of the person, on all that is asked. */
  readonly choice?: 'once' | 'session' | 'always' | 'deny'
}

/** `hermes gateway run`, and what its API offers to a client. A turn takes a second there, and ten in a process of its own. */
export class HermesGateway<Home extends BareHome = HermesHome> {
  readonly hermes: Home
  readonly #process: HostProcess
  readonly #url: string

  static start(options: HomeOptions): Promise<HermesGateway> {
    return HermesGateway.startIn(hermesHome, options)
  }

  /** @param makeHome all that is in it before Hermes starts */
  static async startIn<Home extends BareHome>(
    makeHome: (options: HomeOptions) => Home | Promise<Home>,
    options: HomeOptions,
  ): Promise<HermesGateway<Home>> {
    const [port = 0] = await freePorts(1)
    const api_server = { enabled: true, extra: { host: '127.0.0.1', port, key: KEY } }
    const settings = { ...options.settings, platforms: { api_server } }
    const hermes = await makeHome({ ...options, settings })
    const [program = '', ...args] = hostCommand()
    const { home, env } = hermes
    const host = startHost(program, [...args, 'gateway', 'run'], { home, env, timeoutMillis: GATEWAY_TIMEOUT_MILLIS })
    const gateway = new HermesGateway(hermes, host, `http://127.0.0.1:${port}`)
    await gateway.#isUp()
    return gateway
  }

  private constructor(hermes: Home, host: HostProcess, url: string) {
    this.hermes = hermes
    this.#process = host
    this.#url = url
  }

  /** A turn, until it has ended. */
  async run(prompt: Prompt): Promise<Run> {
    return this.ended(await this.begin(prompt), prompt.choice)
  }

  /** Begins a turn, and gives its run's id. */
  async begin({ session, text, history = [] }: Prompt): Promise<string> {
    const asked = { input: text, session_id: session, conversation_history: history }
    return (await this.#ask<{ run_id: string }>('/v1/runs', asked)).run_id
  }

  /** Stops a turn as a person does. */
  async stop(id: string): Promise<void> {
    await this.#ask(`/v1/runs/${id}/stop`, {})
  }

  async ended(id: string, choice?: Prompt['choice']): Promise<Run> {
    for (;;) {
      const run = await this.#ask<Run>(`/v1/runs/${id}`)
      if (!WORKING.has(run.status)) return run
      if (run.status === 'waiting_for_approval' && choice !== undefined) {
        await this.#ask(`/v1/runs/${id}/approval`, { choice })
      }
      await sleep()
    }
  }

  async close(): Promise<void> {
    await this.#process.stop()
  }

  async #ask<Answer>(path: string, body?: unknown): Promise<Answer> {
    const response = await fetch(this.#url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return JSON.parse(text) as Answer
  }

  async #isUp(): Promise<void> {
    for (;;) {
      const answer = await fetch(`${this.#url}/health`).catch(() => undefined)
      if (answer?.ok === true) return
      await sleep()
    }
  }
}

function sleep(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, POLL_MILLIS))
}
