import { constants } from 'node:fs'
import { access, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makePrivateDirectory } from '../delivery/trace-log/private-file.ts'
import { stateHome } from '../plugin/config/paths.ts'
import type { ResolvedConfig } from '../plugin/config/types.ts'
import type { CommandIo } from './command.ts'
import { whyNot } from './file-trouble.ts'

export interface TracePlace {
  readonly env: CommandIo['env']
  readonly whyNotKept: string | undefined
  close(): Promise<void>
}

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
