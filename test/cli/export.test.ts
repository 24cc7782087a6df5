/** `export`: traces that are handed on. */
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { export as exportCommand, writeExport } from '../../src/cli/commands/export.ts'
import type { FoundTraces } from '../../src/cli/traces.ts'
import { exportLine, noteLine, type SpanNote, TURN_AT } from '../reading/sample-turn.ts'
import { fakeIo } from './fake-io.ts'

const { run } = exportCommand

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

async function exported(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const io = fakeIo({ home, env: { COLUMNS: '80' }, now: () => TURN_AT + 60_000 })
  const code = await run([...args], io)
  return { code, ...io.written }
}

test('writes one turn as a page of its own, and lists its content', async () => {
  const path = join(home, 'turn.html')
  const { code, stdout, stderr } = await exported('1111', '--format', 'html', '--out', path)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.replace(/\([\d.]+ KB\)/, '(N KB)')).toBe(
    `Wrote 1 trace as a page to ${path} (N KB)
Before you share it, check what it contains:
  1 span, 1 text with 62 characters in total
  secrets were masked in 1 value:
    agent  input.value
  no value was truncated when recorded
`,
  )
  const html = await readFile(path, 'utf8')
  expect(html).toContain(`trace ${'1'.repeat(32)}`)
  expect(html).not.toContain('2'.repeat(32))
  expect((await stat(path)).mode & 0o777).toBe(0o600)
})

test('writes a session as all of its turns, in their order', async () => {
  const out = join(home, 'session.jsonl')
  const { stdout } = await exported('--session', 's1', '--format', 'otlp', '-o', out)
  expect(stdout).toContain(`Wrote 7 traces as OTLP/JSON lines to ${out}`)
  const lines = (await readFile(out, 'utf8')).trimEnd().split('\n')
  expect(lines).toEqual(Array.from({ length: 7 }, (_, index) => exportLine(turn(index, 's1'))))
})

test('writes to standard output without a file, and lists the content beside it', async () => {
  const { code, stdout, stderr } = await exported('1111', '-F', 'csv')
  expect(code).toBe(0)
  expect(stdout.split('\r\n').map(line => line.split(',').slice(6, 8))).toEqual([
    ['kind', 'name'],
    ['session', 'agent'],
    [],
  ])
  expect(stderr).toContain('1 span, 1 text with 62 characters in total')
})

test('reports omitted traces beside the other lines', async () => {
  const line = '5 older ones are left out; raise the limit with -n'
  const out = join(home, 'three.csv')
  const written = (await exported('-n', '3', '-F', 'csv', '-o', out)).stdout.split('\n')
  expect(written.slice(1, 3)).toEqual([line, 'Before you share it, check what it contains:'])
  expect((await exported('-n', '3', '-F', 'csv')).stderr.split('\n')[0]).toBe(line)
  expect((await exported('-n', '7', '-F', 'csv')).stderr).toMatch(/^1 older one is left out; /)
  const turns = Array.from({ length: 1003 }, (_, index) =>
    exportLine({ ...turn(index, 's1'), trace: (4096 + index).toString(16).padStart(32, '0') }),
  )
  await writeFile(log, `${turns.join('\n')}\n`)
  expect((await exported('--session', 's1', '-F', 'csv')).stderr).toMatch(/^3 older ones are left out; /)
  expect((await exported('-n', '1003', '-F', 'csv')).stderr).toMatch(/^Before/)
})

test('includes running turns in the page, and reports that the lines of OTLP omit them', async () => {
  await writeFile(log, `${noteLine(turn(1, 's1'))}\n`)
  expect((await exported('1111', '-F', 'html')).stdout).toContain('>running<')
  expect((await exported('1111', '-F', 'otlp')).stderr).toContain('Running spans of 1 trace are left out')
})

test('overwrites no file', async () => {
  const before = await readFile(log, 'utf8')
  expect(await exported('-F', 'otlp', '-o', log)).toEqual({
    code: 1,
    stdout: '',
    stderr: `hookspan export: ${log} exists already; choose another file, or remove it\n`,
  })
  expect(await readFile(log, 'utf8')).toBe(before)
  expect((await exported('-F', 'html', '-o', join(home, 'no', 'x.html'))).stderr).toContain(
    'there is no such file or directory',
  )
})

test('removes a file that cannot be written whole', async () => {
  const out = join(home, 'half.csv')
  const trees = {
    [Symbol.iterator]: () => {
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    },
  }
  const found = { trees, paths: [] } as unknown as FoundTraces
  const io = fakeIo({ home, env: {}, now: () => TURN_AT })
  await expect(writeExport(found, 'csv', out, io)).rejects.toThrow(`cannot write ${out}: the disk is full`)
  await expect(stat(out)).rejects.toThrow('ENOENT')
})

test.each([
  [[], '--format is required: html, otlp, atif, atof, messages, csv'],
  [['--format', 'xml'], '--format takes html, otlp, atif, atof, messages, csv; got "xml"'],
  [['-F', 'csv', '-n', 'x'], '--last takes a whole number, got "x"'],
])('rejects %j', async (args, message) => {
  const { code, stderr } = await exported(...args)
  expect(code).toBe(2)
  expect(stderr).toContain(message)
})

test('writes nothing without traces, with a line', async () => {
  const out = join(home, 'none.csv')
  const { code, stdout, stderr } = await exported('--session', 'nobody', '-F', 'csv', '-o', out)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^hookspan export: .*nobody/)
  await expect(stat(out)).rejects.toThrow('ENOENT')
})
