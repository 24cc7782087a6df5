import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { serve } from '../../src/cli/commands/serve.ts'
import { startDetached } from '../../src/cli/serve/receiver-process.ts'
import type { Address } from '../../src/receiver/receiver-files.ts'
import { until } from '../support/until.ts'
import { fakeIo } from './fake-io.ts'
import { type Child, Program, REPOSITORY } from './program.ts'

let program: Program
beforeEach(() => {
  program = new Program()
})
afterEach(async () => {
  await inProcess(['--stop'])
  program.remove()
})

/** The command, in this process: the output of one that starts nothing. */
async function inProcess(args: readonly string[]): Promise<{ readonly code: number; readonly stdout: string }> {
  const io = fakeIo({ home: program.home, env: { PATH: process.env['PATH'] ?? '', HOME: program.home }, now: Date.now })
  const code = await serve.run([...args], io)
  return { code, stdout: io.written.stdout }
}

const STATE = join('.local', 'state', 'hookspan', 'receiver')
const SERVE_LINE = /^Receiver running: version \S+, pid (\d+), http:\/\/127\.0\.0\.1:\d+ {2}\S+receiver\.sock\n$/

function file(name: string): string {
  return join(program.home, STATE, name)
}

function address(): Address {
  return JSON.parse(readFileSync(file('address.json'), 'utf8')) as Address
}

