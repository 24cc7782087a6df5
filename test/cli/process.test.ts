import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { displayWidth } from '../../src/reading/display-width.ts'
import { exportLine, SAMPLE_TURN } from '../reading/sample-turn.ts'
import { OtlpSink, type SinkBehaviour } from '../support/otlp-sink.ts'
import { IS_DEEP, SAMPLED, sample, times } from '../support/sample.ts'
import { asLines, generatedRecords } from './generated-records.ts'
import { type Child, ended, fixture, Program } from './program.ts'
import { linesOf, spansIn } from './scratch-replay.ts'

let program: Program
beforeEach(() => {
  program = new Program()
})
afterEach(() => program.remove())

const TURN = fixture('hermes-turn.jsonl')

function put(name: string, text: string): string {
  const path = join(program.home, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
  return path
}

const LOG = join('.local', 'state', 'hookspan', 'traces')

/** A line of the trace log: a turn that has ended. */
function storedTurn(name: string): string {
  const attributes = { 'session.id': name, 'hermes.span.kind': 'session', 'hermes.turn.final_status': 'completed' }
  return `${exportLine({ id: name, trace: name, name: 'agent', from: 1000, to: 1500, attributes })}\n`
}

describe(`hookspan, ${SAMPLED}`, () => {
  const CALLS: [string[], number, RegExp, RegExp][] = [
    [['--version'], 0, new RegExp(`^${packageJson.version}\n$`), /^$/],
    [['--help'], 0, / {2}demo +show traces without an agent/, /^$/],
    [[], 2, /^$/, /Usage: hookspan COMMAND/],
    [['demo', '--help'], 0, /^Usage: hookspan demo/, /^$/],
    [['replay'], 2, /^$/, /^hookspan replay: expected a FILE[^\n]*\nUsage: hookspan replay [^\n]*\n$/],
    [['config', '--check'], 0, /^The configuration is valid\.\n$/, /^$/],
  ]

  test.each(sample(CALLS, 3))('runs %j', async (args, code, stdout, stderr) => {
    const run = await program.run(args)
    expect(run.code).toBe(code)
    expect(run.stdout).toMatch(stdout)
    expect(run.stderr).toMatch(stderr)
  })
})

describe('demo', () => {
  test('runs in an empty home directory, and is drawn again by tree', async () => {
    const { code, stdout, stderr } = await program.run(['demo'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.match(/^● /gm)).toHaveLength(4)
    const [, file = ''] = /^Stored in (.*); nothing has left this machine\.$/m.exec(stdout) ?? []
    expect(file.startsWith(join(program.home, '.local/state/hookspan/traces/'))).toBe(true)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700)
    // From anywhere in the file system.
    expect(stdout).toMatch(/docker compose -f \S+\/docker-compose\.yml --profile jaeger up -d && npx hookspan demo /)
    const tree = await program.run(['tree'])
    expect(tree.code).toBe(0)
    expect(tree.stdout.match(/^● /gm)).toHaveLength(4)
  })

  test('follows COLUMNS and FORCE_COLOR where it writes into a pipe', async () => {
    const { stdout } = await program.run(['demo'], { env: { COLUMNS: '60', FORCE_COLOR: '1' } })
    expect(stdout).toContain('\x1b[')
    const [drawn = ''] = stripVTControlCharacters(stdout).split('\nStored in')
    expect(Math.max(...drawn.split('\n').map(displayWidth))).toBe(60)
  })

  const HOMES = [
    ['no home directory', ''],
    ['a home directory that cannot be', '/dev/null/home'],
  ] as const

  test.each(sample(HOMES, 1))(`runs with %s, ${SAMPLED}`, async (_what, home) => {
    const { code, stdout, stderr } = await program.run(['demo'], { env: { HOME: home } })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.match(/^● /gm)).toHaveLength(4)
    expect(stdout).toMatch(/^Not stored, because /m)
    expect(existsSync(join(program.home, '.local'))).toBe(false)
  })
})

