import type { HookFolderSettings } from '../../guards/configured-hooks.ts'
import { type ProjectFolder, projectFolderOf, readProjectFolder, TrustStore } from '../../guards/trust.ts'
import { displayText } from '../../reading/display-text.ts'
import { countOf } from '../../reading/human-figures.ts'
import { type CommandIo, EXIT } from '../command.ts'
import { confirm } from '../terminal.ts'
import { columns, settingsOf } from './list.ts'

export async function trustFolder(project: string, hasSaidYes: boolean, io: CommandIo): Promise<number> {
  const settings = settingsOf(io)
  const store = storeOf(settings)
  const found = readProjectFolder(project)
  if (found === undefined) throw new Error(`there is no ${projectFolderOf(project)}`)
  for (const line of found.lines) io.stderr.write(`hookspan: ${line}\n`)
  if (found.lines.length > 0) throw new Error('the folder cannot be trusted as long as that is so')
  const before = store.hashOf(found.path)
  show(found, io)
  if (before === found.hash) {
    io.stdout.write('Trusted already.\n')
    return EXIT.ok
  }
  if (before !== undefined) io.stdout.write('It was trusted before, and has changed since.\n')
  const no = { command: 'hooks', text: 'It is not trusted.' }
  if (!hasSaidYes && !(await confirm(QUESTION, no, io))) return EXIT.failed
  store.trust(found)
  io.stdout.write('Trusted. Any change to its files withdraws the trust.\n')
  if (!settings.isProjectLocal) io.stdout.write('It is not loaded yet: set hooks.project_local in the configuration.\n')
  return EXIT.ok
}

export function withdraw(project: string, io: CommandIo): number {
  const path = readProjectFolder(project)?.path ?? projectFolderOf(project)
  const wasTrusted = storeOf(settingsOf(io)).revoke(path)
  io.stdout.write(wasTrusted ? `${path} is no longer trusted.\n` : `Nothing to do: ${path} is not trusted.\n`)
  return EXIT.ok
}

function storeOf({ privateFolder: place }: HookFolderSettings): TrustStore {
  if (place === undefined) throw new Error('there is no home directory to store trust in')
  return new TrustStore(place)
}

function show({ path, files, hash }: ProjectFolder, io: CommandIo): void {
  const rows = files.map(file => [file.path, countOf(file.bytes.length, 'byte')])
  io.stdout.write(`${displayText(path)}\n${columns(['file', 'size'], rows)}\n`)
  io.stdout.write(`SHA-256 of the names and contents of ${countOf(files.length, 'file')}: ${hash}\n`)
}

const QUESTION =
  'Your programs that call loadHooks({ project }) here will run this code as your user; the receiver does not. Have you reviewed it, and do you trust it?'
