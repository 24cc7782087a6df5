import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  isAlive,
  type Owner,
  ownerToken,
  type ProcessProbes,
  parseOwner,
  systemProbes,
  thisOwner,
} from '../../../src/delivery/trace-log/owner.ts'

const NOW = 1_795_256_104_330
const MINUTE_MILLIS = 60_000
const STALE = NOW - 11 * MINUTE_MILLIS
const FRESH = NOW - 9 * MINUTE_MILLIS
const IS_LINUX = process.platform === 'linux'

const SELF: Owner = { place: '11111111_22222222_33333333', pid: 100, birth: '5000' }
const OTHER: Owner = { ...SELF, pid: 200, birth: '6000' }

/** A machine where one more process runs: `OTHER`, unless it says otherwise. */
function machine({ self = SELF, runs = true, birth = OTHER.birth } = {}): ProcessProbes {
  return { self, isRunning: () => runs, birthOf: () => birth }
}

describe('a token', () => {
  test('is safe in a file name and complete', () => {
    expect(ownerToken(thisOwner())).toMatch(/^[0-9a-f_]+-\d+-\d+$/)
    expect(parseOwner(ownerToken(thisOwner()))).toEqual(thisOwner())
    expect(ownerToken(SELF)).toBe('11111111_22222222_33333333-100-5000')
    expect(parseOwner('11111111_0_0-7-0')).toEqual({ place: '11111111_0_0', pid: 7, birth: '0' })
  })

  test.each([
    '',
    'free',
    '11111111_22222222-100-5000',
    '11111111_22222222_33333333-100',
    '11111111_22222222_33333333-0-5000',
    '11111111_22222222_33333333-4294967297-5000',
    '11111111_22222222_33333333--1-5000',
    '11111111_22222222_33333333-100-5000-1',
    '11111111_22222222_3333333g-100-5000',
    '../../1111_22222222_33333333-100-5000',
  ])('rejects %j', token => {
    expect(parseOwner(token)).toBeUndefined()
  })
})

describe('the liveness of an owner', () => {
  test('is true for this process, whatever the heartbeat', () => {
    expect(isAlive(SELF, 0, NOW, machine({ runs: false }))).toBe(true)
    expect(isAlive(thisOwner(), 0, Date.now())).toBe(true)
  })

  test('is false without a running process', () => {
    expect(isAlive(OTHER, NOW, NOW, machine({ runs: false }))).toBe(false)
  })

  test('is false if the pid was reused', () => {
    expect(isAlive(OTHER, NOW, NOW, machine({ birth: '6001' }))).toBe(false)
    expect(isAlive({ ...SELF, birth: '1' }, NOW, NOW, machine({ birth: SELF.birth }))).toBe(false)
  })

  test('is true for the process with the same place, pid and birth, whatever the heartbeat', () => {
    expect(isAlive(OTHER, 0, NOW, machine())).toBe(true)
  })

  test('is false before a restart of the host', () => {
    expect(isAlive({ ...OTHER, place: '11111111_99999999_33333333' }, NOW, NOW, machine())).toBe(false)
    expect(isAlive({ ...OTHER, place: '11111111_99999999_44444444' }, NOW, NOW, machine())).toBe(false)
  })

  test.each([
    ['another container', '11111111_22222222_44444444', SELF],
    ['a container with its own host name', '99999999_22222222_44444444', SELF],
    ['another machine', '99999999_88888888_33333333', SELF],
    ['a host whose boot is not known', '11111111_0_33333333', SELF],
    ['a host, where our boot is not known', OTHER.place, { ...SELF, place: '11111111_0_33333333' }],
    ['a host without a name', '0_88888888_33333333', { ...SELF, place: '0_22222222_33333333' }],
  ])('is true in %s as long as its heart beats', (_, place, self) => {
    const probes = machine({ self, runs: false })
    expect(isAlive({ ...OTHER, place }, FRESH, NOW, probes)).toBe(true)
    expect(isAlive({ ...OTHER, place }, STALE, NOW, probes)).toBe(false)
  })

  test.each([
    ['of the owner', { ...OTHER, birth: '0' }, OTHER.birth],
    ['of the process', OTHER, '0'],
    ['of both', { ...OTHER, birth: '0' }, '0'],
  ])('follows the heartbeat if it is unknown whether a process has the pid and the birth %s', (_, owner, birth) => {
    expect(isAlive(owner, FRESH, NOW, machine({ birth }))).toBe(true)
    expect(isAlive(owner, STALE, NOW, machine({ birth }))).toBe(false)
    expect(isAlive(owner, FRESH, NOW, machine({ birth, runs: false }))).toBe(false)
  })

  test('ends for an owner whose clock runs ahead, too', () => {
    const far = { ...OTHER, place: '99999999_88888888_33333333' }
    expect(isAlive(far, NOW + 60 * MINUTE_MILLIS, NOW, machine())).toBe(true)
    expect(isAlive(far, NOW + 48 * 60 * MINUTE_MILLIS, NOW, machine())).toBe(false)
  })
})

