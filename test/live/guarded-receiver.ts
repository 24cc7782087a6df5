import { join } from 'node:path'
import type { ReceiverAdapter } from '../../src/agents/receiver-adapter.ts'
import type { AnyHook, Capabilities, Phase } from '../../src/guards/index.ts'
import { createHooks } from '../../src/guards/index.ts'
import type { ReceiverServer } from '../../src/receiver/receiver.ts'
import { openRecorder } from '../../src/receiver/recorder.ts'
import { startReceiver } from '../../src/receiver/start.ts'
import { hookspanFolder, hostNode, runHost, type Traces, tracesOf } from './live-host.ts'

/** What is said of the hooks of a user. */
export interface Guards {
  readonly home: string
  readonly host: string
  readonly adapter: ReceiverAdapter
  /** What it sends to. Default: that of its name. */
  readonly endpoint?: { readonly path: string; readonly host: string }
  readonly hooks: readonly AnyHook[]
  /** As `init` is told. */
  readonly guards: 'open' | 'closed'
}

/** The receiver of a user in this process, so that a test says what its hooks do. */
export class GuardedReceiver {
  readonly lines: string[]
  readonly #home: string
  readonly #receiver: ReceiverServer

  static async start({ home, host, adapter, endpoint, hooks, guards }: Guards): Promise<GuardedReceiver> {
    const program = join(hookspanFolder(), 'dist', 'cli', 'main.js')
    const { stdout } = await runHost(hostNode(), [program, 'init', host, '--guards', guards], { home })
    if (!stdout.includes('Done:')) throw new Error(`init ${host}: ${stdout}`)
    const lines: string[] = []
    const started = await startReceiver({
      env: { XDG_STATE_HOME: join(home, '.local', 'state') },
      home,
      version: '999.0.0',
      endpoints: { [endpoint?.path ?? `/${host}`]: { host: endpoint?.host ?? host, adapter } },
      openRecorder,
      loadHooks: () => Promise.resolve({ hooks: createHooks(hooks), lines: [], close: () => undefined }),
      say: line => lines.push(line),
    })
    if ('already' in started) throw new Error('one runs already')
    return new GuardedReceiver(home, started.receiver, lines)
  }

  private constructor(home: string, receiver: ReceiverServer, lines: string[]) {
    this.#home = home
    this.#receiver = receiver
    this.lines = lines
  }

  /** Nobody listens any more. */
  stop(): Promise<void> {
    return this.#receiver.stop()
  }

  async traces(): Promise<Traces> {
    await this.stop()
    return await tracesOf(this.#home)
  }
}

/** What hooks have decided: `tool.Bash: hook.no-rm block, blocked`. In the order of the alphabet: they are done within a millisecond. */
export function decided({ spans }: Traces): string[] {
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]))
  return spans
    .filter(({ name }) => name.startsWith('hook.'))
    .map(({ name, parentSpanId, attributes }) => {
      const [verdict, action] = [attributes['hermes.hook.verdict'], attributes['hermes.hook.action']]
      return `${names.get(parentSpanId ?? '') ?? '?'}: ${name} ${verdict}, ${action}`
    })
    .sort()
}

/** A table of an agent, as `beforeTool ask`: what the scenes of a suite have to show. */
export function claims(able: Capabilities): string[] {
  return Object.entries(able)
    .flatMap(([phase, decisions]) => decisions.map(decision => `${phase} ${decision}`))
    .sort()
}

export type Claim = `${Phase} ${string}`
