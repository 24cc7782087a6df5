import { lineDiff } from './line-diff.ts'
import type { ByHand, Change } from './plan.ts'

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
