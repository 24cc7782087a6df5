import { spawn } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { REPOSITORY } from '../../cli/program.ts'
import { afterwards } from '../../support/afterwards.ts'
import { until } from '../../support/until.ts'

export const TOKEN: string = 'a1'.repeat(32)

/** Writes down that it was started, in the folder that it was started in: the receiver's. */
const PROGRAM = `import { appendFileSync } from 'node:fs'
appendFileSync('started', process.argv.slice(2).join(' ') + '\\n')`

export interface Ended {
  readonly code: number | null
  readonly printed: string
  /** That the agent could not write all that it had to say. */
  readonly brokenPipe: boolean
}

export interface Start {
  readonly args?: readonly string[]
  readonly input?: string | Uint8Array
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: 'ignore' | 'pipe'
  /** Waits for the receiver for as long as it takes: on a busy machine it is in the spool, too, otherwise. */
  readonly isPatient?: boolean
}

/** A home, and an installation of which only the forwarder is real: what it starts says so, and no more. */
export class Scene {
  readonly home: string = mkdtempSync(join(tmpdir(), 'hookspan-forwarder-'))
  readonly receiver: string = join(this.home, 'state', 'hookspan', 'receiver')
  readonly spool: string = join(this.receiver, 'spool')
  readonly program: string = join(this.home, 'package', 'dist', 'hook.cjs')

  readonly script: string = join(this.home, 'package', 'dist', 'hook.sh')

  readonly #patient: string = join(this.home, 'patient.mjs')

