import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { sep } from 'node:path'
import type { Command, CommandArguments, CommandIo, OptionTable } from '../command.ts'
import { command, EXIT, inOneLine, WrongUse } from '../command.ts'
import { makeChange } from '../init/config-file.ts'
import { hermesWebhook } from '../init/hermes.ts'
import { freePort } from '../init/hooks-host.ts'
import { HOSTS, type HostRow, hostsHere, sdksNear, unknownHost } from '../init/hosts.ts'
import { type HostSetup, type InitContext, type Plan, report, shown, whyByHand } from '../init/plan.ts'
import { linesOf, SDK_CODE } from '../init/sdk-code.ts'
import { isTemporary, packageFolder, whyNotLasting } from '../package-folder.ts'
import { confirm, lookOf } from '../terminal.ts'

const HOST_NAMES: readonly string[] = [...HOSTS.keys(), ...SDK_CODE.keys()]

const OPTIONS = {
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
} as const satisfies OptionTable

type InitOptions = Omit<CommandArguments<typeof OPTIONS>['values'], 'guards'> & {
  readonly host: string | undefined
  readonly guards: InitContext['guards']
}

export const init: Command = initOf(() => {
  const folder = packageFolder()
  const project = process.cwd()
  return { folder, project, refusal: whyNotLasting(folder, project), isTemporary: isTemporary(folder) }
})

/** @param where `refusal` is the reason why no host should refer to this copy */
export function initOf(
  where: () => { folder: string; project: string; refusal: string | undefined; isTemporary: boolean },
): Command {
  return command({
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
    options: OPTIONS,
    closing:
      'Exits with 1 if a configuration could not be changed, or must be changed by hand; if you decline; without HOST also if no agent is found.',
    async run(given, io) {
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
      if (sdk !== undefined) {
        const what = `${undo ? 'remove these lines from' : 'add these lines to'} your program`
        const heading = `There is nothing to configure for ${sdk.title}; ${what} (docs/agents/${host}.md has details):`
        return print(null, `${linesOf(sdk, folder, undo).join('\n')}\n`, heading, options, io)
      }
      const setup = options.webhook ? hermesWebhook : HOSTS.get(host ?? '')?.setup
      if (setup !== undefined && options.print && !undo) {
        const { file, content, note } = setup.print(surroundings)
        return print(file, content, `${file}: ${note}`, options, io)
      }
      const code = await (setup === undefined
        ? initEvery(options, surroundings, project, io)
        : initOne(setup, options, surroundings, io))
      // The user asked for it, so it is done, but the warning explains a later failure.
      if (installed.isTemporary && !undo && !options.print) {
        const then = `when it is cleaned, ${setup?.title ?? 'an agent'} can no longer load hookspan`
        io.stderr.write(`hookspan init: ${folder} is in a temporary folder: ${then}\n`)
      }
      return code
    },
  })
}

