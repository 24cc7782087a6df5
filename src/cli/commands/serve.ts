import { RECEIVER_ENDPOINTS } from '../../agents/receiver-endpoints.ts'
import { existsSync } from 'node:fs'
import { HOOKS_DEFAULT, type HooksConfig } from '../../plugin/config/hooks-config.ts'
import { hooksDirectory } from '../../plugin/config/paths.ts'
import { PACKAGE_VERSION } from '../../plugin/package-facts.ts'
import type { HooksFound } from '../../receiver/load-hooks.ts'
import { openRecorder } from '../../receiver/recorder.ts'
import { startReceiver } from '../../receiver/start.ts'
import { type Command, type CommandIo, type CommandPage, command, EXIT, WrongUse } from '../command.ts'
import { packageFile, packageFolder, whyNotLasting } from '../init/package-folder.ts'
import { ageMillis, portOf } from '../option-values.ts'
import type { Given } from '../options.ts'
import { startDetached, stopRunning } from '../serve/receiver-process.ts'
import { install, type System, THIS_SYSTEM, uninstall } from '../serve/service.ts'
import { showStatus, where } from '../serve/status.ts'

const PAGE = {
  name: 'serve',
  about: `Takes what the hooks of agents tell (Claude Code, Codex, Hermes and others), and makes traces of it: one process for
all agents of this user, reached through a socket and a port of this machine alone, by those who know its token.

There is one at a time. A newer hookspan takes over from an older one, an older one leaves a newer one be; what is open in
agents goes on. "hookspan init" sets agents up, and their hooks start it where it does not run.`,
  options: {
    port: { value: 'N', help: 'listen at this port of 127.0.0.1; 0 = any (default: that of the last time, else any)' },
    'idle-exit': { value: 'AGE', help: 'end when nothing has come for so long (15m, 2h) and no turn is open' },
    detach: { aka: ['daemon', 'background'], help: 'start it in the background, and end when it answers' },
    status: { help: 'whether one runs, and what it has taken and refused' },
    stop: { aka: ['kill', 'quit'], help: 'end the one that runs' },
    install: { help: 'have systemd or launchd start it when you log in; shows what it writes' },
    undo: { aka: ['uninstall', 'remove'], help: 'take back what --install did' },
    'dry-run': { short: 'n', help: 'with --install and --undo: write nothing, show what would change' },
  },
  closing: 'Ctrl-C ends it in order. Exits with 1 when it could not be started, and with --status when none answers.',
} as const satisfies CommandPage

type ServeOptions = Given<typeof PAGE.options>['values']

const ACTIONS = ['detach', 'status', 'stop', 'install', 'undo'] as const

export const serve: Command = serveOf(THIS_SYSTEM)

export function serveOf(system: System): Command {
  return command(PAGE, ({ values }, io) => {
    const action = actionOf(values)
    const [port, idleMillis] = [portOf(values.port), idleOf(values['idle-exit'])]
    if (action === 'status') return showStatus(io)
    if (action === 'stop') return stopRunning(io)
    if (action === 'detach') return startDetached(programOf(values), io)
    if (action === undefined) return listen({ port, idleMillis }, io)
    const options = { program: [process.execPath, ...programOf(values)], isDry: values['dry-run'] }
    if (action === 'undo') return uninstall(options, io, system)
    const refusal = whyNotLasting(packageFolder(), process.cwd())
    if (refusal !== undefined) throw new Error(refusal)
    return install(options, io, system)
  })
}

function actionOf(values: ServeOptions): (typeof ACTIONS)[number] | undefined {
  const [action, second] = ACTIONS.filter(name => values[name])
  if (second !== undefined) throw new WrongUse(`--${action} and --${second} are two things; one at a time`)
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

/** The arguments of `node` for a receiver with these options. */
function programOf({ port, 'idle-exit': idle }: ServeOptions): readonly string[] {
  return [
    packageFile(packageFolder(), 'dist', 'cli', 'main.js'),
    'serve',
    ...(port === undefined ? [] : ['--port', port]),
    ...(idle === undefined ? [] : ['--idle-exit', idle]),
  ]
}

async function listen(
  { port, idleMillis }: { readonly port: number | undefined; readonly idleMillis: number | undefined },
  io: CommandIo,
): Promise<number> {
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
    io.stdout.write(`Nothing to do: a receiver runs already (version ${version}, pid ${pid}).\n`)
    return EXIT.ok
  }
  const { receiver } = started
  io.stdout.write(`A receiver runs: version ${PACKAGE_VERSION}, pid ${process.pid}, ${where(receiver.address)}\n`)
  void io.interrupted().then(() => receiver.stop())
  await receiver.closed
  return EXIT.ok
}

/** The user's own hooks only, because one receiver serves all projects. */
export async function hooksOfUser(
  { hooks = HOOKS_DEFAULT }: { readonly hooks: HooksConfig | undefined },
  { env, home }: Pick<CommandIo, 'env' | 'home'>,
): Promise<HooksFound | undefined> {
  const folder = hooks.enabled ? (hooks.global_dir ?? hooksDirectory(env, home)) : undefined
  if (folder === undefined) return undefined
  // A required file may be missing.
  const isMeant = Object.keys(hooks.options).length > 0
  if (!existsSync(folder) && !isMeant && hooks.global_dir === undefined) return undefined
  // Without hooks, their code is not loaded.
  const { hookSettings, loadConfiguredHooks } = await import('../../guards/configured-hooks.ts')
  return loadConfiguredHooks(hookSettings({ hooks }, env, home), undefined)
}
