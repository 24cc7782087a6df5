import { sep } from 'node:path'
import { type CommandIo, EXIT, inOneLine } from '../command.ts'
import { confirm, lookOf } from '../terminal.ts'
import { makeChange } from './config-file.ts'
import { HOSTS, type HostRow, hostsHere, sdksNear } from './hosts.ts'
import { type HostSetup, type InitContext, type Plan, report, shown, whyByHand } from './plan.ts'
import { linesOf, SDK_CODE } from './sdk-code.ts'

type EveryOptions = Readonly<Record<'undo' | 'yes' | 'json' | 'dry-run', boolean>>

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
export async function initEvery(
  options: EveryOptions,
  surroundings: InitContext,
  project: string,
  io: CommandIo,
): Promise<number> {
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

function sayNone({ undo, json }: EveryOptions, { home }: InitContext, project: string, io: CommandIo): number {
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

function show(tasks: readonly Task[], { undo }: EveryOptions, io: CommandIo): void {
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

export async function isAllowed(names: string, options: EveryOptions, io: CommandIo): Promise<boolean> {
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

async function makeAll(changes: readonly Task[], { undo, json }: EveryOptions, io: CommandIo): Promise<void> {
  for (const task of changes) {
    const { name, setup, plan } = task
    if (plan.kind !== 'change' || setup === undefined) continue
    if (!json) io.stdout.write('\n')
    try {
      task.backup = (await makeChange(plan)).backup
      task.isChanged = true
      const [done = '', ...more] = report(plan, task.backup, setup.title, undo)
      if (!json) io.stdout.write([`${done}\n`, ...more.map(line => `  ${line}\n`)].join(''))
    } catch (error) {
      task.error = inOneLine(error)
      if (!json) io.stderr.write(`hookspan init: ${name}: ${task.error}\n`)
    }
  }
  if (!undo && !json) io.stdout.write('\nTo take it all out again: npx hookspan init --undo\n')
}

function resultOf({ name, plan, isChanged = false, backup, ...task }: Task): object {
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