  constructor() {
    // What it has started may write into it yet, and it lists a folder only once.
    afterwards(() => until(() => isRemoved(this.home)))
    mkdirSync(join(this.home, 'package', 'dist', 'cli'), { recursive: true })
    copyFileSync(join(REPOSITORY, 'dist', 'hook.cjs'), this.program)
    copyFileSync(join(REPOSITORY, 'dist', 'hook.sh'), this.script)
    writeFileSync(join(this.home, 'package', 'package.json'), '{"type": "module", "version": "9.8.7"}')
    const main = join(this.home, 'package', 'dist', 'cli', 'main.js')
    writeFileSync(main, PROGRAM)
    const module = JSON.stringify(join(REPOSITORY, 'build', 'receiver', 'forwarder', 'forward.js'))
    const call = `forwardAndExit(process.argv[2], ${JSON.stringify(main)}, process.argv.slice(3), 45_000)`
    writeFileSync(this.#patient, `import { forwardAndExit } from ${module}\nawait ${call}\n`)
  }

  /** As an agent starts it. */
  fire({
    args = ['claude-code'],
    input = '',
    env = {},
    stdin = 'pipe',
    isPatient = false,
  }: Start = {}): Promise<Ended> {
    return run([isPatient ? this.#patient : this.program, ...args], { input, stdin, env: { ...this.env, ...env } })
  }

  /** By the shell forwarder. */
  fireShell({ args = ['codex'], input = '', env = {} }: Start = {}): Promise<Ended> {
    return run([this.script, process.execPath, ...args], { input, env: { ...this.env, ...env } }, '/bin/sh')
  }

  get env(): Record<string, string> {
    return { PATH: process.env['PATH'] ?? '', HOME: this.home, XDG_STATE_HOME: join(this.home, 'state') }
  }

  /** What waits for a receiver, the oldest first. */
  spooled(): Record<string, unknown>[] {
    return names(this.spool)
      .filter(name => name.endsWith('.json'))
      .map(name => JSON.parse(readFileSync(join(this.spool, name), 'utf8')) as Record<string, unknown>)
  }

  read(path: string): string {
    return readFileSync(join(this.receiver, path), 'utf8')
  }

  /** With what receivers were started, a line each. */
  started(): string {
    return names(this.receiver).includes('started') ? this.read('started') : ''
  }

  /** What a receiver leaves for those who look for it. */
  announce(address: { readonly socket?: string; readonly port?: number }, token: string = TOKEN): void {
    mkdirSync(this.receiver, { recursive: true, mode: 0o700 })
    writeFileSync(join(this.receiver, 'token'), token, { mode: 0o600 })
    writeFileSync(join(this.receiver, 'address.json'), JSON.stringify({ pid: 1, ...address }), { mode: 0o600 })
  }

  /** A receiver that answers a whole request with this; without an answer it hangs. */
  async listen(answer?: string, isTcp: boolean = false): Promise<string[]> {
    const requests: string[] = []
    const socket = join(this.home, 'receiver.sock')
    const server = createServer(client => answered(client, requests, answer))
    await listening(server, isTcp ? { host: '127.0.0.1', port: 0 } : { path: socket })
    const address = server.address()
    this.announce(typeof address === 'object' && address !== null ? { port: address.port } : { socket })
    return requests
  }

  /** A receiver that was killed: its socket is there, and its address. */
  async listenAndDie(): Promise<void> {
    const socket = join(this.home, 'receiver.sock')
    const server = createServer()
    await new Promise<void>(resolve => server.listen(`${socket}.first`, resolve))
    renameSync(`${socket}.first`, socket)
    await new Promise(resolve => server.close(resolve))
    this.announce({ socket })
  }
}

/** Receivers that take nothing. */
export const HOSTILE: Record<string, (scene: Scene) => unknown> = {
  'there is none': () => undefined,
  'it hangs': scene => scene.listen(),
  'it does not know the token': scene => scene.listen('HTTP/1.1 401 Unauthorized\r\n\r\n'),
  'it is overburdened': scene => scene.listen('HTTP/1.1 503 Service Unavailable\r\n\r\n'),
  'it is something else': scene => scene.listen('SSH-2.0-OpenSSH_9.2\r\n'),
  'it has died, and its socket is there': scene => scene.listenAndDie(),
  'its address is no JSON': scene => {
    scene.announce({ socket: '/nowhere' })
    writeFileSync(join(scene.receiver, 'address.json'), '{"socket": "/now')
  },
  'it has no token': scene => scene.announce({ socket: '/nowhere' }, ''),
}

export function names(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}

function isRemoved(folder: string): boolean {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
  }
  return !existsSync(folder)
}

export function run(
  args: readonly string[],
  { input = '', stdin = 'pipe', env = {} }: Omit<Start, 'args' | 'isPatient'>,
  program: string = process.execPath,
): Promise<Ended> {
  const child = spawn(program, args, { env, stdio: [stdin, 'pipe', 'pipe'] })
  let printed = ''
  let brokenPipe = false
  child.stdout?.on('data', chunk => (printed += chunk))
  child.stderr?.on('data', chunk => (printed += chunk))
  child.stdin?.on('error', () => (brokenPipe = true))
  child.stdin?.end(input)
  return new Promise(resolve => child.on('close', code => resolve({ code, printed, brokenPipe })))
}

async function listening(server: Server, where: { path: string } | { host: string; port: number }): Promise<void> {
  const clients = new Set<Socket>()
  server.on('connection', client => clients.add(client))
  afterwards(() => {
    for (const client of clients) client.destroy()
    server.close()
  })
  await new Promise<void>(resolve => server.listen(where, resolve))
}

function answered(client: Socket, requests: string[], answer: string | undefined): void {
  const at = requests.push('') - 1
  client.on('error', () => undefined)
  client.setEncoding('utf8').on('data', (chunk: string) => {
    const request = `${requests[at]}${chunk}`
    requests[at] = request
    if (answer !== undefined && isWhole(request)) client.write(answer)
  })
}

function isWhole(request: string): boolean {
  const [head = '', body] = request.split('\r\n\r\n')
  return body !== undefined && Buffer.byteLength(body) >= Number(/content-length: (\d+)/.exec(head)?.[1])
}
