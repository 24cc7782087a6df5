import { randomBytes } from 'node:crypto'
import { relative } from 'node:path'
import type { Command, CommandArguments, CommandIo, CommandPage } from '../command.ts'
import { command, EXIT, WrongUse } from '../command.ts'
import { makeChange } from '../init/config-file.ts'
import { initEvery, isAllowed } from '../init/every-host.ts'
import { hermesWebhook } from '../init/hermes.ts'
import { freePort } from '../init/hooks-host.ts'
import { HOSTS, unknownHost } from '../init/hosts.ts'
import type { HostSetup, InitContext } from '../init/plan.ts'
import { report, shown, whyByHand } from '../init/plan.ts'
import { linesOf, SDK_CODE, type SdkCode } from '../init/sdk-code.ts'
import { isTemporary, packageFolder, whyNotLasting } from '../package-folder.ts'
import { lookOf } from '../terminal.ts'

const HOST_NAMES: readonly string[] = [...HOSTS.keys(), ...SDK_CODE.keys()]

const PAGE = {
  name: 'init',
  operand: { placeholder: '[HOST]', offers: HOST_NAMES },
  about: `Sets up an agent to load hookspan: shows and writes the change to the agent's own configuration. The previous content is
kept in FILE.hookspan-backup. A second run changes nothing. At a terminal, it asks before it writes.

Without HOST: sets up every agent found on this machine, after one confirmation for all.

  pi, openclaw, opencode, kilo,    edits the host's configuration
  hermes, claude-code, codex,
  cursor, copilot, gemini, qwen
  claude-agent-sdk, openai-agents, prints the lines for your program: these
  ai-sdk, locus                    have no configuration`,
  options: {
    'dry-run': { short: 'n', help: 'write nothing: show what would change' },
    print: { help: 'write nothing: print the configuration; with --undo, what would be removed' },
    undo: { aka: ['remove', 'uninstall'], help: 'remove only the part of hookspan' },
    yes: { short: 'y', help: 'do not ask for confirmation' },
    guards: {
      value: 'WHEN',
      help: 'claude-code, codex, gemini, hermes, qwen: wait for the decision of guards; if none is available continue (open), or block (closed); off = do not wait',
    },
    webhook: { help: 'hermes: use outbound webhooks instead of a plugin (since 0.22)' },
    json: {
      help: 'one JSON object: {"host", "file", "changed", "backup"}, also "content" with --print, and "todo" if you must edit the file; without HOST a line for each agent, with "error" if it failed',
    },
  },
  closing:
    'Exits with 1 if a configuration could not be changed, or must be changed by hand; if you decline; without HOST also if no agent is found.',
} as const satisfies CommandPage

type InitOptions = Omit<CommandArguments<typeof PAGE.options>['values'], 'guards'> & {
  readonly host: string | undefined
  readonly guards: InitContext['guards']
}

export interface InitLocation {
  readonly folder: string
  readonly project: string
  /** The reason why no host should refer to this copy. */
  readonly refusal: string | undefined
  readonly isTemporary: boolean
}

export const init: Command = initOf(() => {
  const folder = packageFolder()
  const project = process.cwd()
  return { folder, project, refusal: whyNotLasting(folder, project), isTemporary: isTemporary(folder) }
})

export function initOf(where: () => InitLocation): Command {
  return command(PAGE, async (given, io) => {
    const installed = where()
    const { folder, project, refusal } = installed
    const options = readOptions(given)
    const { host, undo } = options
    const sdk = SDK_CODE.get(host ?? '')
    if (refusal !== undefined && !undo && (sdk === undefined || sdk.install !== undefined)) throw new Error(refusal)
    const freshToken = randomBytes(32).toString('hex')
    let port: Promise<number> | undefined
    const freshPort = (): Promise<number> => {
      port ??= freePort()
      return port
    }
    const surroundings = { env: io.env, home: io.home, folder, freshToken, freshPort, guards: options.guards }
    if (sdk !== undefined) return showCode(sdk, folder, options, io)
    const setup = options.webhook ? hermesWebhook : HOSTS.get(host ?? '')?.setup
    if (setup !== undefined && options.print && !undo) return print(setup.print(surroundings), options, io)
    const code = await (setup === undefined
      ? initEvery(options, surroundings, project, io)
      : initOne(setup, options, surroundings, io))
    // The user asked for it, so it is done, but the warning explains a later failure.
    if (installed.isTemporary && !undo && !options.print) {
      const then = `when it is cleaned, ${setup?.title ?? 'an agent'} can no longer load hookspan`
      io.stderr.write(`hookspan init: ${folder} is in a temporary folder: ${then}\n`)
    }
    return code
  })
}

