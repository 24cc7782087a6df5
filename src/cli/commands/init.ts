import { relative } from 'node:path'
import { type Command, type CommandIo, type CommandPage, command, EXIT, WrongUse } from '../command.ts'
import { makeChange } from '../init/config-file.ts'
import { lineDiff } from '../init/line-diff.ts'
import { openclaw } from '../init/openclaw.ts'
import { isTemporary, packageFolder, whyNotLasting } from '../init/package-folder.ts'
import type { ByHand, Change, HostSetup, Nothing, Plan } from '../init/plan.ts'
import { opencode, pi } from '../init/plugin-file.ts'
import { SDK_CODE } from '../init/sdk-code.ts'
import { unknownHost } from '../init/unknown-host.ts'
import { lookOf } from '../look.ts'
import type { Given } from '../options.ts'

const HOSTS: ReadonlyMap<string, HostSetup> = new Map([
  ['pi', pi],
  ['openclaw', openclaw],
  ['opencode', opencode],
])

const HOST_NAMES: readonly string[] = [...HOSTS.keys(), ...SDK_CODE.keys()]

const PAGE = {
  name: 'init',
  operand: { placeholder: 'HOST', offers: HOST_NAMES },
  about: `Makes an agent load hookspan: writes what its own configuration needs, after showing what changes. What was
there before is kept beside it (FILE.hookspan-backup). A second run finds nothing to do.

  pi, openclaw, opencode           writes the host's configuration
  claude-agent-sdk, openai-agents, shows the lines for your program: these have
  ai-sdk                           no configuration`,
  options: {
    'dry-run': { short: 'n', help: 'write nothing: show what would change' },
    print: { help: 'write nothing: print the configuration; with --undo, what would be taken out' },
    undo: { aka: ['remove', 'uninstall'], help: 'take our part out again, and nothing else' },
    json: {
      help: 'one JSON object: {"host", "file", "changed", "backup"}, with --print "content", too, and "todo" when the file is left to you',
    },
  },
  closing: 'Exits with 1 when the configuration could not be changed, or is left for you to change by hand.',
} as const satisfies CommandPage

type InitOptions = Given<typeof PAGE.options>['values'] & { readonly host: string }

/** Where this hookspan is. */
export interface Installed {
  readonly folder: string
  /** Why no host should be told of it. */
  readonly refusal: string | undefined
  readonly isTemporary: boolean
}

/** Exit code 1 when the configuration is not what it should be. */
export const init: Command = initOf(() => {
  const folder = packageFolder()
  return { folder, refusal: whyNotLasting(folder, process.cwd()), isTemporary: isTemporary(folder) }
})

/** The command of a hookspan that is installed there. */
export function initOf(where: () => Installed): Command {
  return command(PAGE, async (given, io) => {
    const installed = where()
    const options = readOptions(given)
    const setup = HOSTS.get(options.host)
    if (setup === undefined) return showCode(options, io)
    const { folder, refusal } = installed
    if (refusal !== undefined && !options.undo) throw new Error(refusal)
    const surroundings = { env: io.env, home: io.home, folder }
    if (options.print && !options.undo) return print(setup.print(surroundings), options, io)
    const plan = await (options.undo ? setup.undo(surroundings) : setup.enable(surroundings))
    const code = await carryOut(plan, setup, options, io)
    if (installed.isTemporary && !options.undo) io.stderr.write(`${notForLong(folder, setup)}\n`)
    return code
  })
}

/** It is what was asked for, so it is done; but somebody will wonder one day. */
function notForLong(folder: string, { title }: HostSetup): string {
  return `hookspan init: ${folder} is in a temporary folder: when that is emptied, ${title} finds no hookspan there`
}

function readOptions({ values, operands: [host, second] }: Given<typeof PAGE.options>): InitOptions {
  const hosts = HOST_NAMES.join(', ')
  if (host === undefined) throw new WrongUse(`expected a host: ${hosts}`)
  if (second !== undefined) throw new WrongUse(`expected one host, got ${JSON.stringify(second)}, too`)
  if (!HOST_NAMES.includes(host)) throw new WrongUse(unknownHost(host, HOST_NAMES))
  return { ...values, host }
}