function send(record: object): Promise<number> {
  const headers = { 'x-hookspan-token': readFileSync(file('token'), 'utf8').trim() }
  const { socket } = address()
  return new Promise((resolve, reject) => {
    const asking = request({ socketPath: socket as string, method: 'POST', path: '/v1/hooks', headers }, response => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    asking.on('error', reject).end(JSON.stringify(record))
  })
}

/** What an agent that waits is told. */
function ask(path: string, event: object): Promise<string> {
  const headers = {
    'x-hookspan-token': readFileSync(file('token'), 'utf8').trim(),
    'x-hookspan-decide': 'open',
    'content-type': 'application/json',
  }
  const { socket } = address()
  return new Promise((resolve, reject) => {
    let text = ''
    const asking = request({ socketPath: socket as string, method: 'POST', path, headers }, response => {
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      response.on('end', () => resolve(text))
    })
    asking.on('error', reject).end(JSON.stringify(event))
  })
}

/** What it writes, once it listens. */
async function started(child: Child): Promise<string> {
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  await until(() => text.endsWith('\n'))
  return text
}

function ofTurn(hook: string, payload: object): object {
  return { hook, host: 'demo', payload: { session_id: 's', turn_id: 't', ...payload } }
}

test('runs in the foreground until Ctrl-C: builds a tree, and leaves open spans to the next one', async () => {
  const child = program.spawn(['serve'])
  const ended = new Promise(resolve => child.once('close', resolve))
  expect(await started(child)).toMatch(SERVE_LINE)
  expect(address().pid).toBe(child.pid)
  expect(await send(ofTurn('pre_llm_call', { user_message: 'hello' }))).toBe(204)
  expect(await send(ofTurn('pre_tool_call', { tool_name: 'bash', tool_call_id: 'c1' }))).toBe(204)
  child.kill('SIGINT')
  expect(await ended).toBe(0)
  const next = program.spawn(['serve'])
  await started(next)
  await send(ofTurn('post_tool_call', { tool_name: 'bash', tool_call_id: 'c1', status: 'ok' }))
  await send(ofTurn('on_session_end', { completed: true }))
  expect((await program.run(['serve', '--stop'])).stdout).toBe(`Stopped (pid ${next.pid}).\n`)
  const { stdout } = await program.run(['tree'])
  expect(stdout.match(/^● /gm)).toHaveLength(1)
  expect(stdout).toMatch(/completed · .* · 3 spans/)
  expect(stdout).toMatch(/└─ tool\.bash/)
})

test('runs in the background once, and reports its counts', async () => {
  const first = await program.run(['serve', '--detach'])
  expect(first).toMatchObject({ code: 0, stderr: '' })
  const [, pid] = SERVE_LINE.exec(first.stdout) ?? []
  for (const args of [['--detach'], []]) {
    const again = await program.run(['serve', ...args])
    expect(again.code).toBe(0)
    expect(again.stdout).toContain(`pid ${pid}`)
  }
  await send(ofTurn('pre_llm_call', { user_message: 'hello' }))
  const status = await program.run(['serve', '--status'])
  expect(status.code).toBe(0)
  expect(status.stdout).toMatch(
    new RegExp(
      `^Receiver running: version ${packageJson.version}, pid ${pid}, since .*\n  address .*\n  open {5}\\d turns?\n  received 1 delivery\n$`,
    ),
  )
  await send(ofTurn('no_such_hook', {}))
  await until(async () => (await inProcess(['--status'])).stdout.includes('\n  ignored  1 event\n'))
})

test('starts one of many at once', async () => {
  const ended = await Promise.all(Array.from({ length: 4 }, () => program.run(['serve', '--detach'])))
  expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual(ended.map(() => [0, '']))
  const pids = ended.map(({ stdout }) => SERVE_LINE.exec(stdout)?.[1])
  expect(new Set(pids)).toEqual(new Set([String(address().pid)]))
})

test('is no failure if another one is running, even before that answers', async () => {
  const receiver = JSON.stringify(join(REPOSITORY, 'dist', 'cli', 'main.js'))
  const another = `spawn(process.execPath, [${receiver}, 'serve'], { detached: true, stdio: 'ignore' }).unref()`
  const io = fakeIo({ home: program.home, env: { PATH: process.env['PATH'] ?? '', HOME: program.home } })
  expect(await startDetached(['-e', `const { spawn } = require('node:child_process'); ${another}`], io)).toBe(0)
  expect(io.written.stdout).toMatch(SERVE_LINE)
})

test('is not delayed by a killed one, and handles the events since then', async () => {
  await program.run(['serve', '--detach'])
  const { pid } = address()
  process.kill(pid, 'SIGKILL')
  const at = Date.now()
  const body = ofTurn('pre_llm_call', { user_message: 'meanwhile' })
  writeFileSync(file(`spool/${at}-1-00000001.json`), JSON.stringify({ path: '/v1/hooks', at, id: 'a', body }), {
    mode: 0o600,
  })
  expect(await program.run(['serve', '--detach'])).toMatchObject({ code: 0, stderr: '' })
  expect(address().pid).not.toBe(pid)
  await until(() => readdirSync(file('spool')).length === 0)
  expect((await inProcess(['--status'])).stdout).toMatch(/ {2}received 1 delivery, 1 from the spool\n/)
})

test('reports that none runs', async () => {
  const status = await program.run(['serve', '--status'])
  expect(status).toMatchObject({
    code: 1,
    stdout: 'No receiver is running; start one with "hookspan serve --detach".\n',
  })
  expect(await program.run(['serve', '--stop'])).toMatchObject({
    code: 0,
    stdout: 'Nothing to do: no receiver is running.\n',
  })
})

test('ends one that does not answer', async () => {
  await program.run(['serve', '--detach'])
  const { pid } = address()
  rmSync(file('address.json'))
  expect((await inProcess(['--status'])).stdout).toBe(
    `The receiver (pid ${pid}) does not answer; stop it with "hookspan serve --stop".\n`,
  )
  expect((await inProcess(['--stop'])).stdout).toContain(`Stopped (pid ${pid}).`)
})

test.each(['serve', 'serve --detach'])('reports the reason why it cannot: %s', async args => {
  mkdirSync(file(''), { recursive: true, mode: 0o700 })
  symlinkSync('/etc/hostname', file('token'))
  const { code, stdout, stderr } = await program.run(args.split(' '))
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toBe(
    `hookspan serve: cannot read ${file('token')}: it is a symbolic link, which hookspan does not follow here; move it away\n`,
  )
  rmSync(file('token'))
})

test('prints the output of the one in the background with --detach', async () => {
  await program.run(['serve', '--detach'])
  const { port } = address()
  const other = new Program()
  const { code, stderr } = await other.run(['serve', '--detach', '--port', String(port)])
  other.remove()
  expect(code).toBe(1)
  expect(stderr).toBe(
    `hookspan serve: port ${port} cannot be used: another program listens there; choose another with --port, or 0 for any\n`,
  )
})

describe('wrong usage', () => {
  test.each<[string, RegExp]>([
    ['--port 70000', /--port takes a number from 0 to 65535, got "70000"/],
    ['--port http', /--port takes a number/],
    ['--idle-exit soon', /--idle-exit takes an age such as 15m or 2h, got "soon"/],
    ['--idle-exit 0s', /--idle-exit takes an age/],
    ['--stop --status', /--status and --stop cannot be combined/],
    ['-n', /--dry-run is for --install and --undo/],
    ['--daemon', /Did you mean --detach\?/],
  ])('is rejected: %s', async (args, message) => {
    const io = fakeIo()
    expect(await serve.run(args.split(' '), io)).toBe(2)
    expect(io.written.stderr).toMatch(message)
  })
})

test("runs the user's hooks, and reports those that cannot be loaded", async () => {
  const folder = join(program.home, '.config', 'hookspan', 'hooks')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const guard = `import { block } from 'hookspan/hooks'
    export default { name: 'no-rm', beforeTool: ({ tool }) => tool.command === 'rm x' ? block('Not here.') : undefined }\n`
  writeFileSync(join(folder, 'no-rm.mjs'), guard, { mode: 0o600 })
  writeFileSync(join(folder, 'broken.mjs'), "throw new Error('no luck')\n", { mode: 0o600 })
  const child = program.spawn(['serve'])
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    said += piece
  })
  await started(child)
  expect(said).toContain('broken.mjs is not loaded: no luck; fix it, or remove it from the folder\n')
  const call = { hook_event_name: 'PreToolUse', session_id: 's', tool_name: 'Bash', tool_use_id: 'c' }
  const answer = await ask('/claude-code', { ...call, tool_input: { command: 'rm x' } })
  expect(JSON.parse(answer)).toMatchObject({
    hookSpecificOutput: { permissionDecision: 'deny', permissionDecisionReason: 'Not here.' },
  })
})

test('blocks everything for a required file of hooks that does not exist', async () => {
  const folder = join(program.home, '.config', 'hookspan')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, 'config.yaml'), 'hooks: {options: {no-rm: {required: true}}}\n', { mode: 0o600 })
  await started(program.spawn(['serve']))
  const call = { hook_event_name: 'PreToolUse', session_id: 's', tool_name: 'Bash', tool_use_id: 'c' }
  const answer = await ask('/claude-code', { ...call, tool_input: { command: 'ls' } })
  expect(JSON.parse(answer)).toMatchObject({ hookSpecificOutput: { permissionDecision: 'deny' } })
})
