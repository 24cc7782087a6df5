import { lineDiff } from './line-diff.ts'

export type Plan = FileChange | NoChange | ByHand

export interface FileChange {
  readonly kind: 'change'
  readonly file: string
  readonly before: string | undefined
  readonly after: string | undefined
  /** The file has content of the user that the change might damage, so a backup is kept. */
  readonly isUsers: boolean
  /** The file contains a secret, so only its owner may read it. */
  readonly isPrivate?: boolean
  /** Runs before the file is written. @throws Error in one line */
  readonly prepare?: () => void
  /** Links to our files that the host loads. They are created before the file and removed after it. */
  readonly links?: readonly PackageLink[]
  /** Restores the mode of the file, and removes folders that were created for it. */
  readonly isUndo?: true
  /** The backup whose content is restored. */
  readonly restored?: string
  readonly notes: readonly string[]
}

export interface PackageLink {
  readonly path: string
  readonly to: string | undefined
}

export interface NoChange {
  readonly kind: 'nothing'
  readonly file: string
  readonly why: string
  readonly notes?: readonly string[]
}

export interface ByHand {
  readonly kind: 'by-hand'
  readonly file: string
  readonly why: string
  readonly lines: readonly string[]
}

export interface InitContext {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly folder: string
  /** The token for a receiver that has none yet. The same for all agents of one run. */
  readonly freshToken: string
  /**
   * The port for a receiver that has none yet. The same for all agents, because a free port may be taken later. @throws Error
   * in one line
   */
  readonly freshPort: () => Promise<number>
  /** The wanted guard mode. Undefined keeps the existing one. */
  readonly guards?: 'open' | 'closed' | 'off' | undefined
}

export interface HostSetup {
  readonly title: string
  readonly canGuard?: boolean
  /** The host's folder, which exists if it has run: absolute. @throws Error if there is no home directory */
  folder(surroundings: InitContext): string
  /** @throws Error in one line, as `undo` does */
  enable(surroundings: InitContext): Promise<Plan>
  undo(surroundings: InitContext): Promise<Plan>
  print(surroundings: InitContext): { readonly file: string; readonly content: string; readonly note: string }
}

export function shown({ file, before, after, links = [] }: FileChange, color: boolean): string {
  const what = before === undefined ? ' (new)' : after === undefined ? ' (removed)' : ''
  const diff = before === after ? '' : `${file}${what}\n${lineDiff(before ?? '', after ?? '', color)}`
  return diff + links.map(({ path, to }) => (to === undefined ? `${path} (removed)\n` : `${path} -> ${to}\n`)).join('')
}

export function whyByHand({ file, why }: ByHand): string {
  return `${file} stays as it is: ${why}; please change it by hand`
}

export function report(
  { restored, notes }: FileChange,
  backup: string | undefined,
  title: string,
  isUndo: boolean,
): string[] {
  const lines = [isUndo ? `Done: ${title} no longer loads hookspan.` : `Done: ${title} will load hookspan.`]
  if (backup !== undefined) lines.push(`Backup: ${backup}`)
  if (restored !== undefined) lines.push('The file is restored byte by byte.')
  return [...lines, ...notes]
}
