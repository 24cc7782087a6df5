import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { initOf } from '../../src/cli/commands/init.ts'
import { fakeIo } from './fake-io.ts'

/** A home directory, and a hookspan that is installed beside it. */
export class InitScene {
  readonly #root: string = mkdtempSync(join(tmpdir(), 'hookspan-init-'))
  readonly home: string = join(this.#root, 'home')
  readonly folder: string = this.install('lib/node_modules/hookspan')

  constructor() {
    mkdirSync(this.home)
  }

  /** Another copy of hookspan, with all that hosts look for. */
  install(place: string): string {
    const folder = join(this.#root, place)
    for (const host of ['pi', 'openclaw', 'opencode']) this.#put(join(folder, 'dist', 'hosts', host, 'index.js'), '')
    this.#put(join(folder, 'package.json'), '{ "name": "hookspan" }')
    this.#put(join(folder, 'openclaw.plugin.json'), '{}')
    return folder
  }

  async init(
    args: readonly string[],
    { env = {}, folder = this.folder, home = this.home, refusal, isTemporary = false, columns }: InitStart = {},
  ): Promise<InitEnd> {
    const io = fakeIo({ home, env, ...(columns === undefined ? {} : { columns }) })
    const code = await initOf(() => ({ folder, refusal, isTemporary })).run([...args], io)
    return { code, ...io.written }
  }

  path(name: string): string {
    return join(this.home, name)
  }

  put(name: string, text: string, mode = 0o600): string {
    return this.#put(this.path(name), text, mode)
  }

  read(name: string): string {
    return readFileSync(this.path(name), 'utf8')
  }

  mode(name: string): string {
    return (statSync(this.path(name)).mode & 0o777).toString(8)
  }

  /** All files and folders below the home directory, links not followed. */
  names(): string[] {
    return readdirSync(this.home, { recursive: true, encoding: 'utf8' }).sort()
  }

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true })
  }

  #put(path: string, text: string, mode = 0o600): string {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text, { mode })
    return path
  }
}

export interface InitEnd {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

interface InitStart {
  readonly env?: Readonly<Record<string, string>>
  readonly folder?: string
  readonly home?: string
  readonly refusal?: string
  readonly isTemporary?: boolean
  readonly columns?: number
}
