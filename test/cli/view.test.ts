import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { exportLine, SAMPLE_TURN, TRACE_ID } from '../reading/sample-turn.ts'
import { afterwards } from '../support/afterwards.ts'
import { type Child, type Ended, ended, Program } from './program.ts'

let program: Program
beforeEach(() => {
  program = new Program()
})
afterEach(() => program.remove())

interface View {
  readonly child: Child
  readonly end: Promise<Ended>
  readonly url: URL
}

/** Runs until it has said where it is. */
async function view(...args: readonly string[]): Promise<View> {
  const child = program.spawn(['view', ...args])
  const end = ended(child)
  afterwards(async () => {
    child.kill('SIGINT')
    await end
  })
  const url = await new Promise<URL>((resolve, reject) => {
    let said = ''
    child.stdout.on('data', (piece: string) => {
      said += piece
      const found = /http:\S+/.exec(said)?.[0]
      if (found !== undefined) resolve(new URL(found))
    })
    void end.then(({ stderr }) => reject(new Error(stderr)))
  })
  return { child, end, url }
}

function asked({ origin, hash }: URL, path: string): Promise<Response> {
  return fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${hash.slice('#k='.length)}` } })
}

function fileOf(...lines: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-view-file-'))
  afterwards(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'traces.jsonl')
  writeFileSync(path, lines.map(line => `${line}\n`).join(''))
  return path
}

test('serves the built page, and the traces of the log; Ctrl-C ends it', async () => {
  const { child, end, url } = await view()
  const page = await fetch(url.origin)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const assets = [...(await page.text()).matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path)
  expect(assets).toEqual(['/icon.svg', '/page.css', '/page.js'])
  for (const path of assets) expect((await fetch(url.origin + path)).status, path).toBe(200)
  const status = (await (await asked(url, '/api/status')).json()) as { source: { path: string } }
  expect(status.source.path).toBe(join(program.home, '.local/state/hookspan/traces'))
  child.kill('SIGINT')
  expect(await end).toMatchObject({ code: 0, stderr: '' })
})

test('shows the address of the first at a second call', async () => {
  const { child, url } = await view()
  const { code, stdout } = await program.run(['view'])
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: `The viewer is already running (pid ${child.pid}):\n\n  ${url}\n`,
  })
})

test('shows a file from another user', async () => {
  const path = fileOf(exportLine(...SAMPLE_TURN))
  const { url } = await view(path)
  const answer = await asked(url, `/api/traces/${TRACE_ID}`)
  expect(answer.status).toBe(200)
  expect(((await answer.json()) as { rows: unknown[] }).rows).toHaveLength(SAMPLE_TURN.length)
})

describe('a failure in one line', () => {
  test.each<[string, () => readonly string[], number, RegExp]>([
    ['for a missing file', () => ['none.jsonl'], 1, /^hookspan view: there is no file none\.jsonl\n$/],
    [
      'for a hexadecimal word that is no file',
      () => ['abc'],
      1,
      /^hookspan view: there is no file abc; for a trace: hookspan tree abc; for a session: hookspan tree --session abc\n$/,
    ],
    [
      'for a session',
      () => ['s-7f3a'],
      1,
      /^hookspan view: .* s-7f3a; for a session: hookspan tree --session s-7f3a\n$/,
    ],
    [
      'for a file without traces',
      () => [fileOf('hello')],
      1,
      /^hookspan view: there are no traces in \S+: it has no line of OTLP\/JSON with "resourceSpans"; expected one request a line\n$/,
    ],
    [
      'for an invalid port',
      () => ['--port', 'x'],
      2,
      /^hookspan view: --port takes a number from 0 to 65535, got "x"\n/,
    ],
  ])('is reported %s', async (_, args, code, message) => {
    const given = await program.run(['view', ...args()])
    expect(given).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) })
  })
})
