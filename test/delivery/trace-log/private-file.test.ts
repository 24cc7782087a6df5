/** The state directory is ours alone, and nothing in it leads out of it. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { LossLog, readLosses } from '../../../src/delivery/trace-log/losses.ts'
import { makePrivateDirectory } from '../../../src/delivery/trace-log/private-file.ts'
import { SegmentFile } from '../../../src/delivery/trace-log/segment-file.ts'
import { runHost } from '../../plugin/child-host.ts'
import { FakeServer, names, openScene, scratch, status, TAKEN } from './spooled-queue.ts'

afterEach(() => void vi.restoreAllMocks())

const modeOf = (path: string): number => statSync(path).mode & 0o777

/** What this process would see of something that another user has put there. */
function asSomebodyElse(path: string): void {
  if (process.getuid?.() === 0) chownSync(path, 4242, 4242)
  vi.spyOn(process, 'geteuid').mockReturnValue(4343)
}

/** A trace log that a process has left, with spans that a server did not take. */
async function leftBehind(): Promise<string> {
  const first = openScene({ jaeger: new FakeServer(status(503)) })
  first.record(...names(3))
  await first.close()
  return first.directory
}

async function delivered(directory: string): Promise<{ taken: readonly string[]; lines: readonly string[] }> {
  const server = new FakeServer(TAKEN)
  const scene = openScene({ jaeger: server }, { directory })
  await scene.store.recover(() => undefined)
  await Promise.all(scene.queues.map(queue => queue.drainRecovered()))
  await scene.close()
  return { taken: server.taken, lines: scene.lines.said }
}

describe('a directory that others may write to', () => {
  test.each(['', 'traces', 'spool'])('is tightened, with one line: %j', async inner => {
    const scene = openScene({})
    const place = join(scene.directory, inner)
    mkdirSync(place, { recursive: true })
    chmodSync(place, 0o777)
    scene.record('one')
    await scene.close()
    expect(modeOf(place)).toBe(0o700)
    expect(scene.lines.said).toEqual([`trace log: other users could write to ${place}; its mode is 700 now`])
    expect(readdirSync(join(scene.directory, 'traces'))).toHaveLength(1)
  })

  test('is tightened before its content is sent', async () => {
    const directory = await leftBehind()
    chmodSync(directory, 0o770)
    expect(await delivered(directory)).toMatchObject({
      taken: names(3),
      lines: [expect.stringContaining('other users could')],
    })
    expect(modeOf(directory)).toBe(0o700)
  })

  test('is refused where it stays so: nothing is written there, and nothing in it is sent', async () => {
    const directory = await leftBehind()
    const before = readdirSync(join(directory, 'traces'))
    chmodSync(directory, 0o777)
    asSomebodyElse(directory)
    const server = new FakeServer(TAKEN)
    const scene = openScene({ jaeger: server }, { directory })
    await scene.store.recover(() => undefined)
    scene.record('new')
    await scene.flush()
    expect(server.taken).toEqual(['new'])
    expect(readdirSync(join(directory, 'traces'))).toEqual(before)
    expect(scene.lines.said).toEqual([
      expect.stringMatching(
        /^trace log: the contents of .* are not sent, because other users can write there \(ENOTPRIVATE\)/,
      ),
      expect.stringMatching(
        /^trace log: cannot write .*: other users can write there \(ENOTPRIVATE\)\. Make it yours alone/,
      ),
    ])
    await scene.close()
  })

  test('stays as it is if others may only read it', async () => {
    const scene = openScene({})
    chmodSync(scene.directory, 0o755)
    scene.record('one')
    await scene.close()
    expect([modeOf(scene.directory), scene.lines.said]).toEqual([0o755, []])
  })

  test('may be a link of its owner’s to another disk', async () => {
    const [disk, home] = [scratch(), scratch()]
    symlinkSync(disk, join(home, 'state'))
    const scene = openScene({}, { directory: join(home, 'state') })
    scene.record('one')
    await scene.close()
    expect(readdirSync(join(disk, 'traces'))).toHaveLength(1)
    expect(scene.lines.said).toEqual([])
  })
})

