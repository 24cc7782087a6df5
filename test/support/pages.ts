import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT: string = fileURLToPath(new URL('../..', import.meta.url))

export function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** Every page of the repository, by its path from the top. */
export const PAGES: readonly string[] = [
  ...readdirSync(ROOT).filter(name => name.endsWith('.md')),
  ...['docs', 'docs/agents'].flatMap(folder =>
    readdirSync(join(ROOT, folder)).flatMap(name => (name.endsWith('.md') ? [`${folder}/${name}`] : [])),
  ),
  'observability/README.md',
]

const FENCED = /^```(\w*)\n([\s\S]*?)^```/gm

/** The bodies of a page's code blocks, of one language or of all. */
export function blocks(page: string, language?: string): string[] {
  const all = [...page.matchAll(FENCED)]
  return all.filter(([, said]) => language === undefined || said === language).map(([, , body = '']) => body)
}

/** A section of a page with its subsections, by its heading (`hookspan tree`). */
export function section(page: string, title: string): string {
  const lines = page.split('\n')
  const start = lines.findIndex(line => line.replace(/^#+ /, '') === title && line.startsWith('#'))
  if (start < 0) throw new Error(`The page has no section ${title}.`)
  const level = lines[start]?.indexOf(' ') ?? 0
  let isCode = false
  const end = lines.findIndex((line, index) => {
    if (line.startsWith('```')) isCode = !isCode
    return index > start && !isCode && /^#+ /.test(line) && line.indexOf(' ') <= level
  })
  return lines.slice(start, end < 0 ? undefined : end).join('\n')
}

/** What stands between backticks, outside of code blocks. */
export function inlineCode(page: string): string[] {
  return [...page.replace(FENCED, '').matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text)
}

/** Where GitHub would put the anchor of each heading. */
export function anchors(page: string): string[] {
  return [...page.replace(FENCED, '').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  )
}

export interface Link {
  /** From the top of the repository. */
  readonly path: string
  readonly anchor: string | undefined
}

/** Links to places of the repository. */
export function links(path: string): Link[] {
  const targets = [
    ...read(path)
      .replace(FENCED, '')
      .matchAll(/\]\(([^)\s]+)\)/g),
  ].map(([, target = '']) => target)
  return targets
    .filter(target => !/^[a-z]+:/.test(target))
    .map(target => {
      const [file = '', anchor] = target.split('#')
      return { path: file === '' ? path : posix.normalize(posix.join(posix.dirname(path), file)), anchor }
    })
}

export function exists(path: string): boolean {
  return existsSync(join(ROOT, path))
}

/** What a script of `scripts/` exports. They are made of the built code, so they are imported when they are needed. */
export async function script<Exports>(name: string): Promise<Exports> {
  return (await import(new URL(`../../scripts/${name}`, import.meta.url).href)) as Exports
}
