import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { checkState, type DoctorFinding } from '../../src/cli/doctor/examination.ts'
import { DoctorScene, linesOf, section } from './doctor-scene.ts'
import { type FakeProcess, fakeIo } from './fake-io.ts'

let scene: DoctorScene
beforeEach(() => {
  scene = new DoctorScene()
})
afterEach(() => {
  vi.restoreAllMocks()
  return scene.remove()
})

async function traceLog(args: string[] = ['--offline'], given?: FakeProcess): Promise<string[]> {
  return section(await scene.doctor(args, given), 'Trace log')
}

/** With the error that the file system gives when it is written to. */
function refused(code: string): Promise<readonly DoctorFinding[]> {
  const config = { local_log: true, local_log_max_bytes: 1 }
  return checkState(config, fakeIo({ home: scene.home }), async path => {
    writeFileSync(path, 'a part of it')
    throw Object.assign(new Error(`${code}: no`), { code })
  })
}

function allNames(): string[] {
  return readdirSync(scene.home, { recursive: true, encoding: 'utf8' })
}

describe('a trace log that can be written', () => {
  test('is reported as missing, and left so', async () => {
    const [line = '', ...others] = await traceLog()
    expect(line).toMatch(new RegExp(`^  ok    ${scene.state} can be written; not there yet, [\\d.]+ .B free$`))
    expect(others).toEqual([])
    expect(allNames()).toEqual([])
  })

  test('has its size, and is left unchanged', async () => {
    mkdirSync(scene.state, { recursive: true, mode: 0o700 })
    scene.put('.local/state/hookspan/traces/1-2.jsonl', 'x'.repeat(2048))
    chmodSync(join(scene.state, 'traces'), 0o700)
    const before = allNames()
    const lines = await traceLog()
    expect(lines).toEqual([expect.stringMatching(/ can be written; 2\.0 KB in it, /)])
    expect(allNames()).toEqual(before)
  })

  test('includes the size of the log of kept traces', async () => {
    scene.put('.local/state/hookspan/traces/1-2.jsonl', 'x'.repeat(2048))
    scene.put('.local/state/hookspan/kept/traces/1-2.jsonl', 'x'.repeat(1024))
    scene.put('.local/state/hookspan/kept/spool/1-2.free.json', 'x'.repeat(1024))
    chmodSync(scene.state, 0o700)
    expect((await traceLog())[0]).toMatch(/ can be written; 4\.0 KB in it, /)
  })

  test('is really written to', async () => {
    const config = { local_log: true, local_log_max_bytes: 1 }
    const seen: string[] = []
    await checkState(config, fakeIo({ home: scene.home }), async path => {
      seen.push(path)
      expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700)
    })
    expect(seen).toEqual([expect.stringMatching(`^${scene.state}/traces/\\.doctor-`)])
  })

  test('keeps files that an agent has begun to use meanwhile', async () => {
    const config = { local_log: true, local_log_max_bytes: 1 }
    await checkState(config, fakeIo({ home: scene.home }), async () => {
      writeFileSync(join(scene.state, 'traces', '1-2.jsonl'), '')
    })
    expect(existsSync(join(scene.state, 'traces', '1-2.jsonl'))).toBe(true)
  })

  test('has a warning on a disk that is too small', async () => {
    const env = { HOOKSPAN_LOCAL_LOG_MAX_BYTES: String(2 ** 52) }
    const [, line] = await traceLog(['--offline'], { env })
    expect(line).toMatch(
      /^ {2}warn {2}the disk has .* free, and the trace log may still grow by 4\.0 PB → free some space, or lower local_log_max_bytes$/,
    )
  })
})

