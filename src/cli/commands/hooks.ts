import { dirname, resolve } from 'node:path'
import { projectFolderOf } from '../../guards/trust.ts'
import { type Command, type CommandPage, command, WrongUse } from '../command.ts'
import { hostsWithAdapter } from '../hook-records.ts'
import { list } from '../hooks/list.ts'
import { trustFolder, withdraw } from '../hooks/trust-folder.ts'
import { tryOut } from '../hooks/try-out.ts'
import type { CommandArguments } from '../options.ts'

const ACTIONS = ['trust', 'test'] as const

const PAGE = {
  name: 'hooks',
  operand: { placeholder: '[trust [FOLDER] | test FILE RECORDING]', offers: ACTIONS },
  about: `Lists the guards loaded from folders, in the order in which they run, and those that are not loaded, with the reason.

  trust [FOLDER]       shows the files in .hookspan/hooks of a project (the
                       current folder by default), and trusts their content
  test FILE RECORDING  runs the guards of FILE over hook records, as replay
                       reads them (- is standard input), and shows their
                       decisions; nothing else happens`,
  options: {
    yes: { short: 'y', help: 'trust: do not ask for confirmation' },
    undo: { aka: ['withdraw', 'remove'], help: 'trust: withdraw it' },
    host: { value: 'H', offers: hostsWithAdapter(), help: 'test: default host of records and events' },
  },
  closing: `Loading a file runs its code. Exits with 1 if a guard could not be loaded, a folder is not trusted, or a file cannot be
read.`,
} as const satisfies CommandPage

type HooksOptions = CommandArguments<typeof PAGE.options>['values']

export const hooks: Command = hooksOf(() => process.cwd())

export function hooksOf(where: () => string): Command {
  return command(PAGE, ({ values, operands: [action, ...rest] }, io) => {
    const project = where()
    check(action, rest, values)
    if (action === undefined) return list(project, io)
    const [first = '', second = ''] = rest
    if (action === 'test') return tryOut({ file: first, recording: second, host: values.host, project }, io)
    const folder = projectOf(resolve(project, first))
    return values.undo ? withdraw(folder, io) : trustFolder(folder, values.yes, io)
  })
}

function check(action: string | undefined, rest: readonly string[], { yes, undo, host }: HooksOptions): void {
  if (action !== undefined && !(ACTIONS as readonly string[]).includes(action))
    throw new WrongUse(`expected trust or test, got ${JSON.stringify(action.slice(0, 60))}`)
  if (action !== 'trust' && (yes || undo)) throw new WrongUse(`--${yes ? 'yes' : 'undo'} is for trust`)
  if (action !== 'test' && host !== undefined) throw new WrongUse('--host is for test')
  if (action === 'trust' && rest.length > 1) throw new WrongUse('trust takes one FOLDER')
  if (action === 'test' && rest.length !== 2) throw new WrongUse('test takes a FILE of hooks and a RECORDING')
}

/** The hooks folder itself stands for its project. */
function projectOf(folder: string): string {
  const project = dirname(dirname(folder))
  return folder === projectFolderOf(project) ? project : folder
}
