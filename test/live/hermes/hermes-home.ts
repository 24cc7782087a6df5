import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Ended, hostCommand, hostVersion, runHost, scratchHome } from '../live-host.ts'

const RECORDER = fileURLToPath(new URL('recorder', import.meta.url))
/** Its start takes seconds, and a minute where the rest of the machine is at work. */
const RUN_TIMEOUT_MILLIS = 100_000

export interface HermesHome {
  readonly home: string
  readonly env: Readonly<Record<string, string>>
}

export interface HomeOptions {
  readonly modelUrl: string
  /** Everything that is not on loopback is asked of this proxy. */
  readonly proxyUrl: string
  /** Further keys of `config.yaml`. */
  readonly settings?: Readonly<Record<string, unknown>>
}

/** A home in which Hermes asks our model server, with the recorder as its plugin and two files. */
export function hermesHome({ modelUrl, proxyUrl, settings = {} }: HomeOptions): HermesHome {
  const home = scratchHome()
  const state = join(home, '.hermes')
  mkdirSync(join(state, 'plugins'), { recursive: true })
  cpSync(RECORDER, join(state, 'plugins', 'hook-recorder'), { recursive: true })
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
    plugins: { enabled: ['hook-recorder'] },
    // These would fetch programs and packages, and ask the model beside the turn.
    security: { tirith_enabled: false, allow_lazy_installs: false },
    auxiliary: { title_generation: { enabled: false } },
    ...settings,
  }
  // JSON is YAML, too.
  writeFileSync(join(state, 'config.yaml'), JSON.stringify(config, null, 2))
  for (const name of ['one.txt', 'two.txt']) writeFileSync(join(home, name), `${name}\n`)
  // As if it had just looked for a newer version.
  const looked = { ts: Date.now() / 1000, behind: 0, rev: null, ver: hostVersion() }
  writeFileSync(join(state, '.update_check'), JSON.stringify(looked))
  const proxies = { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl, ALL_PROXY: proxyUrl, NO_PROXY: '127.0.0.1,localhost' }
  return { home, env: { ...proxies, NO_COLOR: '1' } }
}

/** One line of what the recorder has written. */
export interface Recorded {
  readonly hook: string
  readonly at: number
  readonly payload: Readonly<Record<string, unknown>>
}

/** All that was recorded so far. A line that is still being written is not. */
export function recordsOf({ home }: HermesHome): Recorded[] {
  let text = ''
  try {
    text = readFileSync(join(home, '.hermes', 'hooks.jsonl'), 'utf8')
  } catch {
    // Nothing has fired yet.
  }
  return text
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as Recorded)
}

/** `hermes chat`: one prompt, in a process of its own. */
export function chat({ home, env }: HermesHome, prompt: string): Promise<Ended> {
  const [program = '', ...args] = hostCommand()
  const options = { home, env, timeoutMillis: RUN_TIMEOUT_MILLIS }
  return runHost(program, [...args, 'chat', '--query', prompt, '--quiet', '--yolo'], options)
}