describe('an unwritable trace log, in one line with a remedy and exit 1', () => {
  test.each([
    ['ENOSPC', 'the disk is full', 'free some space on that disk'],
    ['EDQUOT', 'the quota is used up', 'free some space, or raise the quota'],
    ['EACCES', 'permission denied', 'make it writable for the user that the agent runs as'],
    ['EROFS', 'the file system is read-only', 'mount it writable'],
    ['EIO', 'EIO', 'make it writable'],
  ])('is reported for %s', async (code, why, remedy) => {
    expect(await refused(code)).toEqual([
      {
        level: 'fail',
        area: 'Trace log',
        what: `${scene.state} cannot be written: ${why}; traces are not stored, and spans that a backend does not accept are dropped`,
        remedy: `${remedy}, or set XDG_STATE_HOME to another place`,
      },
    ])
    expect(allNames()).toEqual([])
  })

  test.each([
    ['.local', 'below'],
    ['.local/state/hookspan', 'itself'],
    ['.local/state/hookspan/traces', 'in it'],
  ])('is reported for a file in the place of a directory: %s', async path => {
    scene.put(path, 'a file')
    chmodSync(join(scene.home, '.local'), 0o700)
    const diagnosis = await scene.doctor(['--offline'])
    expect(diagnosis.code).toBe(1)
    expect(linesOf(diagnosis, 'fail')[0]).toMatch(
      /cannot be written: a part of the path is not a directory; .* → move the file out of the way, or set XDG_STATE_HOME/,
    )
  })

  test('is reported without a home directory: the working directory is left alone', async () => {
    const before = readdirSync(process.cwd())
    expect(await traceLog(['--offline'], { home: '' })).toEqual([
      '  fail  there is no home directory, so nothing is stored on this machine → set XDG_STATE_HOME to a full path',
    ])
    expect(readdirSync(process.cwd())).toEqual(before)
  })

  test('is not reported if it is switched off', async () => {
    scene.put('.local', 'a file')
    const env = { HOOKSPAN_LOCAL_LOG: 'false' }
    const diagnosis = await scene.doctor(['--offline'], { env })
    expect(diagnosis.code).toBe(0)
    expect(section(diagnosis, 'Trace log')).toEqual(['  note  off: nothing is stored on this machine'])
    expect(linesOf(diagnosis, 'warn')).toEqual([
      'traces are not stored or sent: no backend is configured, and local_log is off (HOOKSPAN_LOCAL_LOG) → set local_log to true',
    ])
  })
})

describe('the readers of the trace log', () => {
  function made(mode: number, fileMode: number): void {
    scene.put('.local/state/hookspan/traces/1-2.jsonl', '', fileMode)
    chmodSync(join(scene.state, 'traces'), 0o700)
    chmodSync(scene.state, mode)
  }

  test('includes only the user', async () => {
    made(0o700, 0o600)
    expect(await traceLog()).toHaveLength(1)
  })

  test('includes every user: exit 1', async () => {
    made(0o755, 0o644)
    const diagnosis = await scene.doctor(['--offline'])
    expect(diagnosis.code).toBe(1)
    expect(linesOf(diagnosis, 'fail')).toEqual([
      `other users can read ${scene.state} (mode 0755), which contains prompts and actions of agents → chmod -R go= ${scene.state}`,
    ])
  })

  test('includes users who can reach it: a warning', async () => {
    made(0o700, 0o640)
    const diagnosis = await scene.doctor(['--offline'])
    expect(diagnosis.code).toBe(0)
    expect(linesOf(diagnosis, 'warn')).toEqual([
      `1 file in ${scene.state} are readable by other users; the first is ${scene.state}/traces/1-2.jsonl (mode 0640) → chmod -R go= ${scene.state}`,
    ])
  })

  test('includes users who can reach the log of kept traces, too', async () => {
    made(0o700, 0o600)
    const path = scene.put('.local/state/hookspan/kept/traces/1-2.jsonl', '', 0o640)
    for (const place of ['kept', 'kept/traces']) chmodSync(join(scene.state, place), 0o700)
    expect(linesOf(await scene.doctor(['--offline']), 'warn')).toEqual([
      `1 file in ${scene.state} are readable by other users; the first is ${path} (mode 0640) → chmod -R go= ${scene.state}`,
    ])
  })

  test('quotes the remedy for a shell', async () => {
    const state = join(scene.home, "a user's state")
    mkdirSync(join(state, 'hookspan'), { recursive: true })
    chmodSync(join(state, 'hookspan'), 0o755)
    const lines = await traceLog(['--offline'], { env: { XDG_STATE_HOME: state } })
    expect(lines[1]).toContain(` → chmod -R go= '${scene.home}/a user'\\''s state/hookspan'`)
  })

  test('includes another user as its owner', async () => {
    made(0o700, 0o600)
    const owner = statSync(scene.state).uid
    vi.spyOn(process, 'getuid').mockReturnValue(owner + 1)
    const lines = await traceLog()
    expect(lines[1]).toMatch(
      new RegExp(
        `^  warn  ${scene.state} belongs to user ${owner}, and this is user ${owner + 1}: .* → run agents and hookspan as one user`,
      ),
    )
  })
})
