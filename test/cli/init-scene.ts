import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { expect } from 'vitest'
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
    for (const host of ['pi', 'openclaw', 'opencode']) this.#put(join(folder, 'dist', 'agents', host, 'index.js'), '')
    this.#put(join(folder, 'integrations', 'hermes', '__init__.py'), '')
    this.#put(join(folder, 'integrations', 'locus', 'pyproject.toml'), '')
    for (const name of ['hook.cjs', 'hook.sh']) this.#put(join(folder, 'dist', name), '')
    this.#put(join(folder, 'package.json'), '{ "name": "hookspan" }')
    this.#put(join(folder, 'openclaw.plugin.json'), '{}')
    return folder
  }

  async init(args: readonly string[], start: InitStart = {}): Promise<InitEnd> {
    const { env = {}, folder = this.folder, home = this.home, refusal, isTemporary = false, columns, typed } = start
    const io = fakeIo({ home, env, ...(columns === undefined ? {} : { columns }) })
    const stdin = typed === undefined ? io.stdin : terminal(typed)
    const where = { folder, project: start.project ?? home, refusal, isTemporary }
    const code = await initOf(() => where).run([...args], { ...io, stdin })
    // Or the process would not end.
    expect(stdin.readableEnded || stdin.readableFlowing !== true).toBe(true)
    return { code, ...io.written }
  }

  path(name: string): string {
    return join(this.home, name)
  }

  /** Puts a program where the returned PATH has it. */
  program(name: string): string {
    const path = this.#put(join(this.#root, 'bin', name), '#!/bin/sh\n', 0o755)
    return dirname(path)
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
  /** Default: the home directory. */
  readonly project?: string
  /** At a terminal; without it there is none. */
  readonly typed?: string
}

/** One that goes on after what was typed; nothing typed is Ctrl-D. */
function terminal(typed: string): Readable & { readonly isTTY: boolean } {
  const stdin = new PassThrough()
  if (typed === '') stdin.end()
  else stdin.write(typed)
  return Object.assign(stdin, { isTTY: true })
}
