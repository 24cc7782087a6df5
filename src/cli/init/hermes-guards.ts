import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writePrivate } from '../../delivery/trace-log/private-file.ts'
import { aboutGuards } from './hook-settings.ts'
import type { Change, Link, Surroundings } from './plan.ts'

/** The part of a plan that concerns guards. The plugin in Hermes reads them from its own file beside the configuration. */
export interface GuardsPlan {
  /** The plan changes something. */
  readonly isNew: boolean
  readonly prepare?: Change['prepare']
  readonly links: readonly Link[]
  readonly notes: readonly string[]
}

const NONE: GuardsPlan = { isNew: false, links: [], notes: [] }

/** @param home the Hermes home */
export function planGuards(home: string, { guards }: Pick<Surroundings, 'guards'>): GuardsPlan {
  if (guards === undefined) return NONE
  if (guards === 'off') return { ...NONE, ...gone(home) }
  const path = fileIn(home)
  const text = `${guards}\n`
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return NONE
  return { ...NONE, isNew: true, prepare: () => writePrivate(path, text), notes: aboutGuards('Hermes', guards) }
}

export function noGuards(home: string): readonly Link[] {
  return gone(home).links
}

function gone(home: string): Pick<GuardsPlan, 'isNew' | 'links'> {
  const path = fileIn(home)
  return existsSync(path) ? { isNew: true, links: [{ path, to: undefined }] } : { isNew: false, links: [] }
}

function fileIn(home: string): string {
  return join(home, 'hookspan-guards')
}
