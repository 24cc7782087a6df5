import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { environmentBelow } from '../../src/cli/commands/run.ts'
import { readExportLine, type StoredSpan } from '../../src/reading/stored-span.ts'
import { buildForest } from '../../src/reading/trace-forest.ts'
import { outline } from '../../src/reading/tree-outline.ts'
import { type Ended, Program } from './program.ts'

const TRACE = 'a'.repeat(32)
const CALLER = 'b'.repeat(16)
const TRACEPARENT = `00-${TRACE}-${CALLER}-01`
/** As it stands in the environment of the program. */
const SAY_CONTEXT = ['sh', '-c', 'echo $TRACEPARENT $TRACESTATE']

let program: Program

beforeEach(() => {
  program = new Program()
})

afterEach(() => program.remove())

function run(words: readonly string[], env: Readonly<Record<string, string>> = {}, input?: string): Promise<Ended> {
  return program.run(['run', '--', ...words], { env, ...(input !== undefined && { input }) })
}

function log(): string {
  const folder = join(program.home, '.local', 'state', 'hookspan', 'traces')
  const files = readdirSync(folder).filter(name => name.endsWith('.jsonl'))
  return files.map(name => readFileSync(join(folder, name), 'utf8')).join('')
}

function spans(): readonly StoredSpan[] {
  return log()
    .split('\n')
    .filter(line => line !== '')
    .flatMap(line => readExportLine(line))
}

function tree(): string {
  return buildForest(spans())
    .map(each => outline(each))
    .join('\n\n')
}

describe('a program', () => {
  test.each([
    ['succeeding', ['true'], 0, 'agent OK\n  tool.true OK'],
    ['failing', ['sh', '-c', 'exit 3'], 3, 'agent ERROR failed\n  tool.sh ERROR exit_3'],
    ['missing', ['no-such-program'], 127, 'agent ERROR failed\n  tool.no-such-program ERROR ENOENT'],
    ['not executable', ['/'], 126, 'agent ERROR failed\n  tool.unknown ERROR EACCES'],
  ])('ends like the program alone: %s', async (_, words, code, drawn) => {
    expect((await run(words)).code).toBe(code)
    expect(tree()).toBe(drawn)
  })

  test("ends by the program's signal, too", async () => {
    const child = program.spawn(['run', '--', 'sh', '-c', 'kill -KILL $$'])
    expect(await new Promise(resolve => child.on('close', (...ended) => resolve(ended)))).toEqual([null, 'SIGKILL'])
    expect(tree()).toBe('agent ERROR failed\n  tool.sh ERROR SIGKILL')
  })

  test.each([
    ['SIGTERM', 'TERM'],
    ['SIGHUP', 'HUP'],
    ['SIGINT', 'INT'],
  ] as const)("gets %s, and reports the program's end", async (signal, name) => {
    const waiting = `trap 'echo heard; exit 7' ${name}; echo up; while :; do sleep 0.02; done`
    const child = program.spawn(['run', '--', 'sh', '-c', waiting])
    let said = ''
    child.stdout.on('data', text => {
      said += text
      if (String(text).includes('up')) child.kill(signal)
    })
    expect(await new Promise(resolve => child.on('close', resolve))).toBe(7)
    expect(said).toBe('up\nheard\n')
  })

  test('is no failure if the program is stopped', async () => {
    const child = program.spawn(['run', '--', 'sh', '-c', 'kill -TERM $$'])
    expect(await new Promise(resolve => child.on('close', (...ended) => resolve(ended)))).toEqual([null, 'SIGTERM'])
    expect(tree()).not.toContain('ERROR')
  })

  test('has our input and our outputs', async () => {
    const both = ['sh', '-c', 'cat; echo aside >&2']
    expect(await run(both, {}, 'told')).toEqual({ code: 0, stdout: 'told', stderr: 'aside\n' })
  })

  test('gets its own options', async () => {
    expect((await run(['echo', '--help', '--', '-x'])).stdout).toBe('--help -- -x\n')
  })
})

describe('the context', () => {
  test('is a trace of its own without a caller', async () => {
    const { stdout } = await run(SAY_CONTEXT, { TRACESTATE: 'vendor=1' })
    const tool = spans().find(({ name }) => name === 'tool.sh')
    expect(stdout).toBe(`00-${tool?.traceId}-${tool?.spanId}-01\n`)
  })

  test('is below the caller, in its trace', async () => {
    const { stdout } = await run(SAY_CONTEXT, { TRACEPARENT, TRACESTATE: 'vendor=1', HOOKSPAN_PARENT: 'link' })
    const [tool, root] = ['tool.sh', 'agent'].map(wanted => spans().find(({ name }) => name === wanted))
    expect(stdout).toBe(`00-${TRACE}-${tool?.spanId}-01 vendor=1\n`)
    expect([root?.traceId, root?.parentSpanId, tool?.parentSpanId]).toEqual([TRACE, CALLER, root?.spanId])
  })

  test.each([{ HOOKSPAN_ENABLED: 'false' }, { HOOKSPAN_PROPAGATE_CONTEXT: 'false' }])(
    'leaves it unchanged for %j',
    async off => {
      const { stdout, code } = await run(SAY_CONTEXT, { TRACEPARENT, TRACESTATE: 'vendor=1', ...off })
      expect([stdout, code]).toEqual([`${TRACEPARENT} vendor=1\n`, 0])
    },
  )

  test('drops the tracestate of another trace', () => {
    const other = `00-${'c'.repeat(32)}-${CALLER}-01`
    expect(environmentBelow(other, { TRACEPARENT, TRACESTATE: 'vendor=1', A: 'b' })).toEqual({
      A: 'b',
      TRACEPARENT: other,
    })
  })
})

describe('the arguments', () => {
  const words = ['true', '--password', 'hunter2hunter2', '-H', 'Authorization: Bearer abcdef0123456789', 'plain-word']

  test('has a preview without secrets', async () => {
    await run(words)
    expect(log()).toContain('plain-word')
    expect(log()).not.toMatch(/hunter2|abcdef0123456789/)
  })

  test('has none with content_capture off', async () => {
    await run(words, { HOOKSPAN_CONTENT_CAPTURE: 'off' })
    expect(tree()).toBe('agent OK\n  tool.true OK')
    expect(log()).not.toMatch(/hunter2|abcdef0123456789|plain-word|exit_code/)
  })
})

test('explains the usage without a program', async () => {
  const { code, stderr } = await program.run(['run'])
  expect([code, stderr.split('\n').filter(line => line !== '')[0]]).toEqual([
    2,
    'hookspan run: expected a program: hookspan run -- COMMAND',
  ])
})
