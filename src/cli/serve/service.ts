import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { receiverFiles } from '../../receiver/receiver-files.ts'
import { type CommandIo, EXIT } from '../command.ts'
import { makeChange, readText } from '../init/config-file.ts'
import { type FileChange, shown } from '../init/plan.ts'
import { folderFrom } from '../init/plugin-file.ts'
import { lookOf } from '../terminal.ts'
import { findRunning } from './receiver-process.ts'

export interface System {
  readonly platform: NodeJS.Platform
  readonly uid: number
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

interface InstallOptions {
  readonly program: readonly string[]
  readonly isDry: boolean
}

export async function install({ program, isDry }: InstallOptions, io: CommandIo, system: System): Promise<number> {
  const service = serviceFor(system.platform, system.uid, { env: io.env, home: io.home, program })
  const before = await readText(service.file)
  if (before !== undefined && !isServiceFile(before)) throw new Error(notOurs(service))
  if (before === service.content) {
    io.stdout.write(`Nothing to do: ${service.title} starts the receiver already (${service.file}).\n`)
    return EXIT.ok
  }
  show(service, before, service.content, service.start, io)
  if (isDry) return reportDryRun(io)
  await makeChange(changeOf(service, before, service.content))
  // A running receiver would conflict with the service.
  await (await findRunning(receiverFiles(io.env, io.home)))?.peer.stop()
  if (!runAll(service.start, system, io)) return EXIT.failed
  io.stdout.write(`Done: ${service.title} runs the receiver now and at every login.\n`)
  const left = variablesLeft(io.env)
  if (left.length > 0) {
    io.stdout.write(
      `It does not inherit the variables of this shell; move them to the configuration: ${left.join(', ')}\n`,
    )
  }
  io.stdout.write('To undo it: hookspan serve --undo\n')
  return EXIT.ok
}

export async function uninstall({ program, isDry }: InstallOptions, io: CommandIo, system: System): Promise<number> {
  const service = serviceFor(system.platform, system.uid, { env: io.env, home: io.home, program })
  const before = await readText(service.file)
  if (before === undefined) {
    io.stdout.write(`Nothing to do: ${service.title} does not start a receiver (${service.file}).\n`)
    return EXIT.ok
  }
  if (!isServiceFile(before)) throw new Error(notOurs(service))
  show(service, before, undefined, [...service.stop, ...service.gone], io)
  if (isDry) return reportDryRun(io)
  const isStopped = runAll(service.stop, system, io)
  await makeChange(changeOf(service, before, undefined))
  if (!runAll(service.gone, system, io) || !isStopped) return EXIT.failed
  io.stdout.write(`Done: ${service.title} no longer starts a receiver.\n`)
  return EXIT.ok
}

function notOurs({ file }: Service): string {
  return `${file} was not written by hookspan and is left unchanged: move it away`
}

function show(
  service: Service,
  before: string | undefined,
  after: string | undefined,
  commands: readonly CommandLine[],
  io: CommandIo,
): void {
  io.stdout.write(shown(changeOf(service, before, after), lookOf(io).color))
  for (const line of commands) io.stdout.write(`$ ${line.join(' ')}\n`)
}

function reportDryRun(io: CommandIo): number {
  io.stderr.write('Nothing has been written.\n')
  return EXIT.ok
}

function changeOf({ file }: Service, before: string | undefined, after: string | undefined): FileChange {
  return {
    kind: 'change',
    file,
    before,
    after,
    isUsers: false,
    ...(after === undefined && { isUndo: true }),
    notes: [],
  }
}

function runAll(lines: readonly CommandLine[], system: System, io: CommandIo): boolean {
  for (const line of lines) {
    const why = system.run(line)
    if (why === undefined) continue
    io.stderr.write(`hookspan serve: "${line.join(' ')}" failed: ${why}; run it by hand\n`)
    return false
  }
  return true
}

interface ServiceOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  /** Absolute paths and arguments: node, our program, `serve` and its options. */
  readonly program: readonly string[]
}

type CommandLine = readonly [string, ...string[]]

