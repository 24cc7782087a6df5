import { join } from 'node:path'
import { folderFrom } from '../init/plugin-file.ts'

export interface ServiceOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  /** Absolute paths and arguments: node, our program, `serve` and its options. */
  readonly program: readonly string[]
}

export type CommandLine = readonly [string, ...string[]]

/** A login service of the operating system. */
export interface Service {
  /** The common name of the service manager. */
  readonly title: string
  readonly file: string
  readonly content: string
  readonly start: readonly CommandLine[]
  /** Run before the file is removed. */
  readonly stop: readonly CommandLine[]
  /** Run after the file is removed. */
  readonly gone: readonly CommandLine[]
}

/** No double dash, which is invalid in an XML comment. */
const MARK = 'Written by hookspan serve; its option "undo" takes it away.'
const LABEL = 'hookspan.receiver'
/** Variables that determine the receiver's files. A system service does not have the shell's environment. */
const PLACES = ['XDG_STATE_HOME', 'XDG_CONFIG_HOME', 'HOOKSPAN_CONFIG'] as const

/** @throws Error in one line if the system is not supported */
export function serviceFor(platform: NodeJS.Platform, uid: number, options: ServiceOptions): Service {
  if (platform === 'linux') return systemd(options)
  if (platform === 'darwin') return launchd(uid, options)
  throw new Error(`there is no service for ${platform}; have "hookspan serve" started when you log in`)
}

/** True if the file was written by hookspan and may be removed. */
export function isServiceFile(text: string): boolean {
  return text.includes(MARK)
}

/** Configuration variables of this shell that the service will not have. */
export function variablesLeft(env: ServiceOptions['env']): readonly string[] {
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
    'Description=hookspan: takes what the hooks of AI agents tell',
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
