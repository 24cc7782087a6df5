import jsonc from 'jsonc-parser'
import { type DiffLine, diffLines } from '../../reading/argument-lines.ts'

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
  /** Restores the mode of the file, and `restored`, its backup. Removes folders that were created for it. */
  readonly isUndo?: true
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

/** A file cannot be edited without a loss. The message gives the reason in a few words. */
export class NotEditable extends Error {}

/** Plans an edit, or leaves it to the user, with `lines`, if it cannot be made without a loss. */
export function orByHand(file: string, plan: () => Plan, lines: () => readonly string[]): Plan {
  try {
    return plan()
  } catch (error) {
    if (!(error instanceof NotEditable)) throw error
    return { kind: 'by-hand', file, why: error.message, lines: lines() }
  }
}

export interface InitContext {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly folder: string
  /** For a new receiver; the same for all agents, because a free port may be taken later. @throws Error in one line */
  readonly freshToken: string
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

export function report({ restored, notes, isUndo }: FileChange, backup: string | undefined, title: string): string[] {
  const lines = [`Done: ${title} ${isUndo ? 'no longer loads' : 'will load'} hookspan.`]
  if (backup !== undefined) lines.push(`Backup: ${backup}`)
  if (restored !== undefined) lines.push('The file is restored byte by byte.')
  return [...lines, ...notes]
}

const CONTEXT_LINES = 2
const SECRET = /("[^"]*(?:key|token|secret|passw|auth|credential)[^"]*"\s*:\s*)"(?:[^"\\]|\\.)*"/gi
/** Secrets in YAML, and the receiver's token in a URL. */
const SECRET_LINE =
  /^(\s*(?:- )?['"]?[\w.-]*(?:key|token|secret|passw|auth|credential)[\w.-]*['"]?\s*:\s+)(?![[{&*|>])\S.*$/i
const TOKEN_PATH = /\/t\/[0-9a-f]{64}\//g
/** A member whose value is a list over several lines, and the end of one. */
const MEMBER = /^(\s*)"([^"]+)": \[$/
const LIST_END = /^(\s*)\],?$/
const COLORS = { '-': '\u001b[31m', '+': '\u001b[32m', ' ': '' } as const
const PLAIN = '\u001b[39m'

/**
 * A line diff with some context; `''` if nothing changes. Values that look secret by their name are hidden, because the diff is
 * printed. A list that equals an earlier one is left out: an agent has the same hook at many events.
 */
export function lineDiff(before: string, after: string, color: boolean): string {
  const isOneLine = [before, after].every(text => text.startsWith('{') && linesOf(text).length === 1)
  // Readable, while the file stays JSON on one line.
  const formatted = (text: string): string =>
    isOneLine
      ? jsonc.applyEdits(text, jsonc.format(text, undefined, { insertSpaces: true, tabSize: 2, eol: '\n' }))
      : text
  const lines = withoutRepeats(diffLines(linesOf(formatted(before)), linesOf(formatted(after))))
  const isShown = lines.map((_, index) =>
    lines.slice(Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1).some(({ sign }) => sign !== ' '),
  )
  const gap = (index: number): string => (isShown[index - 1] ? '  …\n' : '')
  const shown = lines.map((line, index) => (isShown[index] ? draw(line, color) : gap(index)))
  return shown.join('').replace(/ {2}…\n$/, '')
}

function withoutRepeats(lines: readonly DiffLine[]): DiffLine[] {
  const shown: DiffLine[] = []
  const nameOf = new Map<string, string>()
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as DiffLine
    const [, indent, name = ''] = (line.sign !== ' ' && MEMBER.exec(line.text)) || []
    const end = lines.findIndex(({ text }, index) => index > at && LIST_END.exec(text)?.[1] === indent)
    const list = indent === undefined ? [] : lines.slice(at, Math.max(at, end))
    const isWhole = list.length > 1 && list.every(({ sign }) => sign === line.sign)
    const key = line.sign + list.slice(1).map(({ text }) => `\n${text}`)
    const of = isWhole ? nameOf.get(key) : undefined
    if (of === undefined) {
      if (isWhole) nameOf.set(key, name)
      shown.push(...(isWhole ? list : [line]))
      at += isWhole ? list.length : 1
      continue
    }
    const start = `${indent}… the same as ${of}: `
    const last = shown.at(-1)?.text.startsWith(start) ? shown.pop() : undefined
    shown.push({ sign: line.sign, text: last === undefined ? start + name : `${last.text}, ${name}` })
    // The last line of a list may be one of context.
    at = end + (lines[end]?.sign === line.sign ? 1 : 0)
  }
  return shown
}

function draw({ sign, text }: DiffLine, color: boolean): string {
  const json = text.replace(SECRET, '$1"***"')
  const masked = (json === text ? text.replace(SECRET_LINE, '$1***') : json).replace(TOKEN_PATH, '/t/***/')
  const line = `${sign} ${masked}`.trimEnd()
  return color && sign !== ' ' ? `${COLORS[sign]}${line}${PLAIN}\n` : `${line}\n`
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/)
}