describe('replay', () => {
  test('writes the same bytes everywhere', async () => {
    const text = asLines(generatedRecords(times(300, 5000)).records)
    const file = put('in.jsonl', text)
    const places = [
      {},
      { TZ: 'Asia/Kolkata', LANG: 'de_DE.UTF-8' },
      { TZ: 'America/St_Johns', OTEL_TRACES_SAMPLER: 'always_off' },
    ]
    const written: string[] = []
    for (const [index, env] of places.entries()) {
      const out = join(program.home, `${index}.jsonl`)
      const args = ['replay', index === 0 ? file : '-', '--out', out]
      expect(await program.run(args, { env, input: text })).toMatchObject({ code: 0, stdout: '' })
      written.push(readFileSync(out, 'utf8'))
    }
    for (const other of written.slice(1)) expect(other === written[0]).toBe(true)
    expect(existsSync(join(program.home, '.local'))).toBe(false)
  })

  if (IS_DEEP) {
    test('loses nothing of fifty thousand records, and does not keep them in memory', async () => {
      const { records, spans } = generatedRecords(50_000)
      const out = join(program.home, 'o.jsonl')
      const args = ['replay', put('in.jsonl', asLines(records)), '--out', out]
      const { code, stderr } = await program.run(args, { node: ['--max-old-space-size=64'] })
      expect({ code, stderr }).toEqual({ code: 0, stderr: `50 000 records → 25 000 spans; written to ${out}\n` })
      const ids = new Set(linesOf(out).flatMap(line => line.match(/"spanId":"[0-9a-f]{16}","parent/g) ?? []))
      const roots = linesOf(out).flatMap(line => line.match(/"name":"agent"/g) ?? [])
      expect(ids.size + roots.length).toBe(spans)
    })
  }

  test('reports the number and the fault of a malformed line, replays the rest, and exits with 1', async () => {
    const [first = '', ...others] = readFileSync(TURN, 'utf8').trimEnd().split('\n')
    const out = join(program.home, 'o.jsonl')
    const input = [first, '{"hook": "pre_tool_call"', ...others].join('\r\n')
    expect(await program.run(['replay', '-', '--out', out], { input })).toEqual({
      code: 1,
      stdout: '',
      stderr: `hookspan replay: standard input line 2: not JSON: it ends too early; the line is skipped\n28 records → 13 spans; written to ${out}\n`,
    })
    expect(spansIn(out)).toHaveLength(13)
  })

  describe(`a delivery that fails, in one line, ${SAMPLED}`, () => {
    const ILLS: [string, SinkBehaviour | 'dead', RegExp][] = [
      ['401', { kind: 'status', status: 401 }, /answered 401/],
      ['404', { kind: 'status', status: 404 }, /answered 404/],
      ['415', { kind: 'status', status: 415 }, /answered 415/],
      ['hanging', { kind: 'hanging' }, /did not answer/],
      ['dead', 'dead', /nothing listens at/],
    ]

    test.each(sample(ILLS, 1))('is reported for a backend with %s', async (what, behaviour, cause) => {
      const sink = await OtlpSink.start(behaviour === 'dead' ? undefined : behaviour)
      const { url } = sink
      if (behaviour === 'dead') await sink.stop()
      // Only who never answers may be given up: an answer may be late here because the machine is busy.
      const env = { HOOKSPAN_SPAN_BATCH_EXPORT_TIMEOUT_MS: what === 'hanging' ? '300' : '60000' }
      const { code, stdout, stderr } = await program.run(['replay', TURN, '--backend', `jaeger=${url}`], { env })
      if (behaviour !== 'dead') await sink.stop()
      expect(code).toBe(1)
      expect(stdout.match(/^● /gm)).toHaveLength(1)
      const [first, ...others] = stderr.trimEnd().split('\n')
      expect(first).toMatch(cause)
      expect(others).toEqual([
        'jaeger got 0 of 13 spans; 13 are pending',
        expect.stringMatching(/^28 records → 13 spans; stored in /),
      ])
    })
  })
})

/** Ends reading after the first piece, as `| head -1` does. */
async function hangUpAfterFirst(child: Child): Promise<{ code: number | null; stderr: string }> {
  const end = ended(child)
  child.stdout.once('data', () => child.stdout.destroy())
  const { code, stderr } = await end
  return { code, stderr }
}

describe(`a reader that closes early, ${SAMPLED}`, () => {
  const COMMANDS: [string, string[]][] = [
    ['demo', ['demo']],
    ['config', ['config']],
    ['replay', ['replay', TURN]],
    ['tree', ['tree', 'many.jsonl', '--last', '1000']],
  ]

  test.each(sample(COMMANDS, 1))('ends a command without an error: %s', async (_name, args) => {
    put('many.jsonl', Array.from({ length: 300 }, () => `${exportLine(...SAMPLE_TURN)}\n`).join(''))
    const { code, stderr } = await hangUpAfterFirst(program.spawn(args))
    expect(code).toBe(0)
    expect(stderr).not.toMatch(/EPIPE|Error|\bat /)
  })

  test('ends tree --follow', async () => {
    put(join(LOG, '1-1.jsonl'), storedTurn('first'))
    const child = program.spawn(['tree', '--follow'])
    child.stdout.once('data', () => put(join(LOG, '2-1.jsonl'), storedTurn('second')))
    expect(await hangUpAfterFirst(child)).toEqual({ code: 0, stderr: '' })
  })
})

describe('a signal', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)(
    'is handled by tree --follow: %s ends it with exit 0 and no further output',
    async signal => {
      put(join(LOG, '1-1.jsonl'), storedTurn('first'))
      const child = program.spawn(['tree', '--follow'])
      const end = ended(child)
      child.stdout.once('data', () => child.kill(signal))
      expect(await end).toMatchObject({ code: 0, stderr: '' })
    },
  )

  test('stops a replay in real time: its ended spans were stored at once, and the rest is, too', async () => {
    const replay = program.spawn(['replay', '-', '--speed', '1'])
    const replayEnd = ended(replay)
    replay.stdin.write(asLines(generatedRecords(10).records))
    const follow = program.spawn(['tree', '--follow'])
    const followEnd = ended(follow)
    follow.stdout.once('data', () => {
      replay.kill('SIGINT')
      follow.kill('SIGINT')
    })
    expect((await followEnd).stdout).toMatch(/^● s0 · turn 1 /)
    const { code, stdout, stderr } = await replayEnd
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
    expect(stderr).toMatch(/^Interrupted: \d+ records → \d+ spans; stored in \S+\n$/)
  })
})
