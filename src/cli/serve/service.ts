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
    const ran = spawnSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] })
    const { status, error, stderr } = ran
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return 'there is no such program'
    if (error !== undefined) return error.message
    return status === 0 ? undefined : stderr.trim().split('\n')[0] || `exit code ${status}`
  },
}

/** Installs the service, or removes it with `isUndo`. */
export async function changeService(
  isUndo: boolean,
  { program, isDry }: { readonly program: readonly string[]; readonly isDry: boolean },
  io: CommandIo,
  system: System,
): Promise<number> {
  const service = serviceFor(system.platform, system.uid, { env: io.env, home: io.home, program })
  const { title, file, content, start, stop, gone } = service
  const before = await readOurs(file)
  const after = isUndo ? undefined : content
  if (before === after) {
    const state = isUndo ? 'does not start a receiver' : 'starts the receiver already'
    io.stdout.write(`Nothing to do: ${title} ${state} (${file}).\n`)
    return EXIT.ok
  }
  const change: FileChange = {
    kind: 'change',
    file,
    before,
    after,
    isUsers: false,
    notes: [],
    ...(isUndo && { isUndo }),
  }
  io.stdout.write(shown(change, lookOf(io).color))
  for (const line of isUndo ? [...stop, ...gone] : start) io.stdout.write(`$ ${line.join(' ')}\n`)
  if (isDry) {
    io.stderr.write('Nothing has been written.\n')
    return EXIT.ok
  }
  const isStopped = !isUndo || runAll(stop, system, io)
  await makeChange(change)
  // A running receiver would conflict with the service.
  if (!isUndo) await (await findRunning(receiverFiles(io.env, io.home)))?.peer.command('stop')
  if (!runAll(isUndo ? gone : start, system, io) || !isStopped) return EXIT.failed
  if (isUndo) {
    io.stdout.write(`Done: ${title} no longer starts a receiver.\n`)
    return EXIT.ok
  }
  io.stdout.write(`Done: ${title} runs the receiver now and at every login.\n`)
  const left = variablesLeft(io.env).join(', ')
  if (left !== '') {
    io.stdout.write(`It does not inherit the variables of this shell; move them to the configuration: ${left}\n`)
  }
  io.stdout.write('To undo it: hookspan serve --undo\n')
  return EXIT.ok
}

/** Undefined if there is no file. @throws Error if it is not one of ours */
async function readOurs(file: string): Promise<string | undefined> {
  const text = await readText(file)
  if (text === undefined || text.includes(MARK)) return text
  throw new Error(`${file} was not written by hookspan and is left unchanged: move it away`)
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

function variablesLeft(env: ServiceOptions['env']): readonly string[] {
  const names = Object.keys(env).filter(name => /^(?:HOOKSPAN_|OTEL_)/.test(name) && env[name]?.trim())
  return names.filter(name => !PLACES.includes(name as (typeof PLACES)[number])).sort()
}

function places(env: ServiceOptions['env']): [string, string][] {
  return PLACES.map((name): [string, string] => [name, env[name]?.trim() ?? '']).filter(([, value]) => value !== '')
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
  const escaped = (text: string): string =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const string = (text: string): string => `<string>${escaped(text)}</string>`
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