function readOptions({ values, operands: [host, second] }: CommandArguments<typeof PAGE.options>): InitOptions {
  if (second !== undefined) throw new WrongUse(`expected one host, got ${JSON.stringify(second)}, too`)
  if (host !== undefined && !HOST_NAMES.includes(host)) throw new WrongUse(unknownHost(host, HOST_NAMES))
  if (values.webhook && host !== 'hermes') throw new WrongUse('--webhook is for hermes')
  if (host === undefined && values.print) throw new WrongUse(`--print is for one host: ${HOST_NAMES.join(', ')}`)
  if (host === undefined && values.json && !values.yes && !values['dry-run']) {
    throw new WrongUse('--json without a host needs --yes or --dry-run')
  }
  return { ...values, host, guards: guardsOf(values, host) }
}

const GUARDS = ['open', 'closed', 'off'] as const

function guardsOf(
  { guards: given, webhook }: CommandArguments<typeof PAGE.options>['values'],
  host: string | undefined,
): InitContext['guards'] {
  if (given === undefined) return undefined
  if (webhook) throw new WrongUse('--guards needs the plugin in Hermes: webhooks cannot return decisions')
  const able = [...HOSTS].flatMap(([name, { setup }]) => (setup.canGuard === true ? [name] : []))
  if (host === undefined || !able.includes(host)) throw new WrongUse(`--guards is for one of ${able.join(', ')}`)
  const guards = GUARDS.find(each => each === given)
  if (guards === undefined) throw new WrongUse(`--guards takes ${GUARDS.join(', ')}, got ${JSON.stringify(given)}`)
  return guards
}

function showCode(sdk: SdkCode, folder: string, { host, undo, json: isJson }: InitOptions, io: CommandIo): number {
  const content = `${linesOf(sdk, folder, undo).join('\n')}\n`
  if (isJson) return json({ host, file: null, changed: false, backup: null, content }, io)
  const what = undo ? 'remove these lines from your program' : 'add these lines to your program'
  io.stderr.write(`There is nothing to configure for ${sdk.title}; ${what} (docs/agents/${host}.md has details):\n`)
  io.stdout.write(content)
  return EXIT.ok
}

function print(printed: ReturnType<HostSetup['print']>, { host, json: isJson }: InitOptions, io: CommandIo): number {
  const { file, content, note } = printed
  if (isJson) return json({ host, file, changed: false, backup: null, content }, io)
  io.stderr.write(`${file}: ${note}\n`)
  io.stdout.write(content)
  return EXIT.ok
}

async function initOne(
  setup: HostSetup,
  options: InitOptions,
  surroundings: InitContext,
  io: CommandIo,
): Promise<number> {
  const plan = await (options.undo ? setup.undo(surroundings) : setup.enable(surroundings))
  const result = { host: options.host, file: plan.file, changed: false, backup: null }
  if (plan.kind === 'by-hand') {
    io.stderr.write(`hookspan init: ${whyByHand(plan)}\n`)
    if (options.json) json({ ...result, todo: plan.lines }, io)
    else io.stdout.write(`${plan.lines.join('\n')}\n`)
    return EXIT.failed
  }
  if (plan.kind === 'nothing') {
    if (options.json) return json(result, io)
    for (const line of [`Nothing to do: ${plan.why} (${plan.file}).`, ...(plan.notes ?? [])])
      io.stdout.write(`${line}\n`)
    return EXIT.ok
  }
  if (!options.json) io.stdout.write(shown(plan, lookOf(io).color))
  if (options['dry-run'] || options.print) {
    if (options.json) return json(result, io)
    io.stderr.write('Nothing has been written.\n')
    return EXIT.ok
  }
  const isScript = io.stdin.isTTY !== true || options.json
  if (!isScript && !(await isAllowed(options.host ?? '', options, io))) return EXIT.failed
  const { backup, newFolder } = await makeChange(plan)
  if (options.json) return json({ ...result, changed: true, backup: backup ?? null }, io)
  const lines = report(plan, backup, setup.title, options.undo)
  const folder = setup.folder(surroundings)
  // An agent that has never run may not be installed.
  const isDoubtful = !options.undo && newFolder !== undefined && !relative(newFolder, folder).startsWith('..')
  if (isDoubtful) lines.splice(1, 0, `${folder} did not exist before. Is ${setup.title} installed, for this user?`)
  if (!options.undo) lines.push(`To undo it: npx hookspan init ${options.host} --undo`)
  for (const line of lines) io.stdout.write(`${line}\n`)
  return EXIT.ok
}

function json(result: object, io: CommandIo): number {
  io.stdout.write(`${JSON.stringify(result)}\n`)
  return EXIT.ok
}
