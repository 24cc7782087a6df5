import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import {
  type Ended,
  type HostProcess,
  hookspanFolder,
  hostCommand,
  hostVersion,
  scratchHome,
  startHost,
} from '../live-host.ts'
import { TestReceiver } from './test-receiver.ts'

/** Its start takes seconds, and a minute where the rest of the machine is at work. */
const RUN_TIMEOUT_MILLIS = 100_000

export interface BareHome {
  readonly home: string
  readonly env: Readonly<Record<string, string>>
}

export interface HermesHome extends BareHome {
  /** What its plugin tells. */
  readonly receiver: TestReceiver
}

export interface HomeOptions {
  readonly modelUrl: string
  /** Everything that is not on loopback is asked of this proxy. */
  readonly proxyUrl: string
  /** Further keys of `config.yaml`. */
  readonly settings?: Readonly<Record<string, unknown>>
}

/** A home in which Hermes asks our model server, with our plugin and two files. */
export function hermesHome(options: HomeOptions): HermesHome {
  const bare = bareHome({ ...options, settings: { ...options.settings, plugins: { enabled: ['hookspan'] } } })
  const plugins = join(bare.home, '.hermes', 'plugins')
  mkdirSync(plugins)
  symlinkSync(join(hookspanFolder(), 'integrations', 'hermes'), join(plugins, 'hookspan'))
  return { ...bare, receiver: new TestReceiver(bare.home) }
}

/** The same before anybody has heard of us. */
export function bareHome({ modelUrl, proxyUrl, settings = {} }: HomeOptions): BareHome {
  const home = scratchHome()
  const state = join(home, '.hermes')
  mkdirSync(state)
  const config = {
    model: {
      default: 'fake-1',
      provider: 'custom',
      base_url: `${modelUrl}/v1`,
      api_mode: 'chat_completions',
      api_key: 'no-key-required',
      // Else it asks OpenRouter for it.
      context_length: 200_000,
    },
    // These would fetch programs and packages, and ask the model beside the turn.
    security: { tirith_enabled: false, allow_lazy_installs: false },
    auxiliary: { title_generation: { enabled: false } },
    ...settings,
  }
  writeFileSync(join(state, 'config.yaml'), stringify(config))
  for (const name of ['one.txt', 'two.txt']) writeFileSync(join(home, name), `${name}\n`)
  // As if it had just looked for a newer version.
  const looked = { ts: Date.now() / 1000, behind: 0, rev: null, ver: hostVersion() }
  writeFileSync(join(state, '.update_check'), JSON.stringify(looked))
  const proxies = { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl, ALL_PROXY: proxyUrl, NO_PROXY: '127.0.0.1,localhost' }
  return { home, env: { ...proxies, NO_COLOR: '1' } }
}

/** `hermes chat`: one prompt, in a process of its own. */
export function chat(bare: BareHome, prompt: string): Promise<Ended> {
  return startChat(bare, prompt).end()
}

/** The same, while it runs. */
export function startChat({ home, env }: BareHome, prompt: string): HostProcess {
  const [program = '', ...args] = hostCommand()
  const options = { home, env, timeoutMillis: RUN_TIMEOUT_MILLIS }
  return startHost(program, [...args, 'chat', '--query', prompt, '--quiet', '--yolo'], options)
}
