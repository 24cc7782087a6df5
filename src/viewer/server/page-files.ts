import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'

export interface PageFile {
  readonly type: string
  readonly bytes: Buffer
}

/** Files by request path. A request path never becomes a file name. */
export type PageFiles = ReadonlyMap<string, PageFile>

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

export const INDEX = '/index.html'

/**
 * Reads the built page into memory: it is small, and the package may be replaced while the server runs.
 *
 * @throws Error in one line when it is not there
 */
export function readPageFiles(folder: string): PageFiles {
  const files = new Map<string, PageFile>()
  for (const name of readdirSync(folder)) {
    const type = TYPES[extname(name)]
    if (type !== undefined) files.set(`/${name}`, { type, bytes: readFileSync(join(folder, name)) })
  }
  if (!files.has(INDEX)) throw new Error(`this copy of hookspan is not complete: there is no page in ${folder}`)
  return files
}
