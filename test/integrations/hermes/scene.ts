import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { HOOK_NAMES } from '../../../src/contract/index.ts'
import { REPOSITORY } from '../../cli/program.ts'
import { findProgram } from '../../prometheus/tools.ts'
import { afterwards } from '../../support/afterwards.ts'

export const SHIM: string = join(REPOSITORY, 'integrations', 'hermes')
const HOST = join(REPOSITORY, 'test', 'integrations', 'hermes', 'host.py')
const isRequired = process.env['HOOKSPAN_REQUIRE_PYTHON'] === '1'

/** The interpreter itself: what is on the PATH may be a script that wants an environment. */
function pythonPath(): string | undefined {
  const found = findProgram('python3')
  return found && execFileSync(found, ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim()
}

const PYTHON = pythonPath()

/** Tests that need Python: run where it is, and in continuous integration in any case. */
export function describePython(name: string, tests: () => void): void {
  if (PYTHON === undefined && !isRequired) console.warn(`${name} is left out: there is no python3 on PATH`)
  describe.skipIf(PYTHON === undefined && !isRequired)(name, tests)
}

export const TOKEN: string = 'b2'.repeat(32)

export interface Told {
  readonly hook: string
  readonly at: number
  readonly host: string
  readonly delivery_id: string
  readonly payload: Readonly<Record<string, unknown>>
}

export interface Request {
  readonly headers: IncomingMessage['headers']
  readonly path: string
  readonly records: readonly Told[]
}

export type Behaviour = 'takes it' | 'hangs' | 'refuses'

interface Play {
  readonly env?: Readonly<Record<string, string>>
  readonly hooks?: readonly string[]
  /** Whether the shim waits no longer than it does for a person; else as long as it takes, because this machine may be busy. */
  readonly isImpatient?: boolean
}

/** A home of its own, and a program `hookspan` that only says that it was started. */
export class ShimScene {
  readonly home: string = mkdtempSync(join(tmpdir(), 'hookspan-shim-'))
  readonly receiver: string = join(this.home, 'state', 'hookspan', 'receiver')
  readonly spool: string = join(this.receiver, 'spool')
  readonly socket: string = join(this.home, 'receiver.sock')
  readonly requests: Request[] = []

  constructor() {
    afterwards(() => rmSync(this.home, { recursive: true, force: true }))
    mkdirSync(join(this.home, 'bin'))
    writeFileSync(join(this.home, 'bin', 'hookspan'), `#!/bin/sh\necho "$@" >> '${this.home}/started'\n`)
    chmodSync(join(this.home, 'bin', 'hookspan'), 0o755)
  }

  /** What Hermes does, in Python; resolves when it has ended well. */
  async play(scenario: string, { env = {}, hooks = HOOK_NAMES, isImpatient = false }: Play = {}): Promise<string> {
    const args = [
      '-B',
      '-S',
      '-W',
      'ignore::DeprecationWarning',
      HOST,
      SHIM,
      JSON.stringify(hooks),
      isImpatient ? '0' : '45',
    ]
    const child = spawn(PYTHON ?? 'python3', args, {
      env: { PATH: join(this.home, 'bin'), HOME: this.home, XDG_STATE_HOME: join(this.home, 'state'), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const said = { out: '', error: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said.error += text))
    child.stdin.end(scenario)
    const code = await new Promise(resolve => child.on('close', resolve))
    expect({ code, error: said.error }).toEqual({ code: 0, error: '' })
    return said.out
  }

  /** A receiver on a socket, which has said where it is. */
  async listen(
    behaviour: Behaviour = 'takes it',
    address: object = {},
    answer: (record: Told) => object | undefined = () => undefined,
  ): Promise<void> {
    const server = createServer((request, response) => {
      let text = ''
      request.setEncoding('utf8').on('data', (part: string) => (text += part))
      request.on('end', () => {
        const { headers, url: path = '' } = request
        const records = text.split('\n').map(line => JSON.parse(line) as Told)
        this.requests.push({ headers, path, records })
        if (behaviour === 'hangs') return
        const said = records[0] === undefined ? undefined : answer(records[0])
        if (said !== undefined)
          response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(said))
        else response.writeHead(behaviour === 'refuses' ? 401 : 204).end()
      })
    })
    afterwards(() => {
      server.closeAllConnections()
      server.close()
    })
    await new Promise<void>(resolve => server.listen(this.socket, resolve))
    this.announce({ socket: this.socket, ...address })
  }

  announce(address: object): void {
    mkdirSync(this.receiver, { recursive: true, mode: 0o700 })
    writeFileSync(join(this.receiver, 'token'), `${TOKEN}\n`, { mode: 0o600 })
    writeFileSync(join(this.receiver, 'address.json'), JSON.stringify(address), { mode: 0o600 })
  }

  /** All that was posted, in order. */
  posted(): Told[] {
    return this.requests.flatMap(({ records }) => records)
  }

  /** All that waits for a receiver, in the order of the names. */
  spooled(): { path: string; at: number; id: string; body: Told }[] {
    const names = existsSync(this.spool) ? readdirSync(this.spool) : []
    return names
      .filter(name => name.endsWith('.json'))
      .toSorted()
      .map(name => JSON.parse(readFileSync(join(this.spool, name), 'utf8')) as ReturnType<ShimScene['spooled']>[number])
  }

  started(): string {
    const path = join(this.home, 'started')
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  }
}
