import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { serveOf } from '../../src/cli/commands/serve.ts'
import { serviceFor } from '../../src/cli/serve/service.ts'
import { afterwards } from '../support/afterwards.ts'
import { fakeIo } from './fake-io.ts'

class Scene {
  readonly home: string = mkdtempSync(join(tmpdir(), 'hookspan-service-'))
  readonly unit: string = join(this.home, '.config/systemd/user/hookspan.service')
  readonly ran: string[] = []
  /** What the commands of the system answer. */
  why: string | undefined

  constructor() {
    afterwards(() => rmSync(this.home, { recursive: true, force: true }))
  }

  async serve(args: string, { env = {}, platform = 'linux' as NodeJS.Platform } = {}) {
    const io = fakeIo({ home: this.home, env })
    const run = (line: readonly string[]): string | undefined => {
      this.ran.push(line.join(' '))
      return this.why
    }
    const code = await serveOf({ platform, uid: 501, run }).run(args.split(' '), io)
    return { code, ...io.written }
  }

  read(): string {
    return readFileSync(this.unit, 'utf8')
  }
}

const START = ['systemctl --user daemon-reload', 'systemctl --user enable --now hookspan.service']
const END = ['systemctl --user disable --now hookspan.service', 'systemctl --user daemon-reload']

describe('systemd', () => {
  test('shows its file, writes it, starts it; a second time there is nothing to do', async () => {
    const scene = new Scene()
    const { code, stdout, stderr } = await scene.serve('--install --idle-exit 2h')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`${scene.unit} (new)\n+ # Written by hookspan serve`)
    expect(stdout).toContain(START.map(line => `$ ${line}\n`).join(''))
    expect(stdout).toMatch(/Done: systemd runs the receiver now and at every login\.\n/)
    expect(scene.read()).toMatch(/^ExecStart="\/\S+" "\/\S+\/dist\/cli\/main\.js" "serve" "--idle-exit" "2h"$/m)
    expect(statSync(scene.unit).mode & 0o777).toBe(0o600)
    expect(scene.ran).toEqual(START)
    expect((await scene.serve('--install --idle-exit 2h')).stdout).toMatch(
      /^Nothing to do: systemd starts the receiver already/,
    )
    expect(scene.ran).toEqual(START)
  })

  test.each(['--install -n', '--undo --dry-run'])('writes nothing with %s', async args => {
    const scene = new Scene()
    if (args.startsWith('--undo')) await scene.serve('--install')
    const [before, ran] = [existsSync(scene.unit), scene.ran.length]
    const { code, stdout, stderr } = await scene.serve(args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'Nothing has been written.\n' })
    expect(stdout).toContain('$ systemctl --user')
    expect(existsSync(scene.unit)).toBe(before)
    expect(scene.ran).toHaveLength(ran)
  })

  test('reverts it', async () => {
    const scene = new Scene()
    await scene.serve('--install')
    scene.ran.length = 0
    const { code, stdout } = await scene.serve('--undo')
    expect(code).toBe(0)
    expect(stdout).toContain(`${scene.unit} (removed)\n- # Written by hookspan serve`)
    expect(scene.ran).toEqual(END)
    expect(existsSync(scene.unit)).toBe(false)
    expect((await scene.serve('--undo')).stdout).toMatch(/^Nothing to do: systemd does not start a receiver/)
  })

  test.each(['--install', '--undo'])('leaves a foreign file alone with %s', async args => {
    const scene = new Scene()
    mkdirSync(dirname(scene.unit), { recursive: true })
    writeFileSync(scene.unit, '[Unit]\n')
    const { code, stderr } = await scene.serve(args)
    expect(code).toBe(1)
    expect(stderr).toBe(
      `hookspan serve: ${scene.unit} was not written by hookspan and is left unchanged: move it away\n`,
    )
    expect(scene.read()).toBe('[Unit]\n')
    expect(scene.ran).toEqual([])
  })

  test('writes the file if systemd does not run, and shows the commands', async () => {
    const scene = new Scene()
    scene.why = 'Failed to connect to bus'
    const { code, stderr } = await scene.serve('--install')
    expect(code).toBe(1)
    expect(stderr).toBe(`hookspan serve: "${START[0]}" failed: Failed to connect to bus; run it by hand\n`)
    expect(existsSync(scene.unit)).toBe(true)
    expect((await scene.serve('--undo')).code).toBe(1)
    expect(existsSync(scene.unit)).toBe(false)
  })

  test('has the directories of this shell, and names the variables that it lacks', async () => {
    const scene = new Scene()
    const state = join(scene.home, 'my state')
    const env = { XDG_STATE_HOME: state, HOOKSPAN_BACKENDS: 'secret', OTEL_SERVICE_NAME: 'mine', OTHER: 'x' }
    const { stdout } = await scene.serve('--install', { env })
    expect(scene.read()).toContain(`Environment="XDG_STATE_HOME=${state}"\n`)
    expect(scene.read()).not.toContain('secret')
    expect(stdout).toMatch(/move them to the configuration: HOOKSPAN_BACKENDS, OTEL_SERVICE_NAME\n/)
  })
})

test('escapes special characters of a unit file', () => {
  const program = ['/opt/a b/node', '/home/100%/$HOME/"x"\\main.js', 'serve']
  const { content } = serviceFor('linux', 0, { env: {}, home: '/h', program })
  expect(content).toContain(String.raw`ExecStart="/opt/a b/node" "/home/100%%/$$HOME/\"x\"\\main.js" "serve"`)
})

test('writes a file for launchd', async () => {
  const scene = new Scene()
  const file = join(scene.home, 'Library/LaunchAgents/hookspan.receiver.plist')
  const { code, stdout } = await scene.serve('--install --port 4319', { platform: 'darwin' })
  expect(code).toBe(0)
  expect(stdout).toContain(`${file} (new)\n`)
  expect(readFileSync(file, 'utf8')).toMatch(
    /<string>serve<\/string>\n {4}<string>--port<\/string>\n {4}<string>4319<\/string>/,
  )
  expect(scene.ran).toEqual([`launchctl bootstrap gui/501 ${file}`])
  await scene.serve('--undo', { platform: 'darwin' })
  expect(scene.ran.at(-1)).toBe('launchctl bootout gui/501/hookspan.receiver')
  expect(existsSync(file)).toBe(false)
  const { content } = serviceFor('darwin', 0, { env: {}, home: '/h', program: ['/a&b/<node>'] })
  expect(content).toContain('<string>/a&amp;b/&lt;node&gt;</string>')
})

test('reports another system', async () => {
  const { code, stderr } = await new Scene().serve('--install', { platform: 'win32' })
  expect(code).toBe(1)
  expect(stderr).toBe('hookspan serve: there is no service for win32; start "hookspan serve" at login yourself\n')
})
