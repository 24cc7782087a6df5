import { constants } from 'node:fs'
import { access, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stateHome } from '../config/paths.ts'
import type { ResolvedConfig } from '../config/types.ts'
import { makePrivateDirectory } from '../trace-log/private-place.ts'
import type { CommandIo } from './command.ts'
import { whyNot } from './file-trouble.ts'

/** Where the trace log of this run is written, so that its traces can be drawn. */
export interface TracePlace {
  /** The environment in which it is there. */
  readonly env: CommandIo['env']
  /** Why the traces do not stay; undefined when they do. */
  readonly whyNotKept: string | undefined
  /** Removes what is not kept. */
  close(): Promise<void>
}

/** The local trace log, or a directory for the length of this run where there is to be none, or cannot be one. */
export async function openTracePlace({ local_log }: ResolvedConfig, io: CommandIo): Promise<TracePlace> {
  const whyNotKept = local_log ? await troubleWith(stateHome(io.env, io.home)) : 'local_log is off'
  if (whyNotKept === undefined) return { env: io.env, whyNotKept, close: () => Promise.resolve() }
  const directory = await mkdtemp(join(tmpdir(), 'hookspan-'))
  return {
    env: { ...io.env, XDG_STATE_HOME: directory },
    whyNotKept,
    close: () => rm(directory, { recursive: true, force: true }),
  }
}

async function troubleWith(home: string | undefined): Promise<string | undefined> {
  if (home === undefined) return 'there is no home directory'
  const directory = join(home, 'traces')
  try {
    makePrivateDirectory(directory)
    await access(directory, constants.W_OK)
    return undefined
  } catch (error) {
    return `${directory} cannot be written: ${whyNot(error)}`
  }
}