export interface Service {
  readonly title: string
  readonly file: string
  readonly content: string
  readonly start: readonly CommandLine[]
  /** Run before the file is removed; `gone` runs after it. */
  readonly stop: readonly CommandLine[]
  readonly gone: readonly CommandLine[]
}

/** No double dash, which is invalid in an XML comment. */
const MARK = 'Written by hookspan serve; its option "undo" takes it away.'
const LABEL = 'hookspan.receiver'
/** Variables that determine the receiver's files. A system service does not have the shell's environment. */
const PLACES = ['XDG_STATE_HOME', 'XDG_CONFIG_HOME', 'HOOKSPAN_CONFIG'] as const

export function serviceFor(platform: NodeJS.Platform, uid: number, options: ServiceOptions): Service {
  if (platform === 'linux') return systemd(options)
  if (platform === 'darwin') return launchd(uid, options)
  throw new Error(`there is no service for ${platform}; start "hookspan serve" at login yourself`)
}

function isServiceFile(text: string): boolean {
  return text.includes(MARK)
}

function variablesLeft(env: ServiceOptions['env']): readonly string[] {
  const names = Object.keys(env).filter(name => /^(?:HOOKSPAN_|OTEL_)/.test(name) && env[name]?.trim())
  return names.filter(name => !PLACES.includes(name as (typeof PLACES)[number])).sort()
}

function places(env: ServiceOptions['env']): [string, string][] {
  return PLACES.flatMap(name => {
    const value = env[name]?.trim()
    return value === undefined || value === '' ? [] : [[name, value] as [string, string]]
  })
}

function systemd({ env, home, program }: ServiceOptions): Service {
  const folder = folderFrom(env['XDG_CONFIG_HOME'], join(home, '.config'), { home })
  const lines = [
    `# ${MARK}`,
    '[Unit]',
    'Description=hookspan: receiver for the hooks of AI agents',
    '',
    '[Service]',
    `ExecStart=${program.map(systemdQuoted).join(' ')}`,
    ...places(env).map(([name, value]) => `Environment=${systemdQuoted(`${name}=${value}`)}`),
    'Restart=on-failure',
    'RestartSec=5',
    'UMask=0077',
    'NoNewPrivileges=yes',
    '',
    '[Install]',
    'WantedBy=default.target',
    '',
  ]
  return {
    title: 'systemd',
    file: join(folder, 'systemd', 'user', 'hookspan.service'),
    content: lines.join('\n'),
    start: [
      ['systemctl', '--user', 'daemon-reload'],
      ['systemctl', '--user', 'enable', '--now', 'hookspan.service'],
    ],
    stop: [['systemctl', '--user', 'disable', '--now', 'hookspan.service']],
    gone: [['systemctl', '--user', 'daemon-reload']],
  }
}

/** Escapes specifiers, variables and line breaks, which are special in a unit file. */
function systemdQuoted(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%').replaceAll('$', '$$$$')
  return `"${escaped.replaceAll('\n', '\\n')}"`
}

function launchd(uid: number, { env, home, program }: ServiceOptions): Service {
  if (home === '') throw new Error('there is no home directory')
  const file = join(home, 'Library', 'LaunchAgents', `${LABEL}.plist`)
  const string = (text: string): string => `<string>${xmlEscaped(text)}</string>`
  const variables = places(env).map(([name, value]) => `    <key>${name}</key>${string(value)}`)
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    `<!-- ${MARK} -->`,
    '<plist version="1.0">',
    '<dict>',
    `  <key>Label</key>${string(LABEL)}`,
    '  <key>ProgramArguments</key>',
    '  <array>',
    ...program.map(part => `    ${string(part)}`),
    '  </array>',
    ...(variables.length > 0 ? ['  <key>EnvironmentVariables</key>', '  <dict>', ...variables, '  </dict>'] : []),
    '  <key>RunAtLoad</key><true/>',
    '  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>',
    '  <key>Umask</key><integer>63</integer>',
    '</dict>',
    '</plist>',
    '',
  ]
  return {
    title: 'launchd',
    file,
    content: lines.join('\n'),
    start: [['launchctl', 'bootstrap', `gui/${uid}`, file]],
    stop: [['launchctl', 'bootout', `gui/${uid}/${LABEL}`]],
    gone: [],
  }
}

function xmlEscaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