describe('real processes', () => {
  const children: ChildProcess[] = []

  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })

  /** Resolves when it has printed its first line. */
  async function start(command: string, ...args: string[]): Promise<{ child: ChildProcess; line: string }> {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(child)
    const [chunk] = await once(child.stdout, 'data')
    return { child, line: String(chunk).trim() }
  }

  const WAITING = 'console.log("here"); setInterval(() => {}, 1000)'

  test('finds a child alive until it is killed', async () => {
    const { child } = await start(process.execPath, '-e', WAITING)
    const pid = child.pid ?? 0
    const owner = { ...thisOwner(), pid, birth: systemProbes.birthOf(pid) }
    expect(isAlive(owner, Date.now(), Date.now())).toBe(true)
    child.kill('SIGKILL')
    await once(child, 'close')
    expect(isAlive(owner, Date.now(), Date.now())).toBe(false)
  })

  test('finds a process of another user running', () => {
    const denied = Object.assign(new Error('not permitted'), { code: 'EPERM' })
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw denied
    })
    try {
      expect(systemProbes.isRunning(1)).toBe(true)
      denied.code = 'ESRCH'
      expect(systemProbes.isRunning(1)).toBe(false)
    } finally {
      kill.mockRestore()
    }
  })

  test('finds no birth of a process that does not exist', () => {
    expect(systemProbes.birthOf(2 ** 31 - 1)).toBe('0')
  })

  test.runIf(IS_LINUX)('finds the birth of a program with any name', async () => {
    const { child } = await start(process.execPath, '-e', `process.title = 'a) Z 1 (2 3'; ${WAITING}`)
    const born = BigInt(systemProbes.birthOf(child.pid ?? 0))
    expect(born).toBeGreaterThanOrEqual(BigInt(thisOwner().birth))
    expect(systemProbes.isRunning(child.pid ?? 0)).toBe(true)
  })

  test.runIf(IS_LINUX)('finds a zombie dead, although its pid is taken', async () => {
    // The shell becomes a program that never asks after the child it has got.
    const { child, line } = await start('sh', '-c', 'sleep 60 & echo $!; exec sleep 60')
    const pid = Number(line)
    await expect.poll(() => readFileSync(`/proc/${child.pid}/comm`, 'utf8')).toBe('sleep\n')
    const owner = { ...thisOwner(), pid, birth: systemProbes.birthOf(pid) }
    expect(isAlive(owner, 0, Date.now())).toBe(true)
    process.kill(pid, 'SIGKILL')
    await expect.poll(() => isAlive(owner, Date.now(), Date.now())).toBe(false)
    expect(process.kill(pid, 0)).toBe(true)
  })

  test.runIf(IS_LINUX)('finds our own place and birth', () => {
    expect(thisOwner().place.split('_')).not.toContain('0')
    expect(thisOwner()).toMatchObject({ pid: process.pid, birth: systemProbes.birthOf(process.pid) })
    expect(Number(thisOwner().birth)).toBeGreaterThan(0)
    expect(thisOwner()).toBe(thisOwner())
  })
})
