import { lineDiff } from './line-diff.ts'

/** The planned changes of `init` for one host. Computed before anything is written. */
export type Plan = Change | Nothing | ByHand

export interface Change {
  readonly kind: 'change'
  /** Absolute. */
  readonly file: string
  /** Undefined if the file does not exist. */
  readonly before: string | undefined
  /** Undefined if the file is deleted. */
  readonly after: string | undefined
  /** The file has content of the user that the change might damage, so a backup is kept. */
  readonly isUsers: boolean
  /** The file contains a secret, so only its owner may read it. */
  readonly isPrivate?: boolean
  /** Runs before the file is written. @throws Error in one line */
  readonly prepare?: () => void
  /** Links to our files that the host loads. They are created before the file and removed after it. */
  readonly links?: readonly Link[]
  /** Folders to remove if they become empty, innermost first. */
  readonly folders?: readonly string[]
  /** A backup that the change makes superfluous. */
  readonly restored?: string
  readonly notes: readonly string[]
}

export interface Link {
  readonly path: string
  /** Undefined to remove the link. */
  readonly to: string | undefined
}

export interface Nothing {
  readonly kind: 'nothing'
  readonly file: string
  readonly why: string
  readonly notes?: readonly string[]
}

/** A file that cannot be edited safely. */
export interface ByHand {
  readonly kind: 'by-hand'
  readonly file: string
  readonly why: string
  readonly lines: readonly string[]
}

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Absolute. Empty if there is none. */
  readonly home: string
  /** The folder of hookspan. */
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
  folder(surroundings: Surroundings): string
  /** @throws Error in one line */
  enable(surroundings: Surroundings): Promise<Plan>
  /** @throws Error in one line */
  undo(surroundings: Surroundings): Promise<Plan>
  /** The configuration as text, and the file for it. @throws Error in one line */
  print(surroundings: Surroundings): { readonly file: string; readonly content: string; readonly note: string }
}

export function shown({ file, before, after, links = [] }: Change, color: boolean): string {
  const what = before === undefined ? ' (new)' : after === undefined ? ' (goes)' : ''
  const diff = before === after ? '' : `${file}${what}\n${lineDiff(before ?? '', after ?? '', color)}`
  return diff + links.map(({ path, to }) => (to === undefined ? `${path} (goes)\n` : `${path} -> ${to}\n`)).join('')
}

export function whyByHand({ file, why }: ByHand): string {
  return `${file} stays as it is: ${why}; please change it by hand`
}

/** The summary of a change with its notes. @param title the host's name */
export function report(
  { restored, notes }: Change,
  backup: string | undefined,
  title: string,
  isUndo: boolean,
): string[] {
  const lines = [isUndo ? `Done: ${title} does not load hookspan any more.` : `Done: ${title} will load hookspan.`]
  if (backup !== undefined) lines.push(`What it was is kept in ${backup}`)
  if (restored !== undefined) lines.push('The file is again, byte by byte, what it was before.')
  return [...lines, ...notes]
}
