import type { HostProcess } from '../live-host.ts'
import type { CodexUser } from './codex.ts'

interface Hook {
  readonly key: string
  readonly currentHash: string
}

/** `codex app-server`, as an editor runs it. */
export class AppServer {
  readonly #user: CodexUser
  readonly #process: HostProcess
  readonly #decision: string
  /** What the person was asked, as it came. */
  asked = ''
  #calls = 0

  /** @param decision what the person says who is asked */
  constructor(user: CodexUser, decision: string) {
    this.#user = user
    this.#decision = decision
    this.#process = user.start('app-server')
  }

  /** What "Trust all and continue" does. */
  async trustHooks(): Promise<void> {
    const clientInfo = { name: 'test', title: 'test', version: '1' }
    await this.#call('initialize', { clientInfo, capabilities: { experimentalApi: true } })
    this.#send({ method: 'initialized' })
    const { data } = (await this.#call('hooks/list', { cwds: [this.#user.project] })) as { data: { hooks: Hook[] }[] }
    const hooks = data.flatMap(each => each.hooks)
    const value = Object.fromEntries(hooks.map(({ key, currentHash }) => [key, { trusted_hash: currentHash }]))
    await this.#call('config/value/write', { keyPath: 'hooks.state', value, mergeStrategy: 'upsert' })
  }

  /** One prompt with one question, until its answer is there. */
  async prompt(text: string): Promise<void> {
    const where = { cwd: this.#user.project, approvalPolicy: 'on-request', sandbox: 'workspace-write' }
    const { thread } = (await this.#call('thread/start', where)) as { thread: { id: string } }
    await this.#call('turn/start', { threadId: thread.id, input: [{ type: 'text', text }] })
    await this.#process.sees('"method":"item/commandExecution/requestApproval"')
    const question = this.#said(line => line['method'] === 'item/commandExecution/requestApproval')
    this.asked = JSON.stringify(question)
    const { id } = question
    this.#send({ id, result: { decision: this.#decision } })
    await this.#process.sees('"method":"turn/completed"')
  }

  async end(): Promise<void> {
    await this.#process.end()
  }

  async #call(method: string, params: object): Promise<unknown> {
    const id = ++this.#calls
    this.#send({ id, method, params })
    await this.#process.sees(`{"id":${id},`)
    return this.#said(line => line['id'] === id && 'result' in line)['result']
  }

  #send(message: object): void {
    this.#process.write(`${JSON.stringify(message)}\n`)
  }

  #said(isIt: (line: Record<string, unknown>) => boolean): Record<string, unknown> {
    // The last line may not be whole yet.
    const lines = this.#process.stdout.split('\n').slice(0, -1)
    const found = lines.map(line => JSON.parse(line) as Record<string, unknown>).find(isIt)
    if (found === undefined) throw new Error(`it has not said it: ${lines.at(-1)}`)
    return found
  }
}
