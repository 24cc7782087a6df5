import { existsSync } from 'node:fs'
import { RECEIVER_ENDPOINTS } from '../../agents/receiver-endpoints.ts'
import { HOOKS_DEFAULT, type HooksConfig } from '../../plugin/config/hooks.ts'
import { hooksDirectory } from '../../plugin/config/paths.ts'
import { PACKAGE_VERSION } from '../../plugin/package-facts.ts'
import { openRecorder } from '../../receiver/recorder.ts'
import { type LoadedHookSet, startReceiver } from '../../receiver/start.ts'
import type { Command, CommandArguments, CommandIo, OptionTable } from '../command.ts'
import { command, EXIT, WrongUse } from '../command.ts'
import { ageMillis, portOf } from '../option-values.ts'
import { packageFile, packageFolder, whyNotLasting } from '../package-folder.ts'
import { showStatus, startDetached, stopRunning, where } from '../serve/receiver-process.ts'
import { changeService, type System, THIS_SYSTEM } from '../serve/service.ts'

const OPTIONS = {
  port: { value: 'N', help: 'port on 127.0.0.1; 0 = any free one (default: the last one used)' },
  'idle-exit': { value: 'AGE', help: 'exit after this time (15m, 2h) without events and open turns' },
  detach: { aka: ['daemon', 'background'], help: 'start it in the background, and exit when it answers' },
  status: { help: 'show whether it runs, and what it received and refused' },
  stop: { aka: ['kill', 'quit'], help: 'stop the running one' },
  install: { help: 'have systemd or launchd start it at login; shows the change' },
  undo: { aka: ['uninstall', 'remove'], help: 'undo --install' },
  'dry-run': { short: 'n', help: 'with --install or --undo: show the change, write nothing' },
} as const satisfies OptionTable

type ServeOptions = CommandArguments<typeof OPTIONS>['values']

const ACTIONS = ['detach', 'status', 'stop', 'install', 'undo'] as const

export const serve: Command = serveOf(THIS_SYSTEM)

export function serveOf(system: System): Command {
  return command({
    name: 'serve',
    about: `Runs the receiver: it converts the hooks of agents (Claude Code, Codex, Hermes and others) to traces. One process serves
all agents of this user. It listens only on this machine, on a socket and a port, and requires a token.

Only one runs at a time. A newer version takes over from an older one and continues its open turns. "hookspan init" sets up
agents, and their hooks start the receiver if it is not running.`,
    options: OPTIONS,
    closing: 'Ctrl-C stops it gracefully. Exits with 1 if it could not be started, and with --status if none answers.',
    run({ values }, io) {
      const action = actionOf(values)
      const [port, idleMillis] = [portOf(values.port), idleOf(values['idle-exit'])]
      if (action === 'status') return showStatus(io)
      if (action === 'stop') return stopRunning(io)
      if (action === 'detach') return startDetached(programOf(values), io)
      if (action === undefined) return listen(port, idleMillis, io)
      const isUndo = action === 'undo'
      const refusal = isUndo ? undefined : whyNotLasting(packageFolder(), process.cwd())
      if (refusal !== undefined) throw new Error(refusal)
      const options = { program: [process.execPath, ...programOf(values)], isDry: values['dry-run'] }
      return changeService(isUndo, options, io, system)
    },
  })
}

function actionOf(values: ServeOptions): (typeof ACTIONS)[number] | undefined {
  const [action, second] = ACTIONS.filter(name => values[name])
  if (second !== undefined) throw new WrongUse(`--${action} and --${second} cannot be combined`)
  if (values['dry-run'] && action !== 'install' && action !== 'undo') {
    throw new WrongUse('--dry-run is for --install and --undo')
  }
  return action
}

function idleOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const millis = ageMillis(text)
  if (millis !== undefined && millis > 0) return millis
  throw new WrongUse(`--idle-exit takes an age such as 15m or 2h, got ${JSON.stringify(text.slice(0, 60))}`)
}

function programOf({ port, 'idle-exit': idle }: ServeOptions): readonly string[] {
  return [
    packageFile(packageFolder(), 'dist', 'cli', 'main.js'),
    'serve',
    ...(port === undefined ? [] : ['--port', port]),
    ...(idle === undefined ? [] : ['--idle-exit', idle]),
  ]
}

async function listen(port: number | undefined, idleMillis: number | undefined, io: CommandIo): Promise<number> {
  const say = (line: string): void => io.stderr.write(`hookspan serve: ${line.replace(/^hookspan: /, '')}\n`)
  const { env, home } = io
  const started = await startReceiver({
    env,
    home,
    version: PACKAGE_VERSION,
    endpoints: RECEIVER_ENDPOINTS,
    port,
    idleMillis,
    openRecorder,
    loadHooks: config => hooksOfUser(config, io),
    say,
  })
  if ('already' in started) {
    const { version, pid } = started.already
    io.stdout.write(`Nothing to do: a receiver is already running (version ${version}, pid ${pid}).\n`)
    return EXIT.ok
  }
  const { receiver } = started
  io.stdout.write(`Receiver running: version ${PACKAGE_VERSION}, pid ${process.pid}, ${where(receiver.address)}\n`)
  void io.interrupted().then(() => receiver.stop())
  await receiver.closed
  return EXIT.ok
}

/** The user's own hooks only, because one receiver serves all projects. Without hooks, their code is not loaded. */
export async function hooksOfUser(
  { hooks = HOOKS_DEFAULT }: { readonly hooks: HooksConfig | undefined },
  { env, home }: Pick<CommandIo, 'env' | 'home'>,
): Promise<LoadedHookSet | undefined> {
  const folder = hooks.enabled ? (hooks.global_dir ?? hooksDirectory(env, home)) : undefined
  if (folder === undefined) return undefined
  // A required file may be missing.
  const isMeant = Object.keys(hooks.options).length > 0
  if (!existsSync(folder) && !isMeant && hooks.global_dir === undefined) return undefined
  const { hookFolderSettings, loadConfiguredHooks } = await import('../../guards/configured-hooks.ts')
  return loadConfiguredHooks(hookFolderSettings({ hooks }, env, home), undefined)
}