function readOptions({ values, operands: [host, second] }: CommandArguments<typeof OPTIONS>): InitOptions {
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

function guardsOf({ guards: given, webhook }: CommandArguments<typeof OPTIONS>['values'], host: string | undefined) {
  if (given === undefined) return undefined
  if (webhook) throw new WrongUse('--guards needs the plugin in Hermes: webhooks cannot return decisions')
  const able = [...HOSTS].flatMap(([name, { setup }]) => (setup.canGuard === true ? [name] : []))
  if (host === undefined || !able.includes(host)) throw new WrongUse(`--guards is for one of ${able.join(', ')}`)
  const guards = GUARDS.find(each => each === given)
  if (guards === undefined) throw new WrongUse(`--guards takes ${GUARDS.join(', ')}, got ${JSON.stringify(given)}`)
  return guards
}

/** Prints a configuration, or lines for a program. */
function print(file: string | null, content: string, heading: string, options: InitOptions, io: CommandIo): number {
  const { host, json } = options
  if (!json) io.stderr.write(`${heading}\n`)
  io.stdout.write(json ? `${JSON.stringify({ host, file, changed: false, backup: null, content })}\n` : content)
  return EXIT.ok
}

async function initOne(setup: HostSetup, options: InitOptions, surroundings: InitContext, io: CommandIo) {
  const { host = '', undo, json, 'dry-run': isDry, print: isPrint } = options
  const plan = await (undo ? setup.undo(surroundings) : setup.enable(surroundings))
  let lines = 'lines' in plan ? plan.lines : []
  let [isChanged, backup]: [boolean, string | undefined] = [false, undefined]
  if (plan.kind === 'by-hand') io.stderr.write(`hookspan init: ${whyByHand(plan)}\n`)
  if (plan.kind === 'nothing') lines = [`Nothing to do: ${plan.why} (${plan.file}).`, ...(plan.notes ?? [])]
  if (plan.kind === 'change') {
    if (!json) io.stdout.write(shown(plan, lookOf(io).color))
    if (!isDry && !isPrint) {
      const isScript = io.stdin.isTTY !== true || json
      if (!isScript && !(await isAllowed(host, options, io))) return EXIT.failed
      const folder = setup.folder(surroundings)
      const isFolderNew = !undo && !existsSync(folder)
      backup = await makeChange(plan)
      isChanged = true
      // An agent that has never run may not be installed.
      const doubts = isFolderNew ? [`${folder} did not exist before. Is ${setup.title} installed, for this user?`] : []
      const undoing = undo ? [] : [`To undo it: npx hookspan init ${host} --undo`]
      lines = [...report(plan, backup, setup.title), ...doubts, ...undoing]
    } else if (!json) io.stderr.write('Nothing has been written.\n')
  }
  const result = resultOf({ name: host, plan, isChanged, backup })
  for (const line of json ? [JSON.stringify(result)] : lines) io.stdout.write(`${line}\n`)
  return plan.kind === 'by-hand' ? EXIT.failed : EXIT.ok
}

interface Task {
  readonly name: string
  readonly sign: string
  /** Undefined for an SDK, which has no configuration. */
  readonly setup?: HostSetup
  readonly plan:
    | Plan
    | { readonly kind: 'lines'; readonly lines: readonly string[] }
    | { readonly kind: 'failure'; readonly why: string }
  /** Set when the change was tried. */
  isChanged?: boolean
  backup?: string | undefined
  error?: string
}

/**
 * Sets up every installed agent, or removes hookspan from all of them. Shows all changes and asks once.
 *
 * @param project the user's current folder
 * @returns the exit code: 1 if a change failed or was declined
 */
async function initEvery(options: InitOptions, surroundings: InitContext, project: string, io: CommandIo) {
  if (surroundings.home === '') throw new Error('there is no home directory')
  const tasks = await (options.undo ? tasksToUndo(surroundings) : tasksHere(surroundings, project))
  if (tasks.length === 0) return sayNone(options, surroundings, project, io)
  if (!options.json) show(tasks, options, io)
  const changes = tasks.filter(({ plan }) => plan.kind === 'change')
  const isMade = changes.length > 0 && (await isAllowed(namesOf(changes), options, io))
  if (isMade) await makeAll(changes, options, io)
  if (options.json) for (const task of tasks) io.stdout.write(`${JSON.stringify(resultOf(task))}\n`)
  const troubled = tasks.filter(
    ({ plan, error }) => plan.kind === 'failure' || plan.kind === 'by-hand' || error !== undefined,
  )
  if (isMade && troubled.length > 0 && !options.json) {
    io.stderr.write(`hookspan init: not done: ${namesOf(troubled)} (see above)\n`)
  }
  const isLeft = changes.length > 0 && !isMade && !options['dry-run']
  return troubled.length > 0 || isLeft ? EXIT.failed : EXIT.ok
}

async function tasksHere(surroundings: InitContext, project: string): Promise<Task[]> {
  const tasks: Task[] = []
  // Sequential, because each tries the same ports.
  for (const { name, sign, row } of hostsHere(surroundings)) {
    tasks.push({ name, sign, setup: row.setup, plan: await planned(() => enabling(row, surroundings)) })
  }
  for (const { name, sign, row } of sdksNear(project)) {
    const plan = await planned(() => ({ kind: 'lines', lines: linesOf(row, surroundings.folder, false) }))
    tasks.push({ name, sign, plan })
  }
  return tasks
}

/** Keeps the other way of setup if the user has chosen it. */
async function enabling({ setup, otherWay }: HostRow, surroundings: InitContext): Promise<Plan> {
  const other = await otherWay?.enable(surroundings).catch(() => undefined)
  return other?.kind === 'nothing' ? other : setup.enable(surroundings)
}

/** Includes agents that are no longer installed. Programs of the user are not changed. */
async function tasksToUndo(surroundings: InitContext): Promise<Task[]> {
  const tasks = [...HOSTS].map(async ([name, { setup }]): Promise<Task> => {
    const plan = await planned(() => setup.undo(surroundings))
    return { name, sign: setup.folder(surroundings), setup, plan }
  })
  return (await Promise.all(tasks)).filter(({ plan }) => plan.kind !== 'nothing')
}

async function planned(plan: () => Promise<Task['plan']> | Task['plan']): Promise<Task['plan']> {
  try {
    return await plan()
  } catch (error) {
    return { kind: 'failure', why: inOneLine(error) }
  }
}

function sayNone({ undo, json }: InitOptions, { home }: InitContext, project: string, io: CommandIo): number {
  if (undo) {
    if (!json) io.stdout.write('Nothing to do: hookspan is set up in no agent.\n')
    return EXIT.ok
  }
  const programs = [...HOSTS.values()].flatMap(row => row.programs).join(', ')
  const files = [...new Set([...SDK_CODE.values()].flatMap(({ manifests }) => manifests))].join(', ')
  const places = `their programs on PATH (${programs}), their folders in ${home}, SDKs in ${files} of ${project}`
  const names = [...HOSTS.keys(), ...SDK_CODE.keys()].join(', ')
  throw new Error(`found no agent: looked for ${places}; name yours, as in "hookspan init pi"; there are ${names}`)
}

function show(tasks: readonly Task[], { undo }: InitOptions, io: CommandIo): void {
  const signOf = ({ sign }: Task): string => (sign.startsWith(io.home + sep) ? `~${sign.slice(io.home.length)}` : sign)
  const nameWidth = Math.max(...tasks.map(({ name }) => name.length))
  const signWidth = Math.max(...tasks.map(task => signOf(task).length))
  io.stdout.write('Agents on this machine:\n')
  for (const task of tasks) {
    const [name, sign] = [task.name.padEnd(nameWidth), signOf(task).padEnd(signWidth)]
    const state = undo && task.plan.kind === 'change' ? 'hookspan would be removed' : STATES[task.plan.kind]
    io.stdout.write(`  ${name}  ${sign}  ${state}\n`)
  }
  for (const task of tasks) if (task.plan.kind !== 'nothing') showOne(task, io)
}

const STATES: Readonly<Record<Task['plan']['kind'], string>> = {
  change: 'would be set up',
  nothing: 'already set up',
  lines: 'add lines to your program, see below',
  'by-hand': 'change it by hand, see below',
  failure: 'cannot be changed, see below',
}

function showOne({ name, plan }: Task, io: CommandIo): void {
  io.stdout.write(plan.kind === 'failure' ? '\n' : `\n${name}\n`)
  if (plan.kind === 'failure') io.stderr.write(`hookspan init: ${name}: ${plan.why}\n`)
  if (plan.kind === 'by-hand') io.stderr.write(`hookspan init: ${name}: ${whyByHand(plan)}\n`)
  if (plan.kind === 'change') io.stdout.write(shown(plan, lookOf(io).color))
  if (plan.kind === 'lines') io.stdout.write(`Add these lines to your program (docs/agents/${name}.md has details):\n`)
  if ('lines' in plan) io.stdout.write(plan.lines.map(line => `${line}\n`).join(''))
}

async function isAllowed(names: string, options: InitOptions, io: CommandIo): Promise<boolean> {
  if (options['dry-run']) {
    if (!options.json) io.stderr.write('Nothing has been written.\n')
    return false
  }
  if (options.yes) return true
  const question = options.undo ? `Remove hookspan from ${names}?` : `Set up ${names}?`
  const no = { command: 'init', text: 'Nothing has been written.', unasked: 'nothing has been written' }
  return confirm(question, no, io)
}

function namesOf(tasks: readonly Task[]): string {
  const names = tasks.map(({ name }) => name)
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

async function makeAll(changes: readonly Task[], { undo, json }: InitOptions, io: CommandIo): Promise<void> {
  for (const task of changes) {
    const { name, setup, plan } = task
    if (plan.kind !== 'change' || setup === undefined) continue
    if (!json) io.stdout.write('\n')
    try {
      task.backup = await makeChange(plan)
      task.isChanged = true
      const [done = '', ...more] = report(plan, task.backup, setup.title)
      if (!json) io.stdout.write([`${done}\n`, ...more.map(line => `  ${line}\n`)].join(''))
    } catch (error) {
      task.error = inOneLine(error)
      if (!json) io.stderr.write(`hookspan init: ${name}: ${task.error}\n`)
    }
  }
  if (!undo && !json) io.stdout.write('\nTo take it all out again: npx hookspan init --undo\n')
}

function resultOf({ name, plan, isChanged = false, backup, ...task }: Omit<Task, 'sign'>): object {
  const error = plan.kind === 'failure' ? plan.why : task.error
  return {
    host: name,
    file: 'file' in plan ? plan.file : null,
    changed: isChanged,
    backup: backup ?? null,
    ...(plan.kind === 'lines' && { content: plan.lines.map(line => `${line}\n`).join('') }),
    ...(plan.kind === 'by-hand' && { todo: plan.lines }),
    ...(error !== undefined && { error }),
  }
}