describe('a symbolic link', () => {
  test('is not followed in the place of the list of losses', async () => {
    const directory = scratch()
    const other = join(scratch(), 'mine')
    writeFileSync(other, '')
    symlinkSync(other, join(directory, 'losses.jsonl'))
    const log = new LossLog(directory)
    log.note('jaeger', 3, 'it answered 400')
    log.save()
    expect(readFileSync(other, 'utf8')).toBe('')
    writeFileSync(other, '{"at": 1, "backend": "jaeger", "spans": 2, "reason": "x"}\n')
    expect(await readLosses(directory, 0)).toEqual([])
    // It is kept until it can be written.
    unlinkSync(join(directory, 'losses.jsonl'))
    log.save()
    expect(await readLosses(directory, 0)).toMatchObject([{ backend: 'jaeger', spans: 3 }])
  })

  test.each(['link', 'pipe'])('is not adopted as a segment, nor is a pipe: %s', async what => {
    const directory = await leftBehind()
    const [name = ''] = readdirSync(join(directory, 'traces'))
    const path = join(directory, 'traces', name)
    const other = join(scratch(), 'mine')
    writeFileSync(other, readFileSync(path))
    const before = readFileSync(other)
    unlinkSync(path)
    if (what === 'link') symlinkSync(other, path)
    else execFileSync('mkfifo', [path])
    expect(await delivered(directory)).toEqual({
      taken: [],
      lines: [`trace log: ${path} is not a file of hookspan, and is not sent`],
    })
    expect(readFileSync(other)).toEqual(before)
    expect((await delivered(directory)).lines).toEqual([])
  })

  test('is not opened to be appended to', () => {
    const directory = scratch()
    writeFileSync(join(directory, 'mine'), 'mine')
    symlinkSync(join(directory, 'mine'), join(directory, 'segment'))
    expect(() => SegmentFile.open(join(directory, 'segment'))).toThrow('ELOOP')
    expect(() => SegmentFile.open(directory)).toThrow()
  })

  test('is not followed in the place of the debug log', async () => {
    const home = scratch()
    const other = join(home, 'mine')
    mkdirSync(join(home, '.local/state/hookspan'), { recursive: true, mode: 0o700 })
    symlinkSync(other, join(home, '.local/state/hookspan/debug.log'))
    const ended = await runHost(`await createPlugin({ debug: true, sample_rate: 7 }).shutdown()`, { HOME: home })
    expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining('sample_rate') })
    expect(existsSync(other)).toBe(false)
  })
})

test('is not adopted if it is a segment of another user', () => {
  const path = join(scratch(), 'segment')
  writeFileSync(path, '')
  asSomebodyElse(path)
  expect(() => SegmentFile.open(path)).toThrow(expect.objectContaining({ code: 'ENOTPRIVATE' }))
})

describe('a path where no directory can be created', () => {
  test.each(['/proc/hookspan-nowhere/state', '/dev/fd/hookspan-nowhere/state', '/dev/null/state'])(
    'costs one line and its content, no hang, and the agent continues: %s',
    async place => {
      const ended = await runHost(
        `for (const debug of [false, true]) {
           const plugin = createPlugin({ debug })
           plugin.on('on_session_start', { session_id: 's1' })
           plugin.on('on_session_end', { session_id: 's1', completed: true })
           await plugin.shutdown()
           if (!debug) console.log('alive')
         }`,
        { HOME: '/nowhere', XDG_STATE_HOME: place },
      )
      expect(ended).toMatchObject({ code: 0, stdout: 'alive\n' })
      const [line = '', cost = '', ...again] = ended.stderr.trim().split('\n')
      expect(line).toMatch(
        /^hookspan: trace log: cannot write .*(?:\(ENOTDIR\)\. Choose a path of directories|\(E(?!NOTDIR)\w+\)\. Make it writable); until then traces are not stored$/,
      )
      expect(cost).toBe('hookspan: trace log: 1 span is not in it')
      expect(again).toEqual([line, cost])
    },
  )

  test('creates missing directories above it, for its owner alone', () => {
    const path = join(scratch(), 'a', 'b', 'c')
    makePrivateDirectory(path)
    makePrivateDirectory(path)
    expect([path, join(path, '..'), join(path, '../../..')].map(modeOf)).toEqual([0o700, 0o700, 0o700])
  })
})
