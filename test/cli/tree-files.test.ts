/** `tree FILE` with what is not a trace log: exit 1, and one line that says what it is. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { tree as treeCommand } from '../../src/cli/commands/tree.ts'
import { exportLine, noteLine } from '../reading/sample-turn.ts'
import { fakeIo } from './fake-io.ts'
import { fixture } from './program.ts'

const { run } = treeCommand

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hookspan-files-'))
})
afterEach(() => rm(directory, { recursive: true }))

const SPAN = { id: '1', trace: 'abc', name: 'agent', from: 0, to: 1 }

async function tree(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const io = fakeIo({ home: directory })
  const code = await run([...args], io)
  return { code, ...io.written }
}

async function write(content: string | Uint8Array): Promise<string> {
  const path = join(directory, 'f')
  await writeFile(path, content)
  return path
}

const EVENT = '{"event":"message_start","at":1,"data":{}}\n'

const NO_TRACES = 'it has no line of OTLP/JSON with "resourceSpans"; expected one request a line'

test.each<[string, string | Uint8Array, string]>([
  ['hook records', '{"hook":"pre_llm_call","payload":{}}\n', 'these are hook records: hookspan replay FILE'],
  ['a recording', '{"fixture":{"host":"x"}}\n{"hook":"y"}\n', 'these are hook records: hookspan replay FILE'],
  ['raw events', EVENT, 'these are raw events of a host: hookspan replay --host HOST FILE'],
  [
    'raw events of a host',
    `{"fixture":{"host":"pi"}}\n${EVENT}`,
    'these are raw events of a host: hookspan replay FILE',
  ],
  ['an empty file', '', 'it is empty'],
  ['blanks', '\n \n', 'it is empty'],
  ['gzip', gzipSync(exportLine(SPAN)), 'it is compressed with gzip: gunzip -k FILE'],
  ['a binary file', new Uint8Array([0x89, 0x50, 0, 1, 2, 0x0a, 0]), 'it is a binary file'],
  ['JSON', '{\n  "name": "x"\n}\n', NO_TRACES],
  ['lines of JSON', '{"a":1}\n{"a":2}\n', NO_TRACES],
  ['broken JSON', '{"a":\n', NO_TRACES],
  ['text', 'Dear diary\n', NO_TRACES],
  ['metrics', '{"resourceMetrics":[]}\n', 'it holds OpenTelemetry metrics, and no traces'],
  [
    'OTLP over several lines',
    JSON.stringify(JSON.parse(exportLine(SPAN)), null, 2),
    'no trace could be read from its 39 lines; expected one request a line',
  ],
])('explains a file of %s', async (_, content, problem) => {
  const path = await write(content)
  const stderr = `hookspan tree: ${path} is not a trace log: ${problem.replace('FILE', path)}\n`
  expect(await tree([path])).toEqual({ code: 1, stdout: '', stderr })
  expect(await tree([path, '--json'])).toEqual({ code: 1, stdout: '', stderr })
  expect(await tree([path, 'abc'])).toEqual({ code: 1, stdout: '', stderr })
})

test('draws a bundled recording', async () => {
  const { code, stderr } = await tree([fixture('demo-session.jsonl')])
  expect(code).toBe(1)
  expect(stderr).toContain(`these are hook records: hookspan replay ${fixture('demo-session.jsonl')}`)
})

test('rejects the same files with --follow', async () => {
  expect((await tree([await write(EVENT), '--follow'])).code).toBe(1)
})

test('shows no content of the file', async () => {
  const { stderr } = await tree([await write('sk-secret-of-mine and more\n')])
  expect(stderr).not.toContain('secret')
})

test('accepts a log without any trace so far', async () => {
  const path = await write('{"hookspan.segment":{"version":1}}\n')
  expect(await tree([path])).toEqual({
    code: 0,
    stdout: `There are no traces in ${path}: expected OTLP/JSON, one request a line.\n`,
    stderr: '',
  })
})

test.each([
  ['damage before it', `\u0000\u0000\u0000\n${exportLine(SPAN)}\n`],
  ['only a note of what is running', `${noteLine(SPAN)}\n`],
  ['very long lines', `${exportLine({ ...SPAN, attributes: { long: 'x'.repeat(200_000) } })}\n`],
  ['very much before it', `${`${'nonsense '.repeat(20)}\n`.repeat(1000)}${exportLine(SPAN)}\n`],
])('reads a log with %s', async (_, content) => {
  const { code, stdout } = await tree([await write(content)])
  expect(code).toBe(0)
  expect(stdout).toContain('● trace abc')
})

test('names the file for a directory', async () => {
  await mkdir(join(directory, 'd'))
  expect((await tree([join(directory, 'd')])).code).toBe(0)
  await writeFile(join(directory, 'd', 'r.jsonl'), '{"hook":"x"}\n')
  const { code, stderr } = await tree([join(directory, 'd')])
  expect(code).toBe(1)
  expect(stderr).toContain(`${join(directory, 'd', 'r.jsonl')} is not a trace log: these are hook records`)
})
