import { spawnSync } from 'node:child_process'
import { type CommandIo, EXIT } from '../command.ts'
import { makeChange, readText } from '../init/config-file.ts'
import { lineDiff } from '../init/line-diff.ts'
import type { Change } from '../init/plan.ts'
import { lookOf } from '../look.ts'
import { findRunning, placeIn } from './running.ts'
import { type CommandLine, isServiceFile, type Service, serviceFor, variablesLeft } from './service-file.ts'

export interface System {
  readonly platform: NodeJS.Platform
  readonly uid: number
  /** Runs a system command. Returns the cause of a failure, undefined on success. */
  run(line: CommandLine): string | undefined
}

export const THIS_SYSTEM: System = {
  platform: process.platform,
  uid: process.getuid?.() ?? 0,
  run: ([program, ...args]) => {
    const { status, error, stderr } = spawnSync(program, args, {
      encoding: 'utf8',
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    if (error !== undefined)
      return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such program' : error.message
    return status === 0 ? undefined : stderr.trim().split('\n')[0] || `exit code ${status}`
  },
}

export interface InstallOptions {
  readonly program: readonly string[]
  readonly isDry: boolean
}

/** Installs and starts a service that runs the receiver from login on. */
export async function install({ program, isDry }: InstallOptions, io: CommandIo, system: System): Promise<number> {
  const service = serviceFor(system.platform, system.uid, { env: io.env, home: io.home, program })
  const before = await readText(service.file)
  if (before !== undefined && !isServiceFile(before)) throw new Error(notOurs(service))
  if (before === service.content) {
    io.stdout.write(`Nothing to do: ${service.title} starts the receiver already (${service.file}).\n`)
    return EXIT.ok
  }
  show(service, before, service.content, service.start, io)
  if (isDry) return sayDry(io)
  await makeChange(changeOf(service, before, service.content))
  // A running receiver would conflict with the service.
  await (await findRunning(placeIn(io)))?.peer.stop()
  if (!runAll(service.start, system, io)) return EXIT.failed
  io.stdout.write(`Done: ${service.title} starts the receiver now, and when you log in.\n`)
  const left = variablesLeft(io.env)
  if (left.length > 0) {
    io.stdout.write(
      `It does not have the variables of this shell; put into the configuration what they say: ${left.join(', ')}\n`,
    )
  }
  io.stdout.write('To take it out again: hookspan serve --undo\n')
  return EXIT.ok
}

/** Reverts `install`. */
export async function uninstall({ program, isDry }: InstallOptions, io: CommandIo, system: System): Promise<number> {
  const service = serviceFor(system.platform, system.uid, { env: io.env, home: io.home, program })
  const before = await readText(service.file)
  if (before === undefined) {
    io.stdout.write(`Nothing to do: ${service.title} does not start a receiver (${service.file}).\n`)
    return EXIT.ok
  }
  if (!isServiceFile(before)) throw new Error(notOurs(service))
  show(service, before, undefined, [...service.stop, ...service.gone], io)
  if (isDry) return sayDry(io)
  const isStopped = runAll(service.stop, system, io)
  await makeChange(changeOf(service, before, undefined))
  if (!runAll(service.gone, system, io) || !isStopped) return EXIT.failed
  io.stdout.write(`Done: ${service.title} does not start a receiver any more.\n`)
  return EXIT.ok
}

function notOurs({ file }: Service): string {
  return `${file} is not what hookspan wrote; it stays as it is: move it away`
}

function show(
  { file }: Service,
  before: string | undefined,
  after: string | undefined,
  commands: readonly CommandLine[],
  io: CommandIo,
): void {
  const what = before === undefined ? ' (new)' : after === undefined ? ' (goes)' : ''
  io.stdout.write(`${file}${what}\n${lineDiff(before ?? '', after ?? '', lookOf(io).color)}`)
  for (const line of commands) io.stdout.write(`$ ${line.join(' ')}\n`)
}

function sayDry(io: CommandIo): number {
  io.stderr.write('Nothing has been written.\n')
  return EXIT.ok
}

function changeOf({ file }: Service, before: string | undefined, after: string | undefined): Change {
  return { kind: 'change', file, before, after, isUsers: false, notes: [] }
}

function runAll(lines: readonly CommandLine[], system: System, io: CommandIo): boolean {
  for (const line of lines) {
    const why = system.run(line)
    if (why === undefined) continue
    io.stderr.write(`hookspan serve: "${line.join(' ')}" failed: ${why}; where it works, run it yourself\n`)
    return false
  }
  return true
}
