import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Owner, ownerToken, thisOwner } from '../../../src/delivery/trace-log/owner.ts'
import { afterwards } from '../../support/afterwards.ts'

export const SEGMENT = '1795256104330-4711'

/** A state directory that does not exist yet. */
export function stateDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'hookspan-checkpoint-'))
  afterwards(() => rmSync(directory, { recursive: true, force: true }))
  return join(directory, 'state')
}

/** A process of this machine that has ended. */
export function deadOwner(): Owner {
  return { ...thisOwner(), pid: spawnSync(process.execPath, ['--version']).pid }
}

/** A process that cannot be looked at from here: only its heartbeat tells. */
export function farOwner(): Owner {
  return { place: 'aaaaaaaa_bbbbbbbb_cccccccc', pid: 17, birth: '4242' }
}

export function spoolNames(state: string): string[] {
  return readdirSync(join(state, 'spool')).sort()
}

export function pathOf(state: string, segment: string, holder: string): string {
  return join(state, 'spool', `${segment}.${holder}.json`)
}

export function ownPathOf(state: string, segment: string): string {
  return pathOf(state, segment, ownerToken(thisOwner()))
}

/** What a checkpoint says on the disk. */
export function saved(state: string, segment: string): unknown {
  return JSON.parse(readFileSync(ownPathOf(state, segment), 'utf8'))
}

export interface Leftover {
  readonly owner?: Owner
  readonly segment?: string
  readonly text?: string
  readonly heartbeatAt?: number
}

/** Puts a checkpoint there as another process left it. Without an owner it is free. Returns its path. */
export function leave(state: string, { owner, segment = SEGMENT, text, heartbeatAt }: Leftover): string {
  const path = pathOf(state, segment, owner ? ownerToken(owner) : 'free')
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text ?? '{"open":true,"delivered":{"jaeger":10}}')
  if (heartbeatAt !== undefined) utimesSync(path, new Date(heartbeatAt), new Date(heartbeatAt))
  return path
}
