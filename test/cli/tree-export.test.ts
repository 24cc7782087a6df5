/** `tree --html` and `tree --otlp`: traces that are handed on. */
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { tree as treeCommand } from '../../src/cli/commands/tree.ts'
import { exportLine, noteLine, type SpanNote, TURN_AT } from '../viewer/sample-turn.ts'
import { fakeIo } from './fake-io.ts'

const { run } = treeCommand

let home = ''
let log = ''
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'hookspan-export-'))
  log = join(home, '.local', 'state', 'hookspan', 'traces', 'a.jsonl')
  await mkdir(dirname(log), { recursive: true })
  const turns = Array.from({ length: 8 }, (_, index) => exportLine(turn(index, index < 7 ? 's1' : 's2')))
  await writeFile(log, turns.map(line => `${line}\n`).join(''))
})
afterEach(() => rm(home, { recursive: true }))

function turn(index: number, session: string): SpanNote {
  const attributes = {
    'hermes.span.kind': 'session',
    'session.id': session,
    'input.value': `the key is [REDACTED] ${'x'.repeat(40)}`,
  }
  return {
    id: `a${index}`,
    trace: `${index}`.repeat(32).replaceAll('0', 'f'),
    name: 'agent',
    from: index * 10,
    to: index * 10 + 5,
    attributes,
  }
}

async function tree(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const io = fakeIo({ home, env: { COLUMNS: '80' }, now: () => TURN_AT + 60_000 })
  const code = await run([...args], io)
  return { code, ...io.written }
}

test('one turn becomes a page of its own, and says what is in it', async () => {
  const path = join(home, 'turn.html')
  const { code, stdout, stderr } = await tree('1111', '--html', path)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.replace(/\([\d.]+ KB\)/, '(N KB)')).toBe(
    `Wrote 1 trace as a page to ${path} (N KB)
Before you share it, this is what is in it:
  1 span, 1 text of 62 characters in all
  secrets were masked in 1 value:
    agent  input.value
  nothing was cut when it was recorded
`,
  )
  const html = await readFile(path, 'utf8')
  expect(html).toContain(`trace ${'1'.repeat(32)}`)
  expect(html).not.toContain('2222')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
})

test('a session is all of its turns, not the last five, as a page and as lines', async () => {
  const [html, otlp] = [join(home, 'session.html'), join(home, 'session.jsonl')]
  const { stdout } = await tree('--session', 's1', '--html', html, '--otlp', otlp)
  expect(stdout).toContain(`Wrote 7 traces as a page to ${html}`)
  expect(stdout).toContain(`Wrote 7 traces as OTLP/JSON lines to ${otlp}`)
  const lines = (await readFile(otlp, 'utf8')).trimEnd().split('\n')
  expect(lines).toEqual(Array.from({ length: 7 }, (_, index) => exportLine(turn(index, 's1'))))
})

test('what is running is on the page, and said not to be among the lines', async () => {
  await writeFile(log, `${noteLine(turn(1, 's1'))}\n`)
  const [html, otlp] = [join(home, 't.html'), join(home, 't.jsonl')]
  const { stdout } = await tree('1111', '--html', html, '--otlp', otlp)
  expect(await readFile(html, 'utf8')).toContain('>running<')
  expect(stdout).toContain('What is running in 1 trace is not in it')
})

test('no file is written over', async () => {
  const before = await readFile(log, 'utf8')
  expect(await tree('--otlp', log)).toEqual({
    code: 1,
    stdout: '',
    stderr: `hookspan tree: ${log} is there already; name another file, or remove it\n`,
  })
  expect(await readFile(log, 'utf8')).toBe(before)
  expect((await tree('--html', join(home, 'no', 'x.html'))).stderr).toContain('there is no such file or directory')
})

test.each([
  [['--html', 'x', '--json'], '--html and --json do not go together'],
  [['--otlp', 'x', '--follow'], '--otlp and --follow do not go together'],
])('%j is wrong use', async (args, message) => {
  const { code, stderr } = await tree(...args)
  expect(code).toBe(2)
  expect(stderr).toContain(message)
})