function showCode({ host, undo, json: isJson }: InitOptions, io: CommandIo): number {
  const { title, lines } = SDK_CODE.get(host) ?? { title: host, lines: [] }
  if (isJson) return json({ host, file: null, changed: false, backup: null, content: `${lines.join('\n')}\n` }, io)
  const what = undo ? 'take these lines out of your program' : 'add these lines to your program'
  io.stderr.write(`There is nothing to configure for ${title}; ${what} (docs/hosts/${host}.md says more):\n`)
  io.stdout.write(`${lines.join('\n')}\n`)
  return EXIT.ok
}

function print(
  { file, content, note }: ReturnType<HostSetup['print']>,
  { host, json: isJson }: InitOptions,
  io: CommandIo,
): number {
  if (isJson) return json({ host, file, changed: false, backup: null, content }, io)
  io.stderr.write(`${file}: ${note}\n`)
  io.stdout.write(content)
  return EXIT.ok
}

async function carryOut(plan: Plan, setup: HostSetup, options: InitOptions, io: CommandIo): Promise<number> {
  if (plan.kind === 'by-hand') return leaveToUser(plan, options, io)
  const result = { host: options.host, file: plan.file, changed: false, backup: null }
  if (plan.kind === 'nothing') return options.json ? json(result, io) : sayNothing(plan, io)
  if (!options.json) io.stdout.write(shown(plan, lookOf(io).color))
  if (options['dry-run'] || options.print) return options.json ? json(result, io) : sayDry(io)
  const { backup, newFolder } = await makeChange(plan)
  if (options.json) return json({ ...result, changed: true, backup: backup ?? null }, io)
  for (const line of report(plan, { backup, newFolder }, setup, options)) io.stdout.write(`${line}\n`)
  return EXIT.ok
}

function sayDry(io: CommandIo): number {
  io.stderr.write('Nothing has been written.\n')
  return EXIT.ok
}

function json(result: object, io: CommandIo): number {
  io.stdout.write(`${JSON.stringify(result)}\n`)
  return EXIT.ok
}

function sayNothing({ file, why, notes = [] }: Nothing, io: CommandIo): number {
  io.stdout.write([`Nothing to do: ${why} (${file}).`, ...notes].map(line => `${line}\n`).join(''))
  return EXIT.ok
}

function leaveToUser({ file, why, lines }: ByHand, { host, json: isJson }: InitOptions, io: CommandIo): number {
  io.stderr.write(`hookspan init: ${file} stays as it is: ${why}; please change it by hand\n`)
  if (isJson) json({ host, file, changed: false, backup: null, todo: lines }, io)
  else io.stdout.write(`${lines.join('\n')}\n`)
  return EXIT.failed
}

function shown({ file, before, after }: Change, color: boolean): string {
  const what = before === undefined ? ' (new)' : after === undefined ? ' (goes)' : ''
  return `${file}${what}\n${lineDiff(before ?? '', after ?? '', color)}`
}

function report(
  { after, hostFolder, restored, notes }: Change,
  { backup, newFolder }: { backup: string | undefined; newFolder: string | undefined },
  { title }: HostSetup,
  { host, undo }: InitOptions,
): string[] {
  const done = undo ? `Done: ${title} does not load hookspan any more.` : `Done: ${title} will load hookspan.`
  const lines = [done]
  if (newFolder !== undefined && after !== undefined && !relative(newFolder, hostFolder).startsWith('..')) {
    lines.push(`${hostFolder} did not exist before. Is ${title} installed, for this user?`)
  }
  if (backup !== undefined) lines.push(`What it was is kept in ${backup}`)
  if (restored !== undefined) lines.push('The file is again, byte by byte, what it was before.')
  lines.push(...notes)
  if (!undo) lines.push(`To take it out again: npx hookspan init ${host} --undo`)
  return lines
}
