import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import type { HookRecord } from '../../../src/contract/index.ts'
import { REPOSITORY } from '../../cli/program.ts'
import { findProgram } from '../../prometheus/tools.ts'
import { afterwards } from '../../support/afterwards.ts'

export const SHIM: string = join(REPOSITORY, 'integrations', 'locus')
const HOST = join(REPOSITORY, 'test', 'integrations', 'locus', 'host.py')
const LEAST_PYTHON = '3.11'
const isRequired = process.env['HOOKSPAN_REQUIRE_PYTHON'] === '1'

/** The interpreter itself: what is on the PATH may be a script that wants an environment. */
function pythonPath(): string | undefined {
  const found = findProgram('python3')
  const asked = `import sys; print(sys.executable if sys.version_info >= (${LEAST_PYTHON.replace('.', ',')}) else '')`
  const said = found && execFileSync(found, ['-c', asked], { encoding: 'utf8' }).trim()
  return said === '' ? undefined : said
}

const PYTHON = pythonPath()

/** Tests that need Python: run where it is, and in continuous integration in any case. */
export function describePython(name: string, tests: () => void): void {
  const isLeftOut = PYTHON === undefined && !isRequired
  if (isLeftOut) console.warn(`${name} is left out: there is no python3 ${LEAST_PYTHON} or later on PATH`)
  describe.skipIf(isLeftOut)(name, tests)
}

export interface Played {
  /** What was told, in order. */
  readonly records: readonly (HookRecord & { readonly payload: Record<string, unknown> })[]
  readonly printed: string
}

/** A home of its own, without any receiver: what is told lies in its spool. */
export class ShimScene {
  readonly home: string = mkdtempSync(join(tmpdir(), 'hookspan-locus-'))
  readonly place: string = join(this.home, 'state', 'hookspan', 'receiver')
  readonly posted: HookRecord[] = []

  constructor() {
    afterwards(() => rmSync(this.home, { recursive: true, force: true }))
  }

  /** A receiver on a socket, which has said where it is. */
  async listen(): Promise<void> {
    const server = createServer((request, response) => {
      let text = ''
      request.setEncoding('utf8').on('data', (part: string) => (text += part))
      request.on('end', () => {
        this.posted.push(...text.split('\n').map(line => JSON.parse(line) as HookRecord))
        response.writeHead(204).end()
      })
    })
    afterwards(() => {
      server.closeAllConnections()
      server.close()
    })
    const socket = join(this.home, 'receiver.sock')
    await new Promise<void>(resolve => server.listen(socket, resolve))
    mkdirSync(this.place, { recursive: true, mode: 0o700 })
    writeFileSync(join(this.place, 'token'), 'b2'.repeat(32), { mode: 0o600 })
    writeFileSync(join(this.place, 'address.json'), JSON.stringify({ socket }), { mode: 0o600 })
  }

  /** What Locus does, in Python; resolves when it has ended well, and has said nothing of an error. */
  async play(scenario: string, env: Readonly<Record<string, string>> = {}): Promise<Played> {
    const child = spawn(PYTHON ?? 'python3', ['-B', '-S', HOST, SHIM, '60'], {
      env: { PATH: '', HOME: this.home, XDG_STATE_HOME: join(this.home, 'state'), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const said = { out: '', error: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said.error += text))
    child.stdin.end(scenario)
    const code = await new Promise(resolve => child.on('close', resolve))
    expect({ code, error: said.error }).toEqual({ code: 0, error: '' })
    return { records: [...this.posted, ...this.#spooled()] as unknown as Played['records'], printed: said.out.trim() }
  }

  /** By the numbers of their ids, in which they were told. */
  #spooled(): HookRecord[] {
    const spool = join(this.place, 'spool')
    const names = existsSync(spool) ? readdirSync(spool).filter(name => name.endsWith('.json')) : []
    const bodies = names.map(name => JSON.parse(readFileSync(join(spool, name), 'utf8')) as { body: HookRecord })
    return bodies
      .map(({ body }) => body)
      .toSorted((one, other) => ((one.delivery_id ?? '') < (other.delivery_id ?? '') ? -1 : 1))
  }
}

/** Plays it, and gives what was told. */
export async function played(scenario: string, env: Readonly<Record<string, string>> = {}): Promise<Played> {
  return new ShimScene().play(scenario, env)
}
